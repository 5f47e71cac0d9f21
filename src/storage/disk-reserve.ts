/**
 * A little room on the disk of DATA_DIR that nobody uses: SQLite cannot even be read without some, so that a start on a
 * full disk gives it up and serves what is there.
 */
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { privateFileMode } from '../kernel/private-files.ts';

const reserveBytes = 1024 * 1024;
const name = 'reserve';

/** Makes it where it is missing and there is room; answers the bytes that are free besides. */
export function keepReserve(dataDir: string): number {
  const path = join(dataDir, name);
  try {
    if (statSync(path, { throwIfNoEntry: false })?.size !== reserveBytes) write(path);
  } catch {
    // The disk is full, or not ours: then there is none.
    rmSync(path, { force: true });
  }
  try {
    const { bavail, bsize } = statfsSync(dataDir);
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

/** For a database below DATA_DIR that could not be opened; false where there is nothing to give up. */
export function giveUpReserve(databasePath: string): boolean {
  for (const folder of [dirname(databasePath), dirname(dirname(databasePath))]) {
    const path = join(folder, name);
    if (statSync(path, { throwIfNoEntry: false })?.size !== reserveBytes) continue;
    rmSync(path, { force: true });
    return true;
  }
  return false;
}
