/**
 * A chain of the local network has one process that writes it: what is in memory would soon be another chain than
 * what a second process writes to the same file. Held by a lock of the system, so that it ends with the process,
 * however that ends.
 */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartupError } from '../kernel/errors.ts';
import { makeFolder } from '../kernel/files.ts';

/** SQLITE_BUSY, sqlite.org/rescode.html. */
const busy = 5;

export interface Hold {
  release(): void;
}

/** Whether a process that is alive has it. */
export function isHeld(file: string): boolean {
  if (!existsSync(`${file}.lock`)) return false;
  try {
    holdAlone(file, file).release();
    return false;
  } catch {
    return true;
  }
}

/** Throws a `StartupError` while another has it. `what` is for people: "the local Solana ledger". */
export function holdAlone(file: string, what: string): Hold {
  const path = `${file}.lock`;
  let lock: DatabaseSync | undefined;
  try {
    makeFolder(dirname(resolve(path)));
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) {
      throw new StartupError(
        `${what} in ${file} is running already: stop the other process, or set DATA_DIR to another folder`,
      );
    }
    throw new StartupError(`cannot open ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const held = lock;
  return { release: () => held.isOpen && held.close() };
}
