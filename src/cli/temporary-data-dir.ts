/** A data folder for one run, gone when the process ends. */
import { readdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { StartupError } from '../kernel/errors.ts';
import { makeMemoryFolder } from '../kernel/memory-folder.ts';

/** A folder given must be empty: what is removed at the end is only what this run has put there. */
export function temporaryDataDir(given?: string): string {
  const folder = given === undefined ? makeMemoryFolder() : resolve(given);
  if (given !== undefined && !isEmptyOrAbsent(folder)) {
    throw new StartupError(`DATA_DIR ${folder} is not empty, and --temporary would remove it`);
  }
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

function isEmptyOrAbsent(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    throw new StartupError(`DATA_DIR ${folder} cannot be read: ${code}`);
  }
}
