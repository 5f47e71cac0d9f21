/**
 * Where proven content is kept by its digest: the small and hot in memory, everything on disk. A disk that takes
 * nothing is left alone for a while; content is served all the same.
 */
import { LRUCache } from 'lru-cache';
import { openCached } from '../../delivery/cache.ts';
import { joinPieces } from '../../delivery/streams.ts';
import type { Logger } from '../../kernel/log.ts';
import type { BlobReader } from '../../storage/blobs/blobs.ts';
import type { BlobCache } from '../../storage/blobs/cache/cache.ts';
import type { ProvenContent } from './proven-store.ts';

export interface ContentCacheOptions {
  /** undefined: nothing is kept. */
  readonly disk: BlobCache | undefined;
  readonly maxItemBytes: number;
  readonly memoryBytes: number;
  readonly log: Logger;
}

const memoryItemLimit = 256 * 1024;
const pauseMs = 60_000;

export class ContentCache {
  readonly #options: ContentCacheOptions;
  readonly #memory: LRUCache<string, Buffer> | undefined;
  readonly #keeping = new Set<Promise<unknown> | undefined>();
  #pausedUntil = 0;

  constructor(options: ContentCacheOptions) {
    this.#options = options;
    this.#memory =
      options.memoryBytes === 0
        ? undefined
        : new LRUCache({ maxSize: options.memoryBytes, sizeCalculation: (bytes) => bytes.length + 256 });
  }

  /** Whether the disk takes what is to be kept. */
  get isWritable(): boolean {
    return this.#options.disk === undefined || performance.now() >= this.#pausedUntil;
  }

  /** Small content that is in memory, without waiting. */
  inMemory(digest: string): Buffer | undefined {
    return this.#memory?.get(digest);
  }

  /** What is on disk: small content as bytes, which are then in memory, larger content to be read. */
  async open({
    digest,
    size,
  }: ProvenContent): Promise<{ bytes: Buffer } | { reader: BlobReader } | undefined> {
    const { disk } = this.#options;
    if (disk === undefined) return undefined;
    const smallBytes = this.#memory === undefined ? -1 : memoryItemLimit;
    const found = await openCached(disk, digest, size, smallBytes).catch(() => undefined);
    if (found !== undefined && 'bytes' in found) this.#memory?.set(digest, found.bytes);
    return found;
  }

  /** The disk, for content of this size; undefined where such content is not kept. */
  diskFor(size: number | undefined): BlobCache | undefined {
    const { disk, maxItemBytes } = this.#options;
    return size !== undefined && size <= maxItemBytes && this.isWritable ? disk : undefined;
  }

  /** Keeps content; the reader does not wait for the disk. */
  keep(digest: string, size: number, pieces: readonly Buffer[]): void {
    const room = this.diskFor(size);
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
    const onDisk = (await this.#options.disk?.delete(digest).catch(() => false)) ?? false;
    return inMemory || onDisk;
  }

  /** The disk could not be written. */
  failed(error: unknown): void {
    if (!this.isWritable) return;
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
