/** A data folder for one run: in memory where the system has a file system in memory, and gone when the process ends. */
import { accessSync, constants, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { StartupError } from '../kernel/errors.ts';

/** Containers often have a file system in memory of 64 MiB, which the first large upload would fill. */
const leastFreeBytes = 1024 * 1024 * 1024;
const memoryFileSystem = '/dev/shm';

/** A folder given must be empty: what is removed at the end is only what this run has put there. */
export function temporaryDataDir(given?: string): string {
  const folder = given === undefined ? mkdtempSync(join(roomyParent(), 'turnpike-')) : resolve(given);
  if (given !== undefined && !isEmptyOrAbsent(folder)) {
    throw new StartupError(`DATA_DIR ${folder} is not empty, and --temporary would remove it`);
  }
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

function roomyParent(): string {
  try {
    accessSync(memoryFileSystem, constants.W_OK);
    const { bavail, bsize } = statfsSync(memoryFileSystem);
    if (bavail * bsize >= leastFreeBytes) return memoryFileSystem;
  } catch {
    // There is none, or it is not ours to write to.
  }
  return tmpdir();
}

function isEmptyOrAbsent(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw new StartupError(`DATA_DIR ${folder} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
