/**
 * A little room on the disk of DATA_DIR that nobody uses: SQLite cannot even be read without some, so that a start on a
 * full disk gives it up and serves what is there.
 */
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { privateFileMode } from '../kernel/private-files.ts';

const reserveBytes = 1024 * 1024;
const name = 'reserve';

/** Makes it where it is missing, and gives it up where there is no room left; answers whether that is so. */
export function isFullWithReserve(dataDir: string): boolean {
  const path = join(dataDir, name);
  if (freeBytes(dataDir) < reserveBytes) {
    rmSync(path, { force: true });
    return true;
  }
  try {
    if (statSync(path, { throwIfNoEntry: false })?.size !== reserveBytes) write(path);
  } catch {
    rmSync(path, { force: true });
  }
  return false;
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function write(path: string): void {
  const file = openSync(path, 'w', privateFileMode);
  try {
    writeSync(file, Buffer.alloc(reserveBytes, 1));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
