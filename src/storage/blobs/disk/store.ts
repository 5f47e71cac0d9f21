/**
 * Blobs as files: `<folder>/ab/cd/<digest>`, written under `<folder>/tmp` and renamed when complete.
 *
 * What is under a digest's name was synced before it got the name, and the name's folder was synced before
 * the commit resolved. A full disk refuses the blob, leaves nothing of it, and the store works on.
 */
import { dirname, join } from 'node:path';
import type { BlobDigest, BlobReader, BlobStore, BlobWriter } from '../blobs.ts';
import { assertDigest, digestPath, isDigest } from '../blobs.ts';
import { putThrough } from '../writer-steps.ts';
import { type Files, isMissing, files as realFiles, unavailable } from './files.ts';
import { Folders } from './folders.ts';
import { Descriptors, DiskBlobReader } from './reader.ts';
import { removeLeftovers } from './temporaries.ts';
import { DiskBlobWriter, type WriterTarget } from './writer.ts';

export interface DiskStoreOptions {
  readonly folder: string;
  /** False for a cache, which may lose on a power failure what it can fetch again. Default true. */
  readonly durable?: boolean;
  /** Descriptors kept open for the next reader. */
  readonly keptDescriptors?: number;
  readonly files?: Files;
}

const descriptorLifeMs = 5_000;

export class DiskBlobStore implements BlobStore {
  readonly #folder: string;
  readonly #files: Files;
  readonly #folders: Folders;
  readonly #descriptors: Descriptors;
  readonly #target: WriterTarget;

  private constructor(options: DiskStoreOptions) {
    const { folder, durable = true, keptDescriptors = 256, files = realFiles } = options;
    this.#folder = folder;
    this.#files = files;
    this.#folders = new Folders(folder, files, durable);
    this.#descriptors = new Descriptors(files, keptDescriptors, descriptorLifeMs);
    this.#target = {
      files,
      durable,
      temporaries: join(folder, 'tmp'),
      has: (digest, size) => this.#has(digest, size),
      prepare: (digest) => this.#folders.make(dirname(this.path(digest))),
      publish: (temporary, digest) => this.#publish(temporary, digest),
    };
  }

  static async open(options: DiskStoreOptions): Promise<DiskBlobStore> {
    const store = new DiskBlobStore(options);
    try {
      await store.#folders.make(store.#target.temporaries);
      await store.#folders.sync(store.#target.temporaries);
      await store.#folders.sync(dirname(options.folder));
      await removeLeftovers(store.#target.temporaries, store.#files, Date.now());
    } catch (error) {
      throw unavailable(error);
    }
    return store;
  }

  async writer(): Promise<BlobWriter> {
    return new DiskBlobWriter(this.#target);
  }

  put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ digest: BlobDigest; size: number }> {
    return putThrough(new DiskBlobWriter(this.#target), bytes);
  }

  /** A writer that beyond `maxSize` goes on hashing and stores nothing. */
  limitedWriter(maxSize: number): BlobWriter {
    return new DiskBlobWriter(this.#target, maxSize);
  }

  async open(digest: BlobDigest): Promise<BlobReader | undefined> {
    try {
      const shared = await this.#descriptors.acquire(digest, this.path(digest));
      return shared === undefined ? undefined : new DiskBlobReader(shared, this.#descriptors, this.#files);
    } catch (error) {
      throw unavailable(error);
    }
  }

  async size(digest: BlobDigest): Promise<number | undefined> {
    try {
      return (await this.#files.stat(this.path(digest))).size;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unavailable(error);
    }
  }

  async delete(digest: BlobDigest): Promise<boolean> {
    const path = this.path(digest);
    try {
      await this.#files.unlink(path);
      await this.#folders.sync(dirname(path));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw unavailable(error);
    } finally {
      this.#descriptors.forget(digest);
    }
  }

  /** Every blob, in no particular order. One that is deleted meanwhile may be missing. */
  async *list(): AsyncGenerator<{ digest: BlobDigest; size: number; writtenAt: number }> {
    const folders = async (path: string): Promise<string[]> =>
      (await this.#names(path)).filter((name) => /^[0-9a-f]{2}$/.test(name));
    for (const first of await folders(this.#folder)) {
      for (const second of await folders(join(this.#folder, first))) {
        const folder = join(this.#folder, first, second);
        const digests = (await this.#names(folder)).filter(isDigest);
        const stats = await Promise.all(
          digests.map((digest) => this.#files.stat(join(folder, digest)).catch(() => undefined)),
        );
        for (const [index, digest] of digests.entries()) {
          const stat = stats[index];
          if (stat !== undefined) yield { digest, size: stat.size, writtenAt: stat.mtimeMs };
        }
      }
    }
  }

  async close(): Promise<void> {
    this.#descriptors.close();
  }

  /** Where a blob is or would be. */
  path(digest: BlobDigest): string {
    assertDigest(digest);
    return join(this.#folder, digestPath(digest));
  }

  async #names(folder: string): Promise<string[]> {
    try {
      return await this.#files.readdir(folder);
    } catch (error) {
      if (isMissing(error)) return [];
      throw unavailable(error);
    }
  }

  async #has(digest: BlobDigest, size: number): Promise<boolean> {
    // Files that were never synced may be damaged: writing them again is cheaper than proving them.
    if (!this.#target.durable || (await this.size(digest)) !== size) return false;
    // Its writer may not have synced its name yet.
    await this.#folders.sync(dirname(this.path(digest)));
    return true;
  }

  async #publish(temporary: string, digest: BlobDigest): Promise<void> {
    const path = this.path(digest);
    await this.#files.rename(temporary, path);
    this.#descriptors.forget(digest);
    await this.#folders.sync(dirname(path));
  }
}
