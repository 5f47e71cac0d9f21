/**
 * A folder of blobs that may hold so many bytes and no more. Same interface as any blob store, but what was
 * put may be gone at any time: an absent blob is fetched again from where it came.
 *
 * Nothing is synced, so that a power failure may leave files that are cut or empty. A file that was there
 * before this process is therefore compared with its digest when it is first opened; a damaged one is
 * removed, reported and absent, never served.
 *
 * After a restart the folder is scanned in the background. A blob that the index does not know is looked for
 * on disk all the same, so that processes may share a folder; each counts what it knows against its own
 * budget, so that `maxBytes` is then a process's share.
 *
 * A blob that leaves while it is read stays readable to those who have it open.
 */
import { createHash } from 'node:crypto';
import type { BlobDigest, BlobReader, BlobStore, BlobWriter } from '../blobs.ts';
import type { DiskBlobStore } from '../disk/store.ts';
import { putThrough } from '../writer-steps.ts';
import { Eviction, type Kept } from './eviction.ts';

export interface BlobCacheOptions {
  readonly maxBytes: number;
  /** Blobs that may be kept; the index in memory takes some 250 bytes for each. Default 250,000. */
  readonly maxEntries?: number;
  /** A larger blob is hashed and not kept. Default: half of `maxBytes`. */
  readonly maxBlobBytes?: number;
  /** Compare files of an earlier process with their digest when first opened. Default true. */
  readonly verifyOnOpen?: boolean;
  readonly onDamaged?: (digest: BlobDigest) => void;
}

export interface BlobCacheStatistics {
  readonly bytes: number;
  readonly entries: number;
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
}

export interface BlobCache extends BlobStore {
  /** Resolves when the files of earlier processes are all known. */
  readonly scanned: Promise<void>;
  statistics(): BlobCacheStatistics;
}

export function createBlobCache(store: DiskBlobStore, options: BlobCacheOptions): BlobCache {
  return new DiskBlobCache(store, options);
}

class DiskBlobCache implements BlobCache {
  readonly scanned: Promise<void>;
  readonly #store: DiskBlobStore;
  readonly #eviction: Eviction;
  readonly #maxBlobBytes: number;
  readonly #verifyOnOpen: boolean;
  readonly #onDamaged: (digest: BlobDigest) => void;
  readonly #verifying = new Map<BlobDigest, Promise<boolean>>();
  #closed = false;
  #hits = 0;
  #misses = 0;
  #evictions = 0;

  constructor(store: DiskBlobStore, options: BlobCacheOptions) {
    const { maxBytes, maxEntries = 250_000, maxBlobBytes = Math.floor(maxBytes / 2) } = options;
    this.#store = store;
    this.#eviction = new Eviction(maxBytes, maxEntries);
    this.#maxBlobBytes = Math.min(maxBlobBytes, maxBytes);
    this.#verifyOnOpen = options.verifyOnOpen ?? true;
    this.#onDamaged = options.onDamaged ?? (() => {});
    this.scanned = this.#scan();
    this.scanned.catch(() => {}); // blobs that a failed scan did not find are found when asked for
  }

  async writer(): Promise<BlobWriter> {
    const inner = this.#store.limitedWriter(this.#maxBlobBytes);
    return {
      write: (bytes) => inner.write(bytes),
      abort: () => inner.abort(),
      commit: async (named) => {
        const written = await inner.commit(named);
        if (written.size <= this.#maxBlobBytes) await this.#keep(written.digest, written.size, true);
        return written;
      },
    };
  }

  async put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ digest: BlobDigest; size: number }> {
    return putThrough(await this.writer(), bytes);
  }

  async open(digest: BlobDigest): Promise<BlobReader | undefined> {
    const reader = await this.#sound(digest, this.#eviction.use(digest));
    if (reader === undefined) this.#misses += 1;
    else this.#hits += 1;
    return reader;
  }

  size(digest: BlobDigest): Promise<number | undefined> {
    return this.#store.size(digest);
  }

  async delete(digest: BlobDigest): Promise<boolean> {
    const deleted = await this.#store.delete(digest);
    this.#eviction.remove(digest);
    return deleted;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.scanned.catch(() => {});
    await this.#store.close();
  }

  statistics(): BlobCacheStatistics {
    return {
      bytes: this.#eviction.bytes,
      entries: this.#eviction.count,
      hits: this.#hits,
      misses: this.#misses,
      evictions: this.#evictions,
    };
  }

  /** Opens a blob whose bytes are known to be right. */
  async #sound(digest: BlobDigest, known: Kept | undefined): Promise<BlobReader | undefined> {
    const reader = await this.#store.open(digest);
    if (reader === undefined) {
      this.#eviction.remove(digest);
      return undefined;
    }
    if (known?.verified === true && reader.size === known.size) return reader;
    if (!(await this.#verify(digest, reader, known))) {
      await reader.close();
      return undefined;
    }
    if (known === undefined) await this.#keep(digest, reader.size, true);
    else known.verified = true;
    return reader;
  }

  /** False when the file is damaged; it is then removed. Readers that come together share the work. */
  #verify(digest: BlobDigest, reader: BlobReader, known: Kept | undefined): Promise<boolean> {
    const running = this.#verifying.get(digest);
    if (running !== undefined) return running;
    const verifying = this.#compare(digest, reader, known).finally(() => this.#verifying.delete(digest));
    this.#verifying.set(digest, verifying);
    return verifying;
  }

  async #compare(digest: BlobDigest, reader: BlobReader, known: Kept | undefined): Promise<boolean> {
    let sound = known === undefined || known.size === reader.size;
    if (sound && this.#verifyOnOpen) {
      const hash = createHash('sha256');
      for await (const piece of reader.stream()) hash.update(piece);
      sound = hash.digest('hex') === digest;
    }
    if (!sound) {
      await this.delete(digest);
      this.#onDamaged(digest);
    }
    return sound;
  }

  async #keep(digest: BlobDigest, size: number, verified: boolean, proven = false): Promise<void> {
    const evicted = this.#eviction.add(digest, size, verified, proven);
    this.#evictions += evicted.length;
    for (const gone of evicted) await this.#store.delete(gone);
  }

  /** Takes in what earlier processes left, oldest first, so that the oldest go when it is too much. */
  async #scan(): Promise<void> {
    const found: { digest: BlobDigest; size: number; writtenAt: number }[] = [];
    for await (const file of this.#store.list()) {
      if (this.#closed) return;
      found.push(file);
    }
    found.sort((a, b) => a.writtenAt - b.writtenAt);
    for (const { digest, size } of found) {
      if (this.#closed) return;
      if (size > this.#maxBlobBytes) await this.#store.delete(digest);
      else await this.#keep(digest, size, !this.#verifyOnOpen, true);
    }
  }
}
