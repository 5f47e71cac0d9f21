/**
 * Reads blobs by position. Open descriptors are shared by readers and kept a little after the last of them closed:
 * opening a file costs two trips through the thread pool, which for a small hot blob is most of the work.
 *
 * A kept descriptor lives for seconds only, so that a blob which another process replaces is opened anew soon.
 */
import { BlobDamaged, type BlobDigest, type BlobReader, checkedRange } from '../blobs.ts';
import { type Files, isMissing, unavailable } from './files.ts';
import type { Proofs } from './proofs.ts';
import { isSameStamp, type Stamp } from './stamp.ts';

const pieceSize = 256 * 1024;

interface SharedDescriptor {
  readonly digest: BlobDigest;
  readonly descriptor: number;
  readonly openedAt: number;
  /** Of the file when it was last proven; undefined before. */
  stamp: Stamp | undefined;
  users: number;
  /** No longer to be handed out: closes with its last user. */
  retired: boolean;
}

/** To be given back by `release`. */
interface Acquired {
  readonly shared: SharedDescriptor;
  /** What the file system said of the file at that moment; undefined where it was not asked. */
  readonly now: Stamp | undefined;
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

  /** One that is open already. */
  acquireKept(digest: BlobDigest): Acquired | undefined {
    const kept = this.#kept.get(digest);
    if (kept === undefined) return undefined;
    this.#kept.delete(digest);
    const now = this.#files.fstatNow(kept.descriptor);
    if (now.nlink > 0 && performance.now() - kept.openedAt < this.#maxAgeMs) {
      this.#kept.set(digest, kept);
      kept.users += 1;
      return { shared: kept, now };
    }
    this.#retire(kept);
    return undefined;
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

  /** undefined when there is no such file. */
  async open(digest: BlobDigest, path: string): Promise<Acquired | undefined> {
    const forgotten = this.#forgotten;
    let descriptor: number;
    try {
      descriptor = await this.#files.open(path, 'r');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    const opened: SharedDescriptor = {
      digest,
      descriptor,
      openedAt: performance.now(),
      stamp: undefined,
      users: 1,
      retired: true,
    };
    // A blob deleted meanwhile, or opened by another reader as well, is not kept a second time.
    if (forgotten === this.#forgotten && !this.#kept.has(digest) && this.#maxKept > 0) {
      opened.retired = false;
      this.#kept.set(digest, opened);
      this.#trim();
    }
    return { shared: opened, now: undefined };
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

/** Called with the digest of a file that was found damaged. */
export type OnDamaged = (digest: BlobDigest) => Promise<void>;

export interface ReaderParts {
  readonly descriptors: Descriptors;
  readonly proofs: Proofs;
  readonly files: Files;
}

/**
 * Reads one blob. Deleting the blob meanwhile does not disturb it. Where the file was changed since it was proven, its
 * last bytes are not given out before it was hashed again.
 */
export class DiskBlobReader implements BlobReader {
  readonly digest: BlobDigest;
  readonly size: number;
  readonly #shared: SharedDescriptor;
  readonly #descriptors: Descriptors;
  readonly #proofs: Proofs;
  readonly #files: Files;
  readonly #onDamaged: OnDamaged;
  /** Reads under way: a descriptor closed under them would be some other file's. */
  #reading = 0;
  #closed = false;

  constructor(shared: SharedDescriptor, stamp: Stamp, parts: ReaderParts, onDamaged: OnDamaged) {
    this.digest = shared.digest;
    this.size = stamp.size;
    this.#shared = shared;
    shared.stamp = stamp;
    this.#descriptors = parts.descriptors;
    this.#proofs = parts.proofs;
    this.#files = parts.files;
    this.#onDamaged = onDamaged;
  }

  get fd(): number {
    return this.#shared.descriptor;
  }

  async *stream(start = 0, end = this.size): AsyncGenerator<Buffer> {
    checkedRange(start, end, this.size);
    let ahead = this.#piece(start, end);
    for (let position = start; position < end; ) {
      const piece = await ahead;
      position += piece.byteLength;
      // The next piece is read while the reader is busy with this one.
      ahead = this.#piece(position, end);
      ahead.catch(() => {});
      if (position >= end) await this.check();
      yield piece;
    }
    await ahead;
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    checkedRange(position, position, Number.MAX_SAFE_INTEGER);
    const wanted = Math.min(target.byteLength, this.size - position);
    if (wanted <= 0) return 0;
    const count = await this.#fill(target, wanted, position);
    const proving = this.check();
    if (proving !== undefined) await proving;
    return count;
  }

  check(): void | Promise<void> {
    if (this.#closed) return;
    const { stamp, descriptor } = this.#shared;
    const now = this.#files.fstatNow(descriptor);
    if (stamp === undefined || !isSameStamp(stamp, now)) return this.#proveAgain();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#reading === 0) await this.#descriptors.release(this.#shared);
  }

  async #proveAgain(): Promise<void> {
    this.#reading += 1;
    try {
      this.#shared.stamp = await this.#proofs.check(this.digest, this.#shared.descriptor, true);
    } catch (error) {
      if (error instanceof BlobDamaged) await this.#onDamaged(this.digest);
      throw unavailable(error);
    } finally {
      await this.#readEnded();
    }
  }

  async #piece(position: number, end: number): Promise<Buffer> {
    const wanted = Math.min(pieceSize, end - position);
    if (wanted <= 0) return Buffer.alloc(0);
    const piece = Buffer.allocUnsafeSlow(wanted);
    await this.#fill(piece, wanted, position);
    return piece;
  }

  async #fill(target: Uint8Array, wanted: number, position: number): Promise<number> {
    if (this.#closed) throw new Error('the blob reader is closed');
    const { descriptor } = this.#shared;
    this.#reading += 1;
    try {
      let done = 0;
      while (done < wanted) {
        const count = await this.#files.read(descriptor, target, done, wanted - done, position + done);
        // It is shorter than it was.
        if (count === 0) throw new BlobDamaged(this.digest);
        done += count;
      }
      return done;
    } catch (error) {
      throw unavailable(error);
    } finally {
      await this.#readEnded();
    }
  }

  /** The descriptor stays open until the last read is over. */
  #readEnded(): void | Promise<void> {
    this.#reading -= 1;
    if (this.#closed && this.#reading === 0) return this.#descriptors.release(this.#shared);
  }
}
