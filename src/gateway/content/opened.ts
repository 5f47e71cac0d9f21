/** What is known of content, and content that is open: from memory, from a file, or as it arrives. */
import { createHash } from 'node:crypto';
import { readAndClose } from '../../delivery/streams.ts';
import type { BlobReader } from '../../storage/blobs/blobs.ts';
import type { ByteRange } from '../chain/byte-source.ts';
import type { Located } from '../chain-index/gateway-index.ts';

/** What can be said of an id's content before a byte of it is read. */
export interface Described {
  readonly id: string;
  readonly size: number;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Base64url SHA-256 of the payload, once known. */
  readonly hash: string | undefined;
  readonly verified: boolean;
  readonly stable: boolean;
  /** The index's own record; undefined for what only another gateway knows. */
  readonly located: Located | undefined;
  /** Where the network is that it was read from, if that is another one. */
  readonly fork?: string | undefined;
}

/** Bytes ready to be sent. */
export interface OpenedContent {
  readonly described: Described;
  readonly fromCache: boolean;
  readonly trusted: boolean;
  readonly hops: number;
  /** The whole content, where it is small and asked for often. */
  readonly bytes?: Buffer | undefined;
  /** A file in the cache, for positional reads; the receiver closes it. */
  readonly reader?: BlobReader | undefined;
  /** The asked range (or all) where there is no reader. */
  readonly stream?: AsyncIterable<Buffer> | undefined;
}

/** Base64url, as all hashes here. */
export const hashOfNothing = createHash('sha256').digest('base64url');

export function describedBy(located: Located): Described {
  const { id, size, contentType, contentEncoding, verified, stable } = located;
  const hash = size === 0 ? hashOfNothing : located.hash;
  return { id, size, contentType, contentEncoding, hash, verified, stable, located };
}

/** A transaction that waits for its block: it may never get one. Items have their uploader's receipt. */
export function isPending({ located }: Pick<Described, 'located'>): boolean {
  return located?.kind === 'transaction' && located.height === undefined;
}

export function fromCache(
  described: Described,
  where: Pick<OpenedContent, 'bytes' | 'reader'>,
): OpenedContent {
  return { described, fromCache: true, trusted: true, hops: 0, ...where };
}

/** A stream of the bytes `start` to `end`, continued elsewhere where it breaks off. */
export async function* resumed(
  first: AsyncIterable<Buffer>,
  start: number,
  end: number,
  signal: AbortSignal,
  next: (start: number) => Promise<AsyncIterable<Buffer> | undefined>,
): AsyncGenerator<Buffer> {
  let stream = first;
  let at = start;
  for (;;) {
    try {
      for await (const piece of stream) {
        at += piece.length;
        yield piece;
      }
      return;
    } catch (error) {
      const other = signal.aborted || at >= end ? undefined : await next(at);
      if (other === undefined) throw error;
      stream = other;
    }
  }
}

export async function* only(bytes: Buffer | undefined): AsyncGenerator<Buffer> {
  if (bytes !== undefined && bytes.length > 0) yield bytes;
}

/** What was opened, as pieces; its reader is closed with it. */
export function streamOf({ stream, reader, bytes }: OpenedContent, range?: ByteRange): AsyncIterable<Buffer> {
  if (stream !== undefined) return stream;
  if (reader !== undefined) return readAndClose(reader, range?.start, range?.end);
  return only(bytes?.subarray(range?.start, range?.end));
}
