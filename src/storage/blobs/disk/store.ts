/**
 * Blobs as files: `<folder>/ab/cd/<digest>`, written under `<folder>/tmp` and renamed when complete.
 *
 * What is under a digest's name was synced before it got the name, and the name's folder was synced before
 * the commit resolved. A full disk refuses the blob, leaves nothing of it, and the store works on.
 */
import type { Stats } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { HashThreads } from '../../../kernel/hashing/hash-threads.ts';
import type { Steps } from '../../pace.ts';
import type { Scrubbable } from '../../scrub.ts';
import {
  assertDigest,
  BlobDamaged,
  type BlobDigest,
  BlobMissing,
  type BlobReader,
  type BlobStore,
  type BlobWriter,
  digestPath,
  isDigest,
} from '../blobs.ts';
import { putThrough } from '../writer-steps.ts';
import { type Files, isMissing, files as realFiles, unavailable } from './files.ts';
import { Folders } from './folders.ts';
import { Proofs } from './proofs.ts';
import { Descriptors, DiskBlobReader, type OnDamaged, type ReaderParts } from './reader.ts';
import { removeLeftovers } from './temporaries.ts';
import { DiskBlobWriter, type WriterTarget } from './writer.ts';

export interface DiskStoreOptions {
  readonly folder: string;
  /** False for a cache, which may lose on a power failure what it can fetch again. Default true. */
  readonly durable?: boolean;
  /** Descriptors kept open for the next reader. */
  readonly keptDescriptors?: number;
  /** Files whose stamp is remembered. Default 250,000, which takes some 60 MB. */
  readonly maxStamps?: number;
  readonly files?: Files;
}

const descriptorLifeMs = 5_000;
const leaveThere: OnDamaged = async () => {};

export class DiskBlobStore implements BlobStore {
  readonly #folder: string;
  readonly #files: Files;
  readonly #folders: Folders;
  readonly #descriptors: Descriptors;
  readonly #proofs: Proofs;
  readonly #readerParts: ReaderParts;
  readonly #target: WriterTarget;
  readonly #hashes = new HashThreads('sha256', availableParallelism());

