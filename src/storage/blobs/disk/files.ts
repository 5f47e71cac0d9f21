/** File system calls as promises over plain descriptors, and their failures in the words of `blobs.ts`. */
import fs from 'node:fs';
import { promisify } from 'node:util';
import { hasCode } from '../../../kernel/errors.ts';
import { BlobStoreUnavailable } from '../blobs.ts';

/** Where bytes are in memory, and where in the file. */
type Piece = [fd: number, bytes: Uint8Array, offset: number, length: number, position: number];

/** What the disk store needs of a file system; tests put a failing one in its place. */
export const files = {
  open: promisify(fs.open),
  close: promisify(fs.close),
  /** The answer is in memory for a file that is open: a trip to another thread costs twenty times as much. */
  fstatNow: (fd: number): fs.Stats => fs.fstatSync(fd),
  stat: promisify(fs.stat),
  mkdir: promisify(fs.mkdir),
  readdir: promisify(fs.readdir),
  rename: promisify(fs.rename),
  unlink: promisify(fs.unlink),
  fsync: promisify(fs.fsync),
  fdatasync: promisify(fs.fdatasync),
  /** Bytes written, possibly fewer than asked for. */
  write: async (...piece: Piece): Promise<number> => (await write(...piece)).bytesWritten,
  /** Bytes read, 0 at the end. */
  read: async (...piece: Piece): Promise<number> => (await read(...piece)).bytesRead,
};

export type Files = typeof files;

const write = promisify(fs.write);
const read = promisify(fs.read);

export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR');
}

/** A system's refusal (disk full, quota, I/O error, too many open files) as the store's own error. */
export function unavailable(error: unknown): unknown {
  if (error instanceof Error && 'syscall' in error) {
    return new BlobStoreUnavailable(error.message, { cause: error });
  }
  return error;
}
