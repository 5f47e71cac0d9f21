import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly optionalDependencies?: Record<string, string> }>>;
}

const root = join(import.meta.dirname, '..');
/** Of a machine with glibc and either of the architectures that the program runs on. */
const isPrebuilt = /linux-(x64|arm64)(-gnu|-glibc)?$/;

// npm leaves out those of other machines where it finds an installed package beside the lock file that it writes.
test('lock files name what is prebuilt for both architectures', () => {
  const files = globSync('{,*/,test/*/}package-lock.json', { cwd: root });
  assert.ok(files.length >= 3);
  const missing: string[] = [];
  for (const file of files) {
    const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8')) as LockFile;
    const locked = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));
    for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
      for (const name of Object.keys(optionalDependencies)) {
        if (isPrebuilt.test(name) && !locked.has(name)) missing.push(`${file}: ${name} of ${path}`);
      }
    }
  }
  assert.deepEqual(missing, []);
});
