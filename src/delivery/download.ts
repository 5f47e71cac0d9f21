/**
 * One download for everybody who wants the same content: read once, checked while it passes, written to the cache and
 * given to each reader as it arrives. The last piece is held back until the whole is found to be right, so that wrong
 * bytes never look complete. When a source stops half-way, another continues where it stopped.
 *
 * A reader that lags too far gets no more live bytes and continues from the cache once everything is there, so that it
 * slows nobody down and holds little memory. A cache that fails costs nobody the read.
 */
import { createHash } from 'node:crypto';
import { giveBack } from '../outside/read-buffers.ts';
import type { BlobStore } from '../storage/blobs/blobs.ts';
import { CacheWriter } from './cache.ts';
import { LiveReader } from './live-reader.ts';

/** Bytes a reader may lag behind the download before it is left to the cache. */
const maxLag = 4 * 1024 * 1024;
/** What a reader that fell behind gets at a time: it is slow, and a thousand of them must hold little. */
const slowPiece = 32 * 1024;

/** A way to know that bytes are the right ones, fed while they pass. */
export interface BodyCheck {
  /** Takes the next bytes; they are whole and in order. */
  update(piece: Buffer): void;
  /** Whether these were the bytes; `digest` is their SHA-256 in hex. */
  finish(digest: string, size: number): boolean | Promise<boolean>;
  /** While true, no reader sees a byte before `finish` found them right. Default false. */
  readonly holdsAll?: boolean;
}

/** One try at the whole content. */
export interface DownloadAttempt {
  readonly body: AsyncIterable<Buffer>;
  readonly check: BodyCheck;
  /** Opens the rest from `start` elsewhere after `cause`; throws where nobody has it. */
  resume(start: number, cause: unknown): Promise<AsyncIterable<Buffer>>;
}

export interface DownloadOptions {
  /** undefined: the content is not kept. */
  readonly cache: BlobStore | undefined;
  /** undefined where nobody said. */
  readonly size: number | undefined;
  /** For content whose size nobody said. */
  readonly maxSize?: number;
  readonly first: DownloadAttempt;
  /** Another try from the first byte, after wrong bytes of which no reader has seen one. */
  again?(): Promise<DownloadAttempt | undefined>;
  /** Bytes that the download runs ahead of its only reader; infinite where it never waits for one. */
  readonly maxLead: number;
  /** Opens the rest from `start` for one reader that lags and cannot have it from the cache. */
  rest?(start: number): Promise<AsyncIterable<Buffer>>;
  /** How long the download goes on when nobody reads it; infinite where it is worth finishing. */
  lingerMs(arrived: number, isKept: boolean): number;
  /** Ends the download, which then fails: nobody has read it for so long. */
  abort(): void;
  /** Told what came of each attempt, before its last piece is given to readers. */
  done(result: DownloadResult): void | Promise<void>;
  /** The cache takes no more; the content is served on. */
  cacheFailed(error: unknown): void;
  /** What readers are told where the bytes are at fault. Default: a plain error. */
  failure?(reason: string): Error;
}

export type DownloadResult =
  | { readonly kind: 'proven'; readonly digest: string; readonly size: number }
  /** With the digest where everything came. */
  | { readonly kind: 'wrong'; readonly digest: string | undefined; readonly size: number }
  | { readonly kind: 'broken' };

/** The bytes are not the right ones. */
class WrongBytes extends Error {
  readonly digest: string | undefined;

  constructor(reason: string, digest?: string) {
    super(reason);
    this.digest = digest;
  }
}

export class Download {
  readonly size: number | undefined;
  /** Resolves with the digest when everything arrived and is right; rejects otherwise. */
  readonly finished: Promise<string>;
  readonly #options: DownloadOptions;
  #writer: CacheWriter;
  /** Those that are given the pieces as they come. */
  readonly #readers = new Set<LiveReader>();
  /** Everybody who waits for it, also those who will read it from the cache. */
  #waiting = 0;
  /** All that ever were. */
  #readerCount = 0;
  #onSecondReader: (() => void) | undefined;
  #lingering: NodeJS.Timeout | undefined;
  readonly #firstBytes = new FirstBytes(maxLag);
  /** Resolves when the bytes will not be in the cache, where they can be read elsewhere. */
  readonly #notCached = Promise.withResolvers<undefined>();
  #arrived = 0;
  /** Bytes that readers may have seen. */
  #given = 0;
  #isOver = false;

  constructor(options: DownloadOptions) {
    this.#options = options;
    this.#writer = this.#newWriter();
    this.size = options.size;
    this.finished = this.#run();
    this.finished.catch(() => {}); // every reader is told
  }

  /** Whether it can be read from the cache once it is over. */
  get isKept(): boolean {
    return this.#options.cache !== undefined && !this.#writer.hasFailed;
  }

