/**
 * Where the bytes of an item are: its head in the database, then pieces of blobs. An item that came whole has at
 * most one piece; one that came in parts keeps its parts as they are.
 */
import { createHash, hash as hashOf } from 'node:crypto';
import { hasCode } from '../../kernel/errors.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import {
  BlobDamaged,
  BlobMissing,
  type BlobReader,
  type BlobStore,
  BlobStoreUnavailable,
  loadBlob,
  openSized,
} from '../../storage/blobs/blobs.ts';
import { MissingBytes } from '../errors.ts';

/** The end of a blob: it reaches to the blob's last byte. */
export interface Segment {
  readonly digest: string;
  /** First byte within the blob. */
  readonly start: number;
  readonly size: number;
}

export function formatSegments(segments: readonly Segment[]): string | null {
  if (segments.length === 0) return null;
  return segments.map(({ digest, start, size }) => `${digest}:${start}:${size}`).join(' ');
}

export function parseSegments(text: string | null): Segment[] {
  if (text === null || text === '') return [];
  return text.split(' ').map((part) => {
    const [digest = '', start, size] = part.split(':');
    return { digest, start: Number(start), size: Number(size) };
  });
}

/** Where the head ends and which bytes of which blobs follow, cut to a range of the item. */
export function* piecesOf(
  headSize: number,
  segments: readonly Segment[],
  { start, end }: Span,
): Generator<
  | { readonly head: true; readonly start: number; readonly end: number }
  | {
      readonly head: false;
      readonly digest: string;
      /** Within the blob. */
      readonly start: number;
      readonly end: number;
      readonly blobSize: number;
      /** All that the item has of the blob. */
      readonly isWhole: boolean;
    }
> {
  if (start < headSize) yield { head: true, start, end: Math.min(end, headSize) };
  let at = headSize;
  for (const { digest, start: first, size } of segments) {
    const from = Math.max(start, at);
    const to = Math.min(end, at + size);
    if (from < to) {
      const place = { start: first + from - at, end: first + to - at, blobSize: first + size };
      yield { head: false, digest, ...place, isWhole: to - from === size };
    }
    at += size;
  }
}

const whole: Span = { start: 0, end: Number.POSITIVE_INFINITY };

/** `digests`: each blob is compared with its own; `signature`: by the caller, who compares the whole item with it. */
export type ComparedWith = 'digests' | 'signature';

/**
 * Bytes of an item, in order, in pieces of bounded size. What rots on a medium no time stamp tells, and what is mined or noted
 * damaged can never be mended: each blob that is read whole is compared with its digest on the way. Throws `MissingBytes` after the
 * last byte of a wrong one at the latest.
 */
export async function* readItemBytes(
  blobs: BlobStore,
  head: Buffer,
  segments: readonly Segment[],
  { span = whole, comparedWith = 'digests' }: { span?: Span; comparedWith?: ComparedWith } = {},
): AsyncGenerator<Buffer> {
  for (const piece of piecesOf(head.length, segments, span)) {
    const { start, end } = piece;
    if (piece.head) {
      yield head.subarray(start, end);
      continue;
    }
    const { digest, blobSize, isWhole } = piece;
    // A part of an upload may begin with the end of the item's header, which is kept with its row.
    const hash =
      isWhole && comparedWith === 'digests'
        ? createHash('sha256').update(head.subarray(head.length - start))
        : undefined;
    const reader = await openBlob(blobs, digest, blobSize);
    try {
      for await (const bytes of reader.stream(start, end)) {
        hash?.update(bytes);
        yield bytes;
      }
      if (hash !== undefined && hash.digest('hex') !== digest) throw new BlobDamaged(digest);
    } catch (error) {
      await tellDamaged(blobs, digest, error);
      lost(digest, error);
    } finally {
      await reader.close();
    }
  }
}

/** The whole item in one buffer, for one that is small. */
export async function loadItem(
  blobs: BlobStore,
  head: Buffer,
  segments: readonly Segment[],
  comparedWith: ComparedWith = 'digests',
): Promise<Buffer> {
  if (segments.length === 0) return head;
  const item = Buffer.allocUnsafeSlow(segments.reduce((sum, { size }) => sum + size, head.length));
  item.set(head);
  let at = head.length;
  for (const { digest, start, size } of segments) {
    try {
      // What it begins with is of the header, as above.
      const blob = item.subarray(at - start, at + size);
      await loadBlob(blobs, digest, blob);
      if (comparedWith === 'digests' && hashOf('sha256', blob, 'hex') !== digest)
        throw new BlobDamaged(digest);
    } catch (error) {
      await tellDamaged(blobs, digest, error);
      lost(digest, error);
    }
    at += size;
  }
  return item;
}

/** Of an item that its signature does not fit: throws `MissingBytes` where one of its blobs is to blame. */
export async function findDamage(
  blobs: BlobStore,
  head: Buffer,
  segments: readonly Segment[],
): Promise<void> {
  for await (const _ of readItemBytes(blobs, head, segments));
}

/** From now on the store knows it too: nobody is given these bytes, and the same ones uploaded again replace them. */
async function tellDamaged(blobs: BlobStore, digest: string, error: unknown): Promise<void> {
  if (error instanceof BlobDamaged) await blobs.scrubbed?.inspect(digest, (step) => step());
}

/** Bytes that were damaged, or that a medium cannot read, are as good as none. */
function lost(blob: string, error: unknown): never {
  const isBroken = error instanceof BlobStoreUnavailable && hasCode(error.cause, 'EIO');
  if (isBroken || error instanceof BlobDamaged || error instanceof BlobMissing)
    throw new MissingBytes(error.message, { blob, cause: error });
  throw error;
}

/** A blob is opened by who knows its size. */
export function openBlob(blobs: BlobStore, digest: string, size: number): Promise<BlobReader> {
  return openSized(blobs, digest, size).catch((error) => lost(digest, error));
}
