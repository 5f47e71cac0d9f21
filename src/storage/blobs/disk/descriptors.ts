/**
 * Open descriptors of blobs, shared by readers and kept a little after the last of them closed: opening a
 * file costs two trips through the thread pool, which for a small hot blob is most of the work.
 *
 * A kept descriptor lives for seconds only, so that a blob which another process deletes is gone soon.
 */
import type { BlobDigest } from '../blobs.ts';
import { type Files, isMissing } from './files.ts';

export interface SharedDescriptor {
  readonly digest: BlobDigest;
  readonly descriptor: number;
  readonly size: number;
  readonly openedAt: number;
  users: number;
  /** No longer to be handed out: closes with its last user. */
  retired: boolean;
}

export class Descriptors {
  readonly #files: Files;
  readonly #maxKept: number;
  readonly #maxAgeMs: number;
  /** In order of last use. */
  readonly #kept = new Map<BlobDigest, SharedDescriptor>();
  #forgotten = 0;

  constructor(files: Files, maxKept: number, maxAgeMs: number) {
    this.#files = files;
    this.#maxKept = maxKept;
    this.#maxAgeMs = maxAgeMs;
  }

  /** A descriptor to be given back by `release`; undefined when there is no such file. */
  async acquire(digest: BlobDigest, path: string): Promise<SharedDescriptor | undefined> {
    const kept = this.#kept.get(digest);
    if (kept !== undefined) {
      this.#kept.delete(digest);
      if (performance.now() - kept.openedAt < this.#maxAgeMs) {
        this.#kept.set(digest, kept);
        kept.users += 1;
        return kept;
      }
      this.#retire(kept);
    }
    return this.#open(digest, path);
  }

  async release(shared: SharedDescriptor): Promise<void> {
    shared.users -= 1;
    if (shared.users === 0 && shared.retired) await this.#files.close(shared.descriptor);
  }

  /** The blob is gone: its descriptor is given out no more; readers that have it keep it. */
  forget(digest: BlobDigest): void {
    this.#forgotten += 1;
    const kept = this.#kept.get(digest);
    if (kept !== undefined) this.#retire(kept);
  }

  close(): void {
    this.#forgotten += 1;
    for (const kept of this.#kept.values()) this.#retire(kept);
  }

  async #open(digest: BlobDigest, path: string): Promise<SharedDescriptor | undefined> {
    const forgotten = this.#forgotten;
    let descriptor: number;
    try {
      descriptor = await this.#files.open(path, 'r');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    let size: number;
    try {
      size = (await this.#files.fstat(descriptor)).size;
    } catch (error) {
      await this.#files.close(descriptor).catch(() => {});
      throw error;
    }
    const opened = { digest, descriptor, size, openedAt: performance.now(), users: 1, retired: true };
    // A blob deleted meanwhile, or opened by another reader as well, is not kept a second time.
    if (forgotten === this.#forgotten && !this.#kept.has(digest) && this.#maxKept > 0) {
      opened.retired = false;
      this.#kept.set(digest, opened);
      this.#trim();
    }
    return opened;
  }

  #trim(): void {
    for (const oldest of this.#kept.values()) {
      if (this.#kept.size <= this.#maxKept) return;
      this.#retire(oldest);
    }
  }

  #retire(shared: SharedDescriptor): void {
    if (this.#kept.get(shared.digest) === shared) this.#kept.delete(shared.digest);
    shared.retired = true;
    // Nothing can be done about a descriptor that does not close, and nothing depends on it.
    if (shared.users === 0) this.#files.close(shared.descriptor).catch(() => {});
  }
}
