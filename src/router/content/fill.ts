/**
 * Large content on its way: one download for everybody who wants it, checked while it passes, kept in the cache.
 * The last piece is held back until the whole is proven, so that wrong bytes never look complete: their readers'
 * connections are cut. When a gateway stops half-way, another continues where it stopped.
 *
 * A reader that lags is waited for while it is alone, as any proxy would; beside others it is let go of the live
 * bytes and continues from the cache once everything is there.
 */
import type { BlobReader, BlobStore } from '../../storage/blobs/blobs.ts';
import { LiveReader } from '../../storage/blobs/live-reader.ts';
import { Pace } from '../gateways/pace.ts';
import { Beginning } from './beginning.ts';
import type { BodyCheck } from './body-check.ts';
import { Sink } from './sink.ts';

/** Bytes a reader may lag behind the download, beside others. */
const maxLag = 4 * 1024 * 1024;
/** Bytes that the download runs ahead of a reader that is alone. */
const pace = 256 * 1024;

export interface FillOptions {
  /** undefined: the content is too large to keep, and there is one reader. */
  readonly cache: BlobStore | undefined;
  /** undefined where nobody said. */
  readonly size: number | undefined;
  readonly maxSize: number;
  readonly check: BodyCheck;
  /** How long the body may come too slowly. */
  readonly slowAfterMs?: number;
  readonly body: AsyncIterable<Buffer>;
  /** Opens the rest from `start` elsewhere; throws when nobody has it. */
  resume(start: number, cause: unknown): Promise<AsyncIterable<Buffer>>;
  /** Told once: proven, wrong (with the digest where everything came), or broken off. */
  done(result: FillResult): void;
  /** The cache takes no more; the content is served on. */
  cacheFailed(error: unknown): void;
  /** Ends the download. */
  abort(): void;
}

export type FillResult =
  | { readonly kind: 'proven'; readonly digest: string; readonly size: number }
  | { readonly kind: 'wrong'; readonly digest: string | undefined; readonly size: number }
  | { readonly kind: 'broken' };

/** The bytes were not what the id stands for. */
export class WrongBytes extends Error {
  override readonly name = 'WrongBytes';
}

export class Fill {
  readonly size: number | undefined;
  /** Resolves with the digest when everything arrived and is proven; rejects otherwise. */
  readonly finished: Promise<string>;
  readonly #options: FillOptions;
  readonly #sink: Sink;
  /** Those that are given the pieces as they come. */
  readonly #readers = new Set<LiveReader>();
  /** Everybody who waits for it, also those who will read it from the cache. */
  #waiting = 0;
  #onCompany: (() => void) | undefined;
  readonly #beginning = new Beginning(maxLag);
  #arrived = 0;
  #over = false;

  constructor(options: FillOptions) {
    this.#options = options;
    this.#sink = new Sink(options.cache, options.cacheFailed);
    this.size = options.size;
    this.finished = this.#run();
    this.finished.catch(() => {}); // every reader is told
  }

  /** Whether it can be had from the cache once it is over; else there is one reader. */
  get kept(): boolean {
    return this.#options.cache !== undefined && !this.#sink.failed;
  }

