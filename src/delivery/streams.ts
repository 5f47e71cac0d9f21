/** Parts of streams, of files and of bytes in memory. */
import type { BlobReader } from '../storage/blobs/blobs.ts';

/** The bytes `start` (inclusive) to `end` (exclusive). Read to its end, where a stream says whether it was right. */
export async function* slice(
  stream: AsyncIterable<Buffer>,
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  let position = 0;
  for await (const piece of stream) {
    const from = Math.max(0, start - position);
    const to = Math.min(piece.length, end - position);
    position += piece.length;
    if (from < to) yield from === 0 && to === piece.length ? piece : piece.subarray(from, to);
  }
}

/** The same for pieces in memory. */
export function slicePieces(pieces: readonly Buffer[], start: number, end: number): Buffer[] {
  const found: Buffer[] = [];
  let position = 0;
  for (const piece of pieces) {
    const from = Math.max(0, start - position);
    const to = Math.min(piece.length, end - position);
    if (from < to) found.push(piece.subarray(from, to));
    position += piece.length;
  }
  return found;
}

/** One buffer; a single piece is not copied. */
export function joinPieces(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
}

/** Exactly `length` bytes after the first `skip`: more are not read, fewer are the error `tooShort` makes. */
export async function* exactly(
  stream: AsyncIterable<Buffer>,
  skip: number,
  length: number,
  tooShort: (missing: number) => Error,
): AsyncGenerator<Buffer> {
  let toSkip = skip;
  let left = length;
  if (left === 0) return;
  for await (const piece of stream) {
    const bytes = piece.subarray(toSkip, toSkip + left);
    toSkip -= Math.min(toSkip, piece.length);
    if (bytes.length === 0) continue;
    left -= bytes.length;
    yield bytes;
    if (left === 0) return;
  }
  throw tooShort(left);
}

/** The same pieces, the last one only once the stream has ended well. */
export async function* holdLast(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer | undefined;
  for await (const piece of stream) {
    if (held !== undefined) yield held;
    held = piece;
  }
  if (held !== undefined) yield held;
}

/** A part of an open blob, which is closed with it. */
export async function* readAndClose(
  reader: Pick<BlobReader, 'stream' | 'close'>,
  start?: number,
  end?: number,
): AsyncGenerator<Buffer> {
  try {
    yield* reader.stream(start, end);
  } finally {
    await reader.close();
  }
}
