/**
 * What `npm pack` ships: the sources as plain JavaScript in dist (Node does not strip types inside
 * node_modules), and beside them every file that is read at run time.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const out = join(root, 'dist');
rmSync(out, { recursive: true, force: true });

const tsc = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (tsc.status !== 0) process.exit(1);

for (const file of globSync('src/**/*', { cwd: root, withFileTypes: true })) {
  if (!file.isFile() || /\.tsx?$/.test(file.name)) continue;
  const from = join(file.parentPath, file.name);
  const to = join(out, from.slice(root.length + 1));
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}
