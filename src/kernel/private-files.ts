/**
 * What the program writes (balances, keys, what users stored) is for the user that runs it, and for no other user of the
 * machine. Windows has no such modes and is left alone.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

export const privateFileMode = 0o600;
export const privateFolderMode = 0o700;

const othersBits = 0o077;

/**
 * Whatever this process makes from here on is private, however loose the umask that it was started with. A thread cannot
 * change the umask of the process it is a guest of; there the folder's own mode keeps others out.
 */
export function makeFilesPrivate(): void {
  if (process.platform !== 'win32' && isMainThread) process.umask(othersBits);
}

/** Makes the file if it is not there, private from its first moment. Throws where it cannot be made. */
export function createPrivateFile(path: string): void {
  closeSync(openSync(path, 'a', privateFileMode));
}

/** Takes others' permissions from a file; one that is not there, or not ours to change, stays as it is. */
export function tightenFile(path: string): void {
  if (process.platform === 'win32') return;
  try {
    const { mode } = statSync(path);
    if ((mode & othersBits) !== 0) chmodSync(path, mode & ~othersBits & 0o777);
  } catch {
    // The next one to open it finds out what is wrong with it.
  }
}