  /** Bytes in memory that wait for readers, those that came or those that may. */
  get held(): number {
    const lags = [...this.#readers].map(({ lag }) => lag);
    return this.#beginning.bytes + lags.reduce((sum, lag) => sum + lag, 0);
  }

  /** The whole content from its first byte, as it arrives; over at once when the signal says so. */
  async *read(gone: AbortSignal): AsyncGenerator<Buffer> {
    const reader = new LiveReader();
    const left = rejectsWhen(gone);
    left.catch((reason: unknown) => reader.end(reason));
    for (const piece of this.#beginning.pieces ?? []) reader.give(piece);
    if (this.#over || this.#beginning.pieces === undefined) reader.end(undefined);
    else this.#readers.add(reader);
    this.#join();
    try {
      for (;;) {
        const piece = await reader.take();
        if (piece === undefined) break;
        yield piece;
      }
      const digest = await Promise.race([this.finished, left]);
      if (reader.position < this.#arrived) yield* this.#fromCache(digest, reader.position);
    } finally {
      this.#readers.delete(reader);
      reader.end(undefined);
      this.#waiting -= 1;
      this.#leftAlone();
    }
  }

  /**
   * `finished`, for somebody who will then read it from the cache: it is not given up meanwhile. Who does not wait
   * for longer than `late` is told nothing.
   */
  async whole(late?: Promise<void>): Promise<string | undefined> {
    this.#join();
    try {
      return await (late === undefined
        ? this.finished
        : Promise.race([this.finished, late.then(() => undefined)]));
    } finally {
      this.#waiting -= 1;
      this.#leftAlone();
    }
  }

  /**
   * For whoever opened it and does not read it after all: where nobody else does either, it is given up. Those who
   * opened it together with them have this long to begin.
   */
  release(graceMs = 1_000): void {
    if (!this.#over) setTimeout(() => this.#leftAlone(), graceMs).unref();
  }

  #join(): void {
    this.#waiting += 1;
    this.#onCompany?.();
  }

  /** Nobody reads any more: what is less than half there is not worth finishing. */
  #leftAlone(): void {
    if (this.#over || this.#waiting > 0) return;
    const worth = this.#sink.keeps && this.#arrived * 2 > (this.size ?? Number.POSITIVE_INFINITY);
    if (!worth) this.#options.abort();
  }

  async *#fromCache(digest: string, start: number): AsyncGenerator<Buffer> {
    const reader: BlobReader | undefined = await this.#options.cache?.open(digest);
    if (reader === undefined) throw new Error('the content left the cache before it was read');
    try {
      yield* reader.stream(start);
    } finally {
      await reader.close();
    }
  }

  async #run(): Promise<string> {
    const { check, done } = this.#options;
    const sink = this.#sink;
    await sink.open();
    let held: Buffer | undefined;
    let digest: string | undefined;
    try {
      let body: AsyncIterable<Buffer> | undefined = this.#options.body;
      while (body !== undefined) {
        const pace = new Pace(this.#options.slowAfterMs);
        try {
          for await (const piece of body) {
            pace.arrived(piece.length);
            if (piece.length === 0) continue;
            this.#arrived += piece.length;
            const limit = this.size ?? this.#options.maxSize;
            if (this.#arrived > limit) throw new WrongBytes('a gateway sends more than there is');
            check.update(piece);
            await sink.write(piece);
            if (held !== undefined) await this.#give(held);
            held = piece;
            pace.waiting();
          }
          if (this.size !== undefined && this.#arrived < this.size) throw new Error('the body ended early');
          body = undefined;
        } catch (error) {
          if (error instanceof WrongBytes) throw error;
          body = await this.#options.resume(this.#arrived, error);
        }
      }
      digest = sink.digest();
      if (!(await check.finish(digest, this.#arrived)))
        throw new WrongBytes('the bytes are not those of the id');
      await sink.commit();
      done({ kind: 'proven', digest, size: this.#arrived });
      if (held !== undefined) await this.#give(held);
      this.#end(undefined);
      return digest;
    } catch (error) {
      await sink.drop();
      done(error instanceof WrongBytes ? { kind: 'wrong', digest, size: this.#arrived } : { kind: 'broken' });
      this.#options.abort();
      this.#end(error);
      throw error;
    }
  }

  async #give(piece: Buffer): Promise<void> {
    // Content that is not kept has one reader: once that is there, nobody else needs the beginning.
    if (!this.#sink.keeps && this.#readers.size > 0) this.#beginning.drop();
    else this.#beginning.add(piece, this.#sink.keeps);
    for (const reader of this.#readers) reader.give(piece);
    for (const reader of this.#readers) {
      const alone = this.#waiting === 1 || !this.#sink.keeps;
      if (alone && reader.lag > pace) await this.#slowDown(reader);
      if (reader.lag <= maxLag) continue;
      reader.letGo();
      this.#readers.delete(reader);
    }
  }

  /** Until the reader has caught up, or somebody else would have to wait for it who need not. */
  async #slowDown(reader: LiveReader): Promise<void> {
    const caughtUp = reader.caughtUp(pace / 2);
    if (!this.#sink.keeps) return await caughtUp;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onCompany = resolve;
    await Promise.race([caughtUp, promise]);
    this.#onCompany = undefined;
  }

  #end(error: unknown): void {
    this.#over = true;
    for (const reader of this.#readers) {
      // Who is far behind reads on from the cache: what it has not taken is there, and need not be here.
      if (error === undefined && this.#sink.keeps && reader.lag > pace) reader.letGo();
      else reader.end(error);
    }
    // A reader that comes now finds everything in the cache, or nothing.
    if (error === undefined && !this.#sink.keeps) this.#beginning.release();
    else this.#beginning.drop();
  }
}

/** Never resolves. */
function rejectsWhen(gone: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (gone.aborted) reject(gone.reason);
  else gone.addEventListener('abort', () => reject(gone.reason), { once: true });
  return promise;
}
