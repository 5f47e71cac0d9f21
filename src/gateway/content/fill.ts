/**
 * One fetch for everybody who wants the same content: it goes into the cache at the speed of the source, and to
 * each reader as it arrives. A reader that is slower than the source is let go of the live bytes and continues
 * from the cache once the fetch is done, so that it slows nobody down and holds little memory.
 *
 * When a source stops half-way the next one continues where it stopped. The last piece is held back until the
 * hash of the whole is known to be right: wrong bytes never look complete. Small content is held back whole, and
 * had from another source when it is wrong.
 *
 * It goes on when readers leave, for those who come next; but not for long when none is left.
 *
 * A cache that cannot take the bytes, because its disk is full or broken, costs nobody the read: they go to the readers
 * all the same, and one that fell behind reads the rest from a source of its own.
 */
import { createHash } from 'node:crypto';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { LiveReader } from '../../storage/blobs/live-reader.ts';
import { upstreamFailed } from '../errors.ts';
import { CarefulWriter } from './careful-writer.ts';
import type { SourceBytes } from './sources/source.ts';

/** A reader that lags this far behind the source reads from the cache later. */
const maxLag = 4 * 1024 * 1024;
/** What such a reader gets at a time. */
const slowPiece = 32 * 1024;
/** Bytes that can be compared with a hash and are no more than this are seen by nobody before they were. */
const holdLimit = 512 * 1024;
/** How long a fetch goes on that nobody waits for. */
const lingerMs = 10_000;

export interface FillOptions {
  readonly cache: BlobStore;
  /** What the bytes must hash to, where that is known (base64url). */
  readonly expected: string | undefined;
  readonly first: SourceBytes;
  /** Opens the rest from `start` at another source; undefined when no other has it. */
  next(start: number): Promise<SourceBytes | undefined>;
  /** Opens the rest from `start` for one reader alone, where the cache has not got it. */
  rest(start: number): Promise<AsyncIterable<Buffer>>;
  /** The cache did not take the bytes. */
  uncached(error: unknown): void;
  /** Proven bytes have another hash than `expected`: that one was wrong. */
  contradicted?(): Promise<void>;
  /** Nobody has waited for the bytes for a while: their sources are to be let go, which fails the fetch. */
  abandoned?(): void;
  readonly lingerMs?: number;
  /** Called when all bytes have come and are right, and are in the cache unless it failed. `proven`: every one of them was. */
  done(hash: string, proven: boolean): Promise<void>;
}

