/** The package as `npm publish` would send it. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export const packageName = '@turnpike-network/turnpike';
const root = resolve(import.meta.dirname, '../..');
/** Several times what it takes on a busy machine. */
const turnMs = 300_000;

/** Answers the path of the tarball. */
export function packTurnpike(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const old of globSync('*.tgz', { cwd: folder })) rmSync(join(folder, old));
  inTurn(() => execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: root, stdio: 'ignore' }));
  const [tarball] = globSync('*.tgz', { cwd: folder });
  if (tarball === undefined) throw new Error('npm pack has written no tarball');
  return join(folder, tarball);
}

/** The files that would be packed of what was built last. */
export function packedFiles(): string[] {
  const told = inTurn(() =>
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' }),
  );
  return JSON.parse(told)[0].files.map(({ path }: { path: string }) => path);
}

/**
 * One process at a time: packing writes `dist` anew, and suites that run side by side pack too. The lock is that of a
 * database, which ends with its process.
 */
function inTurn<T>(work: () => T): T {
  mkdirSync(join(root, '.cache'), { recursive: true });
  const lock = new DatabaseSync(join(root, '.cache', 'packing.db'), { timeout: turnMs });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return work();
  } finally {
    lock.close();
  }
}