  /** Bytes in memory that wait for readers, those that came or those that may. */
  get held(): number {
    const lags = [...this.#readers].map(({ lag }) => lag);
    return this.#firstBytes.bytes + lags.reduce((sum, lag) => sum + lag, 0);
  }

  /** The whole content from its first byte, as it arrives, until `gone` says that the reader left. */
  read(gone: AbortSignal): AsyncGenerator<Buffer> {
    const reader = new LiveReader();
    this.#readerCount += 1;
    for (const piece of this.#firstBytes.pieces ?? []) reader.give(piece);
    if (this.#isOver || this.#firstBytes.pieces === undefined) reader.end(undefined);
    else this.#readers.add(reader);
    this.#join();
    const left = Promise.withResolvers<never>();
    left.promise.catch(() => {}); // not every reader waits for it
    let isHere = true;
    const leave = (): void => {
      if (!isHere) return;
      isHere = false;
      gone.removeEventListener('abort', leave);
      this.#readers.delete(reader);
      if (gone.aborted) left.reject(gone.reason);
      reader.end(gone.aborted ? gone.reason : undefined);
      this.#leave();
    };
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave);
    return this.#pieces(reader, left.promise, leave);
  }

  /** A reader holds this piece no more. Where nobody else had it, what comes next is read into the same memory. */
  sent(piece: Buffer): void {
    const { cache, rest } = this.#options;
    const isForOne = cache === undefined && rest === undefined && this.#readerCount === 1;
    if (isForOne && this.#firstBytes.pieces === undefined) giveBack(piece);
  }

  async *#pieces(reader: LiveReader, left: Promise<never>, leave: () => void): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const piece = await reader.take();
        if (piece === undefined) break;
        yield piece;
      }
      const digest = await Promise.race([this.finished, this.#notCached.promise, left]);
      const hasAll = this.#isOver && reader.position === this.#arrived;
      if (!hasAll) yield* this.#remaining(digest, reader.position);
    } finally {
      leave();
    }
  }

  /**
   * `finished`, for somebody who will then read it from the cache: it is not given up meanwhile. Resolves with
   * undefined where `late` comes first.
   */
  async whole(late?: Promise<void>): Promise<string | undefined> {
    this.#join();
    try {
      return await (late === undefined
        ? this.finished
        : Promise.race([this.finished, late.then(() => undefined)]));
    } finally {
      this.#leave();
    }
  }

  /**
   * For whoever opened it and does not read it after all: where nobody else does either, it is given up. Those who
   * opened it at the same time have this long to begin.
   */
  release(graceMs = 1_000): void {
    if (!this.#isOver) setTimeout(() => this.#endUnread(), graceMs).unref();
  }

  #join(): void {
    this.#waiting += 1;
    clearTimeout(this.#lingering);
    this.#onSecondReader?.();
  }

  #leave(): void {
    this.#waiting -= 1;
    this.#endUnread();
  }

  #endUnread(): void {
    if (this.#isOver || this.#waiting > 0) return;
    const { lingerMs, abort } = this.#options;
    const milliseconds = lingerMs(this.#arrived, this.#writer.isWriting);
    if (milliseconds === 0) abort();
    else if (milliseconds < Number.POSITIVE_INFINITY) {
      this.#lingering = setTimeout(abort, milliseconds).unref();
    }
  }

  /** For a reader that fell behind: from the cache once all is there, or from elsewhere where it will not be. */
  async *#remaining(digest: string | undefined, start: number): AsyncGenerator<Buffer> {
    const { cache, rest } = this.#options;
    const opening = digest === undefined ? undefined : cache?.open(digest);
    const reader = await (rest === undefined ? opening : opening?.catch(() => undefined));
    if (reader === undefined) {
      if (rest === undefined) throw new Error('the content left the cache before it was read');
      yield* await rest(start);
      return;
    }
    try {
      for (let position = start; position < reader.size; ) {
        const piece = Buffer.allocUnsafeSlow(Math.min(slowPiece, reader.size - position));
        const count = await reader.read(piece, position);
        if (count === 0) throw new Error('a cached file is cut short');
        position += count;
        yield piece.subarray(0, count);
      }
    } finally {
      await reader.close();
    }
  }

  #newWriter(): CacheWriter {
    const { cache, cacheFailed, rest } = this.#options;
    return new CacheWriter(cache, (error) => {
      if (rest !== undefined) this.#notCached.resolve(undefined);
      cacheFailed(error);
    });
  }

  async #run(): Promise<string> {
    const { first, again, done, failure = plainFailure } = this.#options;
    for (let attempt = first; ; ) {
      try {
        const digest = await this.#attempt(attempt);
        this.#end(undefined);
        return digest;
      } catch (error) {
        await this.#writer.abort();
        const isWrong = error instanceof WrongBytes;
        try {
          await done(
            isWrong ? { kind: 'wrong', digest: error.digest, size: this.#arrived } : { kind: 'broken' },
          );
          const other = isWrong && this.#given === 0 ? await again?.() : undefined;
          if (other === undefined) throw isWrong ? failure(error.message) : error;
          attempt = other;
        } catch (reason) {
          this.#end(reason);
          throw reason;
        }
        this.#writer = this.#newWriter();
      }
    }
  }

  /** The digest of the whole, all of it given to readers; throws where it was wrong or broke off. */
  async #attempt({ body: first, check, resume }: DownloadAttempt): Promise<string> {
    const { size = this.#options.maxSize, done, failure = plainFailure } = this.#options;
    const writer = this.#writer;
    const hash = createHash('sha256');
    const held: Buffer[] = [];
    this.#arrived = 0;
    await writer.open();
    for (let body: AsyncIterable<Buffer> | undefined = first; body !== undefined; ) {
      try {
        for await (const piece of body) {
          if (piece.length === 0) continue;
          this.#arrived += piece.length;
          if (size !== undefined && this.#arrived > size) {
            throw new WrongBytes('a source sends more than there is');
          }
          hash.update(piece);
          check.update(piece);
          await writer.write(piece);
          if (check.holdsAll !== true) await this.#giveAll(held);
          held.push(piece);
        }
        if (this.size !== undefined && this.#arrived < this.size) throw failure('a source stopped early');
        body = undefined;
      } catch (error) {
        if (error instanceof WrongBytes) throw error;
        // A connection that ends with the last byte leaves nothing to ask others for.
        body = this.#arrived === this.size ? undefined : await resume(this.#arrived, error);
      }
    }
    const digest = hash.digest('hex');
    if (!(await check.finish(digest, this.#arrived))) {
      throw new WrongBytes('the bytes are not those of the id', digest);
    }
    await writer.commit();
    await done({ kind: 'proven', digest, size: this.#arrived });
    await this.#giveAll(held);
    return digest;
  }

  async #giveAll(held: Buffer[]): Promise<void> {
    for (let piece = held.shift(); piece !== undefined; piece = held.shift()) await this.#give(piece);
  }

  /** Whether more than one reader can have it: from the cache, or each from elsewhere. */
  get #isForMany(): boolean {
    return this.#writer.isWriting || this.#options.rest !== undefined;
  }

  async #give(piece: Buffer): Promise<void> {
    const { maxLead } = this.#options;
    this.#given += piece.length;
    // Content for one reader: once that is there, nobody else needs the first bytes.
    if (!this.#isForMany && this.#readers.size > 0) this.#firstBytes.drop();
    else this.#firstBytes.add(piece, this.#isForMany);
    for (const reader of this.#readers) reader.give(piece);
    for (const reader of this.#readers) {
      const isAlone = this.#waiting === 1 || !this.#isForMany;
      if (isAlone && reader.lag > maxLead) await this.#waitFor(reader);
      if (reader.lag <= maxLag) continue;
      reader.letGo();
      this.#readers.delete(reader);
    }
  }

  /** Until the reader has caught up, or somebody else would have to wait for it. */
  async #waitFor(reader: LiveReader): Promise<void> {
    const caughtUp = reader.caughtUp(this.#options.maxLead / 2);
    if (!this.#isForMany) return await caughtUp;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onSecondReader = resolve;
    await Promise.race([caughtUp, promise]);
    this.#onSecondReader = undefined;
  }

  #end(error: unknown): void {
    this.#isOver = true;
    clearTimeout(this.#lingering);
    for (const reader of this.#readers) {
      // A reader that is far behind reads on from the cache: what it has not taken need not be in memory.
      const isBehind = this.#writer.isWriting && reader.lag > this.#options.maxLead;
      if (error === undefined && isBehind) reader.letGo();
      else reader.end(error);
    }
    // A reader that comes now finds everything in the cache, or nothing.
    if (error === undefined && !this.#isForMany) this.#firstBytes.stopCounting();
    else this.#firstBytes.drop();
  }
}

const plainFailure = (reason: string): Error => new Error(reason);

/** Bytes that all downloads of the process together keep for readers that come a little late. */
export const firstBytesLimit = 128 * 1024 * 1024;
let firstBytesKept = 0;

/**
 * The first bytes of a download, for readers that come a little late. Beyond the limit for all downloads, late readers
 * wait for the whole and read it from the cache.
 */
class FirstBytes {
  /** Everything so far; undefined once that is too much to keep. */
  pieces: readonly Buffer[] | undefined;
  /** What of it counts against the limit for all. */
  bytes = 0;
  readonly #pieces: Buffer[] = [];
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.pieces = this.#pieces;
  }

  /** Another piece; `isElsewhere` says whether late readers can have it another way. */
  add(piece: Buffer, isElsewhere: boolean): void {
    if (this.pieces === undefined) return;
    this.#pieces.push(piece);
    this.bytes += piece.length;
    firstBytesKept += piece.length;
    if (this.bytes > this.#maxBytes || (isElsewhere && firstBytesKept > firstBytesLimit)) this.drop();
  }

  drop(): void {
    this.pieces = undefined;
    this.#pieces.length = 0;
    this.stopCounting();
  }

  /** The pieces are all there is, and stay for whoever opened the content. */
  stopCounting(): void {
    firstBytesKept -= this.bytes;
    this.bytes = 0;
  }
}
