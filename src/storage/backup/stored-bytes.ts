/** Putting bytes into a backup and getting them out again: whatever comes out has the digest that it went in with. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { StartupError } from '../../kernel/errors.ts';
import { BlobDamaged, type BlobStore } from '../blobs/blobs.ts';
import type { StoredPart } from './manifest.ts';

type Pieces = AsyncIterable<Uint8Array>;

/** A part of a backup is not there, or has other bytes than it went in with. */
export class BackupDamaged extends StartupError {}

export const putCompressed = (store: BlobStore, pieces: Pieces): Promise<StoredPart> =>
  store.put(Readable.from(pieces, { objectMode: false }).compose(createZstdCompress()));

/** Proves itself at its end: whoever needs to be sure before calls `proven` first. */
export async function* readPart(store: BlobStore, { digest, size }: StoredPart): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const piece of bytesOf(store, digest)) {
    hash.update(piece);
    length += piece.length;
    yield piece;
  }
  if (length !== size || hash.digest('hex') !== digest) throw damaged(digest);
}

async function* bytesOf(store: BlobStore, digest: string): AsyncGenerator<Buffer> {
  try {
    const reader = await store.open(digest);
    if (reader === undefined) throw new BackupDamaged(`blob ${digest} of the backup is missing`);
    try {
      yield* reader.stream();
    } finally {
      await reader.close();
    }
  } catch (error) {
    throw error instanceof BlobDamaged ? damaged(digest) : error;
  }
}

const damaged = (digest: string) => new BackupDamaged(`blob ${digest} of the backup is damaged`);

export const readCompressed = (store: BlobStore, part: StoredPart): Pieces =>
  Readable.from(readPart(store, part), { objectMode: false }).compose(createZstdDecompress());

/** Reads it to its end. Throws `BackupDamaged`. */
export async function proven(store: BlobStore, part: StoredPart): Promise<void> {
  for await (const _piece of readPart(store, part));
}

/** The lines of a text, without holding more than one and a piece. */
export async function* linesOf(pieces: Pieces): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