export class Fill {
  readonly size: number;
  readonly first: SourceBytes;
  /** Resolves with the hash when everything arrived and is right; rejects otherwise. */
  readonly finished: Promise<string>;
  readonly #options: FillOptions;
  readonly #readers = new Set<LiveReader>();
  /** Pieces of the beginning, kept for readers who come while little has arrived. */
  #beginning: Buffer[] | undefined = [];
  /** Resolves when the bytes will not be in the cache. */
  readonly #lost = Promise.withResolvers<undefined>();
  /** Bytes that readers may have seen. */
  #given = 0;
  /** All who wait for bytes, those who fell behind too. */
  #waiting = 0;
  #lingering: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(options: FillOptions) {
    this.#options = options;
    this.first = options.first;
    this.size = options.first.size;
    this.finished = this.#run();
    this.finished.catch(() => {}); // each reader is told
  }

  /** The whole content from its first byte, as it arrives, until `signal` says that the reader left. */
  read(signal: AbortSignal): AsyncGenerator<Buffer> {
    const reader = this.#join();
    this.#waiting += 1;
    clearTimeout(this.#lingering);
    const left = Promise.withResolvers<never>();
    left.promise.catch(() => {}); // not everybody waits for it
    let isHere = true;
    const leave = (): void => {
      if (!isHere) return;
      isHere = false;
      signal.removeEventListener('abort', leave);
      this.#readers.delete(reader);
      if (signal.aborted) {
        left.reject(signal.reason);
        reader.end(signal.reason);
      }
      this.#waiting -= 1;
      if (this.#waiting === 0 && !this.#isOver) this.#linger();
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave);
    return this.#pieces(reader, left.promise, leave);
  }

  async *#pieces(reader: LiveReader, left: Promise<never>, leave: () => void): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const piece = await reader.take();
        if (piece === undefined) break;
        yield piece;
      }
      if (reader.position < this.size) yield* this.#remaining(reader.position, left);
    } finally {
      leave();
    }
  }

  #linger(): void {
    const { abandoned, lingerMs: linger = lingerMs } = this.#options;
    this.#lingering = setTimeout(() => abandoned?.(), linger).unref();
  }

  #join(): LiveReader {
    const reader = new LiveReader();
    if (this.#beginning === undefined) reader.letGo();
    else {
      for (const piece of this.#beginning) reader.give(piece);
      this.#readers.add(reader);
    }
    return reader;
  }

  /** For a reader that was let go: from the cache once all is there, or from a source where it will not be. */
  async *#remaining(start: number, left: Promise<never>): AsyncGenerator<Buffer> {
    const { cache, rest } = this.#options;
    const hash = await Promise.race([this.finished, this.#lost.promise, left]);
    const digest = hash === undefined ? undefined : Buffer.from(hash, 'base64url').toString('hex');
    const reader = digest === undefined ? undefined : await cache.open(digest).catch(() => undefined);
    if (reader === undefined) {
      yield* await rest(start);
      return;
    }
    try {
      // Who fell behind is slow: small pieces, and none ahead, so that a thousand of them hold little.
      for (let position = start; position < this.size; ) {
        const piece = Buffer.allocUnsafeSlow(Math.min(slowPiece, this.size - position));
        position += await reader.read(piece, position);
        yield piece;
      }
    } finally {
      await reader.close();
    }
  }

  async #run(): Promise<string> {
    try {
      let source = this.first;
      for (;;) {
        const outcome = await this.#attempt(source);
        if (outcome.hash !== undefined) return outcome.hash;
        // Wrong bytes of which no reader has seen one: another source may have the right ones.
        const other = this.#given === 0 ? await this.#options.next(0) : undefined;
        if (other === undefined || other.size !== this.size) throw outcome.error;
        source = other;
      }
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  /** The whole from `first` and, where that stops, from others; no hash where it came and was wrong. */
  async #attempt(
    first: SourceBytes,
  ): Promise<{ hash: string; error?: undefined } | { hash: undefined; error: Error }> {
    const { cache, expected, done, uncached } = this.#options;
    const writer = new CarefulWriter(cache, (error) => {
      this.#lost.resolve(undefined);
      uncached(error);
    });
    const hash = createHash('sha256');
    const announced = new Set<string>(expected === undefined ? [] : [expected]);
    const held: Buffer[] = [];
    let arrived = 0;
    let proven = true;
    const take = async (piece: Buffer, holdAll: boolean): Promise<void> => {
      arrived += piece.length;
      if (arrived > this.size) throw upstreamFailed(new Error('a source sends more than it said'));
      hash.update(piece);
      await writer.write(piece);
      if (!holdAll) while (held.length > 0) this.#give(held.shift() ?? piece);
      held.push(piece);
    };
    try {
      let source: SourceBytes | undefined = first;
      while (source !== undefined) {
        proven &&= source.proven;
        if (expected === undefined && source.hash !== undefined) announced.add(source.hash);
        const holdAll = !source.proven && announced.size > 0 && this.size <= holdLimit;
        try {
          for await (const piece of source.stream) await take(piece, holdAll);
          source = undefined;
        } catch (error) {
          source = arrived < this.size ? await this.#options.next(arrived) : undefined;
          if (source === undefined || source.size !== this.size) throw error;
        }
      }
      if (arrived !== this.size) throw upstreamFailed(new Error('a source stopped early'));
      const digest = hash.digest('base64url');
      if (announced.size > 1 || (announced.size === 1 && !announced.has(digest))) {
        await writer.abort();
        if (proven && expected !== undefined && digest !== expected) await this.#options.contradicted?.();
        const error = upstreamFailed(new Error('the bytes do not have the hash they should have'));
        return { hash: undefined, error };
      }
      await writer.commit();
      await done(digest, proven);
      for (const piece of held) this.#give(piece);
      this.#end(undefined);
      return { hash: digest };
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }

  #give(piece: Buffer): void {
    this.#given += piece.length;
    if (this.#beginning !== undefined) {
      this.#beginning.push(piece);
      const bytes = this.#beginning.reduce((sum, one) => sum + one.length, 0);
      if (bytes > maxLag) this.#beginning = undefined;
    }
    for (const reader of this.#readers) {
      reader.give(piece);
      if (reader.lag <= maxLag) continue;
      reader.letGo();
      this.#readers.delete(reader);
    }
  }

  #end(error: unknown): void {
    for (const reader of this.#readers) reader.end(error);
    this.#beginning = undefined;
    clearTimeout(this.#lingering);
    this.#isOver = true;
  }
}
