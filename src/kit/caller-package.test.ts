import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { importFromCaller } from './caller-package.ts';

describe('packages of the caller', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-caller-')));
  const back = process.cwd();

  function install(name: string, manifest: object, files: Record<string, string>): void {
    const place = join(folder, 'node_modules', name);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), JSON.stringify({ name, ...manifest }));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(place, file), text);
  }

  before(() => {
    const inner = join(folder, 'app', 'test');
    mkdirSync(inner, { recursive: true });
    process.chdir(inner);
  });
  after(() => {
    process.chdir(back);
    rmSync(folder, { recursive: true, force: true });
  });

  test('are found above the working folder, as an import finds them', async () => {
    const exports = { '.': { browser: './no.js', node: { require: './no.js', import: './yes.mjs' } } };
    install('@scope/dual', { exports }, { 'yes.mjs': 'export const way = "import";' });
    assert.equal((await importFromCaller('@scope/dual')).way, 'import');
  });

  test('in CommonJS have their exports below default', async () => {
    install('plain', { main: 'plain.cjs' }, { 'plain.cjs': 'module.exports = { way: "require" };' });
    assert.deepEqual((await importFromCaller('plain')).default, { way: 'require' });
  });

  test('that are not installed are asked for by name', async () => {
    await assert.rejects(
      importFromCaller('not-there'),
      /the package not-there is not installed; "npm install/,
    );
  });
});
