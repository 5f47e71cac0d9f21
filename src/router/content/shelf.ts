/**
 * Where proven content is kept by its digest: the small and hot in memory, everything on disk. A disk that takes
 * nothing is left alone for a while; content is served all the same.
 */
import { LRUCache } from 'lru-cache';
import { joinPieces } from '../../delivery/streams.ts';
import type { Logger } from '../../kernel/log.ts';
import type { BlobReader } from '../../storage/blobs/blobs.ts';
import type { BlobCache } from '../../storage/blobs/cache/cache.ts';
import type { Known } from './known.ts';

export interface ShelfOptions {
  /** undefined: nothing is kept. */
  readonly cache: BlobCache | undefined;
  readonly maxItemBytes: number;
  readonly memoryBytes: number;
  readonly log: Logger;
}

const memoryItemLimit = 256 * 1024;
const pauseMs = 60_000;

export class Shelf {
  readonly #options: ShelfOptions;
  readonly #memory: LRUCache<string, Buffer> | undefined;
  readonly #keeping = new Set<Promise<unknown> | undefined>();
  #pausedUntil = 0;

  constructor(options: ShelfOptions) {
    this.#options = options;
    this.#memory =
      options.memoryBytes === 0
        ? undefined
        : new LRUCache({ maxSize: options.memoryBytes, sizeCalculation: (bytes) => bytes.length + 256 });
  }

  /** Whether the disk takes what is to be kept. */
  get usable(): boolean {
    return this.#options.cache === undefined || performance.now() >= this.#pausedUntil;
  }

  /** Small content that is in memory, without waiting. */
  atHand(digest: string): Buffer | undefined {
    return this.#memory?.get(digest);
  }

  /** What is on disk: small content as bytes, which are then in memory, larger content to be read. */
  async open({ digest, size }: Known): Promise<{ bytes: Buffer } | { reader: BlobReader } | undefined> {
    const reader = await this.#options.cache?.open(digest).catch(() => undefined);
    if (reader === undefined) return undefined;
    if (reader.size !== size) {
      await reader.close();
      return undefined;
    }
    if (size > memoryItemLimit || this.#memory === undefined) return { reader };
    const bytes = Buffer.allocUnsafeSlow(size);
    const count = await reader.read(bytes, 0).catch(() => -1);
    await reader.close();
    if (count !== size) return undefined;
    this.#memory.set(digest, bytes);
    return { bytes };
  }

  /** The disk, for content of this size; undefined where such content is not kept. */
  roomFor(size: number | undefined): BlobCache | undefined {
    const { cache, maxItemBytes } = this.#options;
    return size !== undefined && size <= maxItemBytes && this.usable ? cache : undefined;
  }

  /** Keeps content; the reader does not wait for the disk. */
  keep(digest: string, size: number, pieces: readonly Buffer[]): void {
    const room = this.roomFor(size);
    const inMemory = size <= memoryItemLimit && this.#memory !== undefined;
    if (room === undefined && !inMemory) return;
    const bytes = joinPieces(pieces);
    if (inMemory) this.#memory?.set(digest, bytes);
    const putting = room
      ?.put(bytes)
      .catch((error: unknown) => this.failed(error))
      .finally(() => this.#keeping.delete(putting));
    if (putting !== undefined) this.#keeping.add(putting);
  }

  /** True when it was there. */
  async remove(digest: string): Promise<boolean> {
    const inMemory = this.#memory?.delete(digest) ?? false;
    const onDisk = (await this.#options.cache?.delete(digest).catch(() => false)) ?? false;
    return inMemory || onDisk;
  }

  /** The disk could not be written. */
  failed(error: unknown): void {
    if (!this.usable) return;
    this.#pausedUntil = performance.now() + pauseMs;
    this.#options.log.warn(
      { err: error },
      'the content cache cannot be written: nothing is kept for a minute',
    );
  }

  /** Resolves when what is on its way to the disk is there. */
  async settled(): Promise<void> {
    await Promise.all(this.#keeping);
  }
}
