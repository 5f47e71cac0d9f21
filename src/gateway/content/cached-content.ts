/** Content that is in the cache: on disk, and in memory where it is small and asked for. */
import { LRUCache } from 'lru-cache';
import { openCached } from '../../delivery/cache.ts';
import type { Logger } from '../../kernel/log.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { BlockCache } from './block-cache.ts';
import type { ContentMetrics } from './metrics.ts';
import { type Described, fromCache, type OpenedContent } from './opened.ts';

export interface CachedContentOptions {
  readonly cache: BlobStore;
  readonly metrics: ContentMetrics;
  readonly log: Logger;
  /** Removes the copy that is shared. */
  unshare?(digest: string): Promise<void>;
}

/** Content up to this size is kept in memory when it is read from the cache, up to so many bytes in all. */
const smallBytes = 32 * 1024;
const smallBudget = 12 * 1024 * 1024;
/** A cache that fails is warned of this often. */
const warnEveryMs = 10_000;

export class CachedContent {
  readonly #options: CachedContentOptions;
  /** By hash: what was sound when it was read stays so. */
  readonly #small = new LRUCache<string, Buffer>({
    maxSize: smallBudget,
    sizeCalculation: (bytes) => bytes.length + 256,
  });
  #quietUntil = 0;

  /** Small parts of what is in the cache. */
  readonly blocks = new BlockCache();

  constructor(options: CachedContentOptions) {
    this.#options = options;
  }

  /** Removes the copy of content with that hash, in memory and on disk. */
  async drop(hash: string): Promise<void> {
    this.#small.delete(hash);
    this.blocks.clear();
    const digest = Buffer.from(hash, 'base64url').toString('hex');
    await this.#options.cache.delete(digest);
    await this.#options.unshare?.(digest);
  }

  /** What is in the cache, ready to be sent; undefined when it must be fetched. */
  async open(described: Described): Promise<OpenedContent | undefined> {
    const { hash, size } = described;
    if (size === 0) return fromCache(described, { bytes: Buffer.alloc(0) });
    if (hash === undefined) return undefined;
    const kept = this.#small.get(hash);
    if (kept !== undefined) return fromCache(described, { bytes: kept });
    const digest = Buffer.from(hash, 'base64url').toString('hex');
    const found = await openCached(this.#options.cache, digest, size, smallBytes).catch((error: unknown) =>
      this.failed(error),
    );
    if (found === undefined) return undefined;
    if ('bytes' in found) this.#small.set(hash, found.bytes);
    return fromCache(described, found);
  }

  /** Reads go on without the cache; an operator hears of it, though not at every read. */
  failed(error: unknown): undefined {
    const { metrics, log } = this.#options;
    metrics.cacheFailures.inc();
    const now = performance.now();
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + warnEveryMs;
    log.warn({ err: error }, 'the content cache fails: content is served without it');
  }
}
