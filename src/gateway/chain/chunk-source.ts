/**
 * The plainest `ByteSource`: the data of a transaction or item read chunk by chunk from nodes, each proven
 * before it is handed on. A few chunks are fetched ahead; order is kept.
 */
import type { GatewayIndex, Located } from '../chain-index/gateway-index.ts';
import { UpstreamError, upstreamFailed } from '../errors.ts';
import type { ByteRange, ByteSource, OpenedBytes } from './byte-source.ts';
import type { Chunks } from './chunks.ts';

const chunkBytes = 256 * 1024;
const ahead = 8;

export class ChunkSource implements ByteSource {
  readonly #index: GatewayIndex;
  readonly #chunks: Chunks;

  constructor(index: GatewayIndex, chunks: Chunks) {
    this.#index = index;
    this.#chunks = chunks;
  }

  async stream(id: string, range?: ByteRange, signal?: AbortSignal): Promise<OpenedBytes | undefined> {
    const located = await this.#index.locate(id);
    if (located === undefined) return undefined;
    const start = range?.start ?? 0;
    const end = Math.min(range?.end ?? located.size, located.size);
    const opened = { size: located.size, proven: true, hash: located.verified ? located.hash : undefined };
    if (start >= end) return { ...opened, stream: nothing() };
    const root = await this.#rootOf(located, signal);
    if (root === undefined) return undefined;
    const shift = located.placement?.dataOffsetInRoot ?? 0;
    return { ...opened, stream: this.#read(root, shift + start, shift + end, signal) };
  }

  /** Where the root transaction's data is in the weave; asked once, then remembered. */
  async #rootOf(located: Located, signal: AbortSignal | undefined): Promise<Root | undefined> {
    const { dataRoot, rootSize, placement } = located;
    if (located.kind === 'item' && placement === undefined) return undefined;
    if (dataRoot === '' || rootSize === undefined) return undefined;
    const id = placement?.root ?? located.id;
    let endOffset = located.rootEndOffset;
    if (endOffset === undefined) {
      const found = await this.#chunks.endOffset(id, signal);
      if (found === undefined) return undefined;
      if (found.size !== rootSize) throw upstreamFailed(new Error(`nodes disagree about the size of ${id}`));
      endOffset = found.endOffset;
      // Before that depth a fork may still move the data.
      if (located.stable) await this.#index.noteEndOffset(id, endOffset);
    }
    return { id, dataRoot: Buffer.from(dataRoot, 'base64url'), dataSize: rootSize, endOffset };
  }

  async *#read(
    root: Root,
    start: number,
    end: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Buffer> {
    const failed = new AbortController();
    const either = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
    const fetchAt = (offset: number) => this.#fetch(root, offset, either);
    // Chunks begin at multiples of 256 KiB, but for the last one or two: those are asked for again by their
    // true place.
    const fetched = new Map<number, Promise<Fetched>>();
    const prefetch = (from: number) => {
      let offset = from;
      for (let step = 0; step < ahead && offset < end; step += 1) {
        if (!fetched.has(offset)) fetched.set(offset, settle(fetchAt(offset)));
        offset = (Math.floor(offset / chunkBytes) + 1) * chunkBytes;
      }
    };
    try {
      for (let at = start; at < end; ) {
        prefetch(at);
        const outcome = await (fetched.get(at) ?? settle(fetchAt(at)));
        fetched.delete(at);
        if ('error' in outcome) throw outcome.error;
        const { bytes, start: first } = outcome.chunk;
        const from = at - first;
        const piece = bytes.subarray(from, Math.min(bytes.length, from + (end - at)));
        if (from < 0 || piece.length === 0)
          throw upstreamFailed(new Error('a chunk does not cover its offset'));
        at += piece.length;
        yield piece;
      }
    } finally {
      failed.abort(new Error('the reader left'));
    }
  }

  async #fetch(root: Root, offset: number, signal: AbortSignal) {
    const chunk = await this.#chunks.chunk({ ...root, offset }, signal);
    if (chunk === undefined) throw new MissingChunk(root.id, offset);
    return chunk;
  }
}

/** The chain has the transaction, but no node that we may ask has this part of its data (yet). */
export class MissingChunk extends UpstreamError {
  constructor(id: string, offset: number) {
    super(502, 'Upstream error', { cause: new Error(`no node has byte ${offset} of ${id}`) });
  }
}

interface Root {
  readonly id: string;
  readonly dataRoot: Buffer;
  readonly dataSize: number;
  readonly endOffset: number;
}

type Fetched =
  | { readonly chunk: { readonly bytes: Buffer; readonly start: number } }
  | { readonly error: unknown };

/** A failure is kept until its turn comes, so that none is ever unhandled. */
function settle(chunk: Promise<{ bytes: Buffer; start: number }>): Promise<Fetched> {
  return chunk.then(
    (got) => ({ chunk: got }),
    (error: unknown) => ({ error }),
  );
}

async function* nothing(): AsyncGenerator<Buffer> {}