  private constructor(options: DiskStoreOptions) {
    const { folder, durable = true, keptDescriptors = 256, maxStamps = 250_000, files = realFiles } = options;
    this.#folder = folder;
    this.#files = files;
    this.#folders = new Folders(folder, files, durable);
    this.#descriptors = new Descriptors(files, keptDescriptors, descriptorLifeMs);
    this.#proofs = new Proofs({ files, trustsUnseen: durable, maxEntries: maxStamps });
    this.#readerParts = { descriptors: this.#descriptors, proofs: this.#proofs, files };
    this.#target = {
      files,
      durable,
      temporaries: join(folder, 'tmp'),
      has: (digest, size) => this.#has(digest, size),
      prepare: (digest) => this.#folders.make(dirname(this.path(digest))),
      publish: (temporary, digest, descriptor) => this.#publish(temporary, digest, descriptor),
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

  get scrubbed(): Scrubbable {
    return this;
  }

  async writer(expected?: number): Promise<BlobWriter> {
    return new DiskBlobWriter(this.#target, { hash: this.#hashes.begin(expected) });
  }

  put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ digest: BlobDigest; size: number }> {
    return putThrough(new DiskBlobWriter(this.#target), bytes);
  }

  /** A writer that beyond `maxSize` goes on hashing and stores nothing. */
  limitedWriter(maxSize: number): BlobWriter {
    return new DiskBlobWriter(this.#target, { maxSize });
  }

  /**
   * Throws `BlobDamaged` for a file that was changed and has other bytes than its name says, as its reader does later.
   * The file stays where it is, unless `onDamaged`, which is called before, removes it.
   */
  async open(digest: BlobDigest, onDamaged: OnDamaged = leaveThere): Promise<BlobReader | undefined> {
    try {
      const acquired =
        this.#descriptors.acquireKept(digest) ?? (await this.#descriptors.open(digest, this.path(digest)));
      if (acquired === undefined) return undefined;
      const { shared, now } = acquired;
      try {
        const checked = this.#proofs.check(digest, shared.descriptor, false, now);
        const stamp = checked instanceof Promise ? await checked : checked;
        return new DiskBlobReader(shared, stamp, this.#readerParts, onDamaged);
      } catch (error) {
        await this.#descriptors.release(shared);
        if (error instanceof BlobDamaged) await onDamaged(digest);
        throw error;
      }
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** With what is known of files and their stamps left aside: three calls of the system. */
  async load(digest: BlobDigest, target: Uint8Array): Promise<void> {
    let descriptor: number;
    try {
      descriptor = await this.#files.open(this.path(digest), 'r');
    } catch (error) {
      throw isMissing(error) ? new BlobMissing(digest) : unavailable(error);
    }
    try {
      const size = target.length;
      if (this.#files.fstatNow(descriptor).size !== size) throw new BlobDamaged(digest);
      for (let read = 0; read < size; ) {
        const count = await this.#files.read(descriptor, target, read, size - read, read);
        if (count === 0) throw new BlobDamaged(digest);
        read += count;
      }
    } catch (error) {
      throw unavailable(error);
    } finally {
      await this.#files.close(descriptor);
    }
  }

  /** Hashes a blob whatever is known of it, step by step; undefined where it is not there. */
  async inspect(digest: BlobDigest, steps: Steps): Promise<{ size: number; isSound: boolean } | undefined> {
    let descriptor: number;
    try {
      descriptor = await steps(() => this.#files.open(this.path(digest), 'r'));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unavailable(error);
    }
    try {
      const { stamp, isSound } = await this.#proofs.inspect(digest, descriptor, steps);
      return { size: stamp.size, isSound };
    } finally {
      await this.#files.close(descriptor);
    }
  }

  async size(digest: BlobDigest): Promise<number | undefined> {
    return (await this.#stat(digest))?.size;
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
      this.#forget(digest);
    }
  }

  /** Deletes a file that was found damaged, unless it was replaced since. Of those who find it together one does. */
  async deleteDamaged(digest: BlobDigest): Promise<boolean> {
    const found = await this.#stat(digest);
    return found !== undefined && this.#proofs.isDoubtful(digest, found) && (await this.delete(digest));
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

  /** Every blob whose name comes after that one, in the order of names. */
  async *namesAfter(after: string, steps: Steps): AsyncGenerator<BlobDigest> {
    const foldersFrom = async (path: string, from: string): Promise<string[]> =>
      (await steps(() => this.#names(path)))
        .filter((name) => /^[0-9a-f]{2}$/.test(name) && name >= from)
        .sort();
    for (const first of await foldersFrom(this.#folder, after.slice(0, 2))) {
      const from = after.startsWith(first) ? after.slice(2, 4) : '';
      for (const second of await foldersFrom(join(this.#folder, first), from)) {
        const names = await steps(() => this.#names(join(this.#folder, first, second)));
        yield* names.filter((name) => isDigest(name) && name > after).sort();
      }
    }
  }

  async close(): Promise<void> {
    this.#descriptors.close();
    await this.#hashes.close();
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

  async #stat(digest: BlobDigest): Promise<Stats | undefined> {
    try {
      return await this.#files.stat(this.path(digest));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw unavailable(error);
    }
  }

  async #has(digest: BlobDigest, size: number): Promise<boolean> {
    // Files that were never synced may be damaged: writing them again is cheaper than proving them.
    if (!this.#target.durable) return false;
    const found = await this.#stat(digest);
    // What was changed is written again too: the bytes that come now are right.
    if (found?.size !== size || this.#proofs.isDoubtful(digest, found)) return false;
    // Its writer may not have synced its name yet.
    await this.#folders.sync(dirname(this.path(digest)));
    return true;
  }

  #forget(digest: BlobDigest): void {
    this.#descriptors.forget(digest);
    this.#proofs.forget(digest);
  }

  async #publish(temporary: string, digest: BlobDigest, descriptor: number): Promise<void> {
    const path = this.path(digest);
    await this.#files.rename(temporary, path);
    this.#forget(digest);
    // After the rename, which changes the stamp.
    this.#proofs.written(digest, descriptor);
    await this.#folders.sync(dirname(path));
  }
}
