/** The package as `npm publish` would send it. One at a time: packing writes `dist` anew. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const packageName = '@turnpike-network/turnpike';

/** Answers the path of the tarball. */
export function packTurnpike(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const old of globSync('*.tgz', { cwd: folder })) rmSync(join(folder, old));
  execFileSync('npm', ['pack', '--pack-destination', folder], {
    cwd: resolve(import.meta.dirname, '../..'),
    stdio: 'ignore',
  });
  const [tarball] = globSync('*.tgz', { cwd: folder });
  if (tarball === undefined) throw new Error('npm pack has written no tarball');
  return join(folder, tarball);
}
