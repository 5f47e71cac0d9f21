/**
 * A folder of blobs that may hold so many bytes and no more. Same interface as any blob store, but what was
 * put may be gone at any time: an absent blob is fetched again from where it came.
 *
 * Nothing is synced, so that a power failure may leave files that are cut or empty. A file that was there
 * before this process is therefore compared with its digest when it is first opened, and again whenever the file
 * system says that it was changed; a damaged one is removed, reported and absent, never served.
 *
 * After a restart the folder is scanned in the background. A blob that the index does not know is looked for
 * on disk all the same, so that processes may share a folder; each counts what it knows against its own
 * budget, so that `maxBytes` is then a process's share.
 *
 * A blob that leaves while it is read stays readable to those who have it open.
 */
import type { Scrubbable } from '../../scrub.ts';
import { BlobDamaged, type BlobDigest, type BlobReader, type BlobStore, type BlobWriter } from '../blobs.ts';
import type { DiskBlobStore } from '../disk/store.ts';
import { putThrough } from '../writer-steps.ts';
import { Eviction } from './eviction.ts';

export interface BlobCacheOptions {
  readonly maxBytes: number;
  /** Blobs that may be kept; the index in memory takes some 500 bytes for each. Default 250,000. */
  readonly maxEntries?: number;
  /** A larger blob is hashed and not kept. Default: half of `maxBytes`. */
  readonly maxBlobBytes?: number;
}

export interface BlobCacheStatistics {
  readonly bytes: number;
  readonly entries: number;
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
}

export interface BlobCache extends BlobStore {
  readonly scrubbed: Scrubbable;
  /** Resolves when the files of earlier processes are all known. */
  readonly scanned: Promise<void>;
  statistics(): BlobCacheStatistics;
  /** The listener is told of each file that was removed because its bytes were not those of its name. */
  onDamaged(listener: DamageListener): void;
}

type DamageListener = (digest: BlobDigest) => void;

export function createBlobCache(store: DiskBlobStore, options: BlobCacheOptions): BlobCache {
  return new DiskBlobCache(store, options);
}

class DiskBlobCache implements BlobCache {
  readonly scanned: Promise<void>;
  readonly #store: DiskBlobStore;
  readonly #eviction: Eviction;
  readonly #maxBlobBytes: number;
  readonly #damageListeners: DamageListener[] = [];
  #closed = false;
  #hits = 0;
  #misses = 0;
  #evictions = 0;

  constructor(store: DiskBlobStore, options: BlobCacheOptions) {
    const { maxBytes, maxEntries = 250_000, maxBlobBytes = Math.floor(maxBytes / 2) } = options;
    this.#store = store;
    this.#eviction = new Eviction(maxBytes, maxEntries);
    this.#maxBlobBytes = Math.min(maxBlobBytes, maxBytes);
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
        if (written.size <= this.#maxBlobBytes) await this.#keep(written.digest, written.size);
        return written;
      },
    };
  }

  async put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ digest: BlobDigest; size: number }> {
    return putThrough(await this.writer(), bytes);
  }

  async open(digest: BlobDigest): Promise<BlobReader | undefined> {
    const isKnown = this.#eviction.use(digest);
    const reader = await this.#store.open(digest, this.#removeDamaged).catch((error: unknown) => {
      if (!(error instanceof BlobDamaged)) throw error;
      return undefined;
    });
    if (reader === undefined) {
      this.#eviction.remove(digest);
      this.#misses += 1;
      return undefined;
    }
    if (!isKnown) await this.#keep(digest, reader.size);
    this.#hits += 1;
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

  /** That it was looked at does not keep a blob longer: nobody asked for it. */
  readonly scrubbed: Scrubbable = {
    namesAfter: (after, steps) => this.#store.namesAfter(after, steps),
    inspect: async (digest, steps) => {
      const found = await this.#store.inspect(digest, steps);
      if (found?.isSound === false) await this.#removeDamaged(digest);
      return found;
    },
  };

  onDamaged(listener: DamageListener): void {
    this.#damageListeners.push(listener);
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

  readonly #removeDamaged = async (digest: BlobDigest): Promise<void> => {
    if (!(await this.#store.deleteDamaged(digest))) return;
    this.#eviction.remove(digest);
    for (const listener of this.#damageListeners) listener(digest);
  };

  async #keep(digest: BlobDigest, size: number, proven = false): Promise<void> {
    const evicted = this.#eviction.add(digest, size, proven);
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
      else await this.#keep(digest, size, true);
    }
  }
}
