/** Reading from and writing to a cache that may fail. */
import type { BlobReader, BlobStore, BlobWriter } from '../storage/blobs/blobs.ts';

/** Writes into a cache for as long as it takes what is written. A cache that fails is reported once and let be. */
export class CacheWriter {
  readonly #cache: BlobStore | undefined;
  readonly #onFailure: (error: unknown) => void;
  #writer: BlobWriter | undefined;
  hasFailed = false;

  constructor(cache: BlobStore | undefined, onFailure: (error: unknown) => void) {
    this.#cache = cache;
    this.#onFailure = onFailure;
  }

  /** Whether everything written so far is in the cache. */
  get isWriting(): boolean {
    return this.#writer !== undefined;
  }

  async open(): Promise<void> {
    await this.#attempt(async () => {
      this.#writer = await this.#cache?.writer();
    });
  }

  async write(piece: Buffer): Promise<void> {
    const writer = this.#writer;
    if (writer !== undefined) await this.#attempt(() => writer.write(piece));
  }

  /** For bytes that are right: wrong ones are kept under no name, not even their own. */
  async commit(): Promise<void> {
    const writer = this.#writer;
    if (writer !== undefined) await this.#attempt(() => writer.commit());
  }

  async abort(): Promise<void> {
    await this.#writer?.abort().catch(() => {});
  }

  /** A disk that is full or broken is no reason to stop serving. */
  async #attempt(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      // What it wrote so far is of no use.
      await this.abort();
      this.#writer = undefined;
      this.hasFailed = true;
      this.#onFailure(error);
    }
  }
}

/**
 * Content in the cache: as bytes where it is no larger than `smallBytes`, else to be read by whoever closes it.
 * undefined where it is not there, not of that size, or cut short.
 */
export async function openCached(
  cache: BlobStore,
  digest: string,
  size: number,
  smallBytes: number,
): Promise<{ readonly bytes: Buffer } | { readonly reader: BlobReader } | undefined> {
  const reader = await cache.open(digest);
  if (reader === undefined) return undefined;
  const isSound = reader.size === size;
  if (isSound && size > smallBytes) return { reader };
  try {
    const bytes = Buffer.allocUnsafeSlow(isSound ? size : 0);
    return isSound && (await reader.read(bytes, 0)) === size ? { bytes } : undefined;
  } finally {
    await reader.close();
  }
}
