/** A new folder for what is needed for one run: in memory where the system has a file system in memory with room. */
import { accessSync, constants, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Containers often have a file system in memory of 64 MiB, which the first large upload would fill. */
const leastFreeBytes = 1024 * 1024 * 1024;
const memoryFileSystem = '/dev/shm';

export function makeMemoryFolder(): string {
  return mkdtempSync(join(parentWithRoom(), 'turnpike-'));
}

function parentWithRoom(): string {
  try {
    accessSync(memoryFileSystem, constants.W_OK);
    const { bavail, bsize } = statfsSync(memoryFileSystem);
    if (bavail * bsize >= leastFreeBytes) return memoryFileSystem;
  } catch {
    // There is none, or it is not ours to write to.
  }
  return tmpdir();
}
