/** Files of simulated processes. They are real ones; only that somebody changed one, nobody is told: it is to be looked for. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machines } from './machine.ts';

const fs = createRequire(import.meta.url)('node:fs');
const realWatch: unknown = fs.watch;
fs.watch = (...given: unknown[]): unknown => {
  if (machines.getStore() !== undefined) throw new Error('nobody watches files here');
  return typeof realWatch === 'function' ? Reflect.apply(realWatch, fs, given) : undefined;
};
syncBuiltinESMExports();

let all: string | undefined;

/** An empty folder: worlds come one after the other, and what is in it belongs to the last. */
export function emptyFolder(name: string): string {
  if (all === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'turnpike-simulation-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    all = made;
  }
  const folder = join(all, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}
