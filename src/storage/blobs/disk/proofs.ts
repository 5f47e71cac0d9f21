/**
 * Which files have the bytes that their name says, known by the stamp that they had when that was found out. A file whose
 * stamp is another one is hashed again before a byte of it is given out; readers that come together share the work.
 *
 * Bounded: what is forgotten is found out again.
 */
import { createHash } from 'node:crypto';
import type { Steps } from '../../pace.ts';
import { BlobDamaged, type BlobDigest } from '../blobs.ts';
import { type Files, unavailable } from './files.ts';
import { isSameStamp, type Stamp, stampOf } from './stamp.ts';

const pieceSize = 256 * 1024;
/** A file that changes while it is hashed is hashed so often at most. */
const maxAttempts = 3;

interface Verdict {
  readonly stamp: Stamp;
  readonly isSound: boolean;
}

const atOnce: Steps = (step) => step();

export interface ProofsOptions {
  readonly files: Files;
  /** A file that was never looked at is taken to be right: it was synced before it got its name. */
  readonly trustsUnseen: boolean;
  readonly maxEntries: number;
}

export class Proofs {
  readonly #options: ProofsOptions;
  /** In the order in which they were found out. */
  readonly #verdicts = new Map<BlobDigest, Verdict>();
  readonly #proving = new Map<BlobDigest, Promise<Verdict>>();

  constructor(options: ProofsOptions) {
    this.#options = options;
  }

  /** The file was just written with these bytes. */
  written(digest: BlobDigest, descriptor: number): void {
    this.#note(digest, { stamp: stampOf(this.#options.files.fstatNow(descriptor)), isSound: true });
  }

  /** Whether the file of that name is known to be wrong, or has changed since it was proven. */
  isDoubtful(digest: BlobDigest, now: Stamp): boolean {
    const verdict = this.#verdicts.get(digest);
    return verdict !== undefined && !(verdict.isSound && isSameStamp(verdict.stamp, now));
  }

  forget(digest: BlobDigest): void {
    this.#verdicts.delete(digest);
  }

  /**
   * The stamp of an open file that is known to be right: at once, or when it was found out. `BlobDamaged` where it is
   * wrong. `hasChanged`: the file is not as it was, so that it is not trusted unseen. `now`: what the file system says.
   */
  check(
    digest: BlobDigest,
    descriptor: number,
    hasChanged = false,
    now: Stamp = this.#options.files.fstatNow(descriptor),
  ): Stamp | Promise<Stamp> {
    const verdict = this.#verdicts.get(digest);
    if (verdict === undefined && this.#options.trustsUnseen && !hasChanged) {
      const stamp = stampOf(now);
      this.#note(digest, { stamp, isSound: true });
      return stamp;
    }
    if (verdict === undefined || !isSameStamp(verdict.stamp, now)) return this.#prove(digest, descriptor);
    if (!verdict.isSound) throw new BlobDamaged(digest);
    return verdict.stamp;
  }

  /** Hashes the open file whatever is known of it. */
  async inspect(digest: BlobDigest, descriptor: number, steps: Steps = atOnce): Promise<Verdict> {
    const { files } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const stamp = stampOf(files.fstatNow(descriptor));
      const found = await this.#digestOf(descriptor, stamp.size, steps);
      const after = files.fstatNow(descriptor);
      const isStill = isSameStamp(stamp, after);
      if (!isStill && attempt < maxAttempts) continue;
      const verdict = { stamp, isSound: isStill && found === digest };
      // A file without a name is nobody's to find again.
      if (after.nlink > 0) this.#note(digest, verdict);
      return verdict;
    }
  }

  async #prove(digest: BlobDigest, descriptor: number): Promise<Stamp> {
    const running = this.#proving.get(digest);
    if (running !== undefined) {
      // It may have been another file of that name that they looked at.
      await running.catch(() => {});
      return this.check(digest, descriptor, true);
    }
    const proving = this.inspect(digest, descriptor).finally(() => this.#proving.delete(digest));
    this.#proving.set(digest, proving);
    const { stamp, isSound } = await proving;
    if (!isSound) throw new BlobDamaged(digest);
    return stamp;
  }

  async #digestOf(descriptor: number, size: number, steps: Steps): Promise<string | undefined> {
    const hash = createHash('sha256');
    const piece = Buffer.allocUnsafeSlow(Math.min(pieceSize, size + 1));
    try {
      // One byte further than its size: a file that has grown is another one.
      for (let position = 0; position <= size; ) {
        const count = await steps(async () => {
          const read = await this.#options.files.read(descriptor, piece, 0, piece.length, position);
          hash.update(piece.subarray(0, read));
          return read;
        });
        position += count;
        if (count === 0 || (position === size && count < piece.length)) return hash.digest('hex');
      }
      return undefined;
    } catch (error) {
      throw unavailable(error);
    }
  }

  #note(digest: BlobDigest, verdict: Verdict): void {
    this.#verdicts.delete(digest);
    this.#verdicts.set(digest, verdict);
    if (this.#verdicts.size <= this.#options.maxEntries) return;
    const [oldest] = this.#verdicts.keys();
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }
}
