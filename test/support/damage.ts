/** Damage to files while a server runs, as a broken disk, a careless script or an intruder does it. */
import { closeSync, openSync, readSync, statSync, utimesSync, writeSync } from 'node:fs';

/**
 * Flips one byte in place and keeps size, inode and the time of the last write. The clock that file systems write down
 * ticks every few milliseconds: it has ticked when this returns.
 */
export function flipByte(path: string, position = 0): void {
  const before = statSync(path);
  const file = openSync(path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, position);
    writeSync(file, Buffer.of(byte.readUInt8(0) ^ 1), 0, 1, position);
  } finally {
    closeSync(file);
  }
  do utimesSync(path, before.atimeMs / 1000, before.mtimeMs / 1000);
  while (statSync(path).ctimeMs === before.ctimeMs);
}
