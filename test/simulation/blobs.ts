/** A store of blobs that the processes of an installation share, behind the product's own interface. It may lose and spoil what it holds. */
import { hash } from 'node:crypto';
import {
  assertDigest,
  type BlobDigest,
  type BlobReader,
  type BlobStore,
  BlobStoreUnavailable,
  type BlobWriter,
  checkedRange,
} from '../../src/storage/blobs/blobs.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { currentLife, type Life } from './process.ts';
import type { World } from './world.ts';

export class SimulatedBlobs {
  /** The store cannot be reached. */
  isDown = false;
  /** Milliseconds of one question, at most. */
  slowest = 10;
  readonly #blobs = new Map<BlobDigest, Buffer>();
  /** The store says that these are not there, so many times more. */
  readonly #hidden = new Map<BlobDigest, number>();
  /** Somebody has looked for these in vain since they were stored. */
  readonly #missed = new Set<BlobDigest>();
  /** Bytes that are kept are never written to: a blob that changes gets others. */
  readonly #hashed = new WeakMap<Buffer, BlobDigest>();
  readonly #random: SeededRandom;

  constructor(world: World) {
    this.#random = world.random('blobs');
  }

  /** Those that can be seen, the oldest first. */
  get digests(): readonly BlobDigest[] {
    return [...this.#blobs.keys()].filter((digest) => !this.#hidden.has(digest));
  }

  /** Of those, the ones that nobody has looked for in vain: looks that find nothing add up to a loss. */
  get neverMissed(): readonly BlobDigest[] {
    return this.digests.filter((digest) => !this.#missed.has(digest));
  }

  get count(): number {
    return this.#blobs.size;
  }

  /** The bytes change or the end is cut off: the medium rots, a write was torn. */
  spoil(digest: BlobDigest, how: 'flip' | 'tear'): void {
    const bytes = this.#blobs.get(digest);
    if (bytes === undefined || bytes.length === 0) return;
    const spoiled = Buffer.from(how === 'tear' ? bytes.subarray(0, this.#random.below(bytes.length)) : bytes);
    if (how === 'flip') {
      const at = this.#random.below(spoiled.length);
      spoiled[at] = (spoiled[at] ?? 0) ^ (1 << this.#random.below(8));
    }
    this.#blobs.set(digest, spoiled);
  }

  /** The store says that it is not there, to so many who look for it, or until it is shown again. */
  hide(digest: BlobDigest, looks = Number.POSITIVE_INFINITY): void {
    this.#hidden.set(digest, looks);
  }

  show(digest: BlobDigest): void {
    this.#hidden.delete(digest);
  }

  lose(digest: BlobDigest): void {
    this.#blobs.delete(digest);
  }

  /**
   * Whether what a reader finds is still what it is named by. It is read piece by piece, as others read it; the bytes of
   * one state of a blob are hashed once.
   */
  async isSound({ digest, size }: BlobReader): Promise<boolean> {
    const life = currentLife();
    const states: Buffer[] = [];
    for (let at = 0; at < size; at += pieceBytes) {
      const isThere = await this.#arrive(life).then(
        () => true,
        () => false,
      );
      const bytes = isThere ? this.#seen(digest) : undefined;
      if (bytes === undefined) return false;
      states.push(bytes);
    }
    const [first = Buffer.alloc(0)] = states;
    if (first.length === size && states.every((one) => one === first))
      return this.#digestOf(first) === digest;
    const pieces = states.map((bytes, index) =>
      bytes.subarray(index * pieceBytes, Math.min(size, (index + 1) * pieceBytes)),
    );
    return digestOf(Buffer.concat(pieces)) === digest;
  }

  #digestOf(bytes: Buffer): BlobDigest {
    let digest = this.#hashed.get(bytes);
    if (digest === undefined) {
      digest = digestOf(bytes);
      this.#hashed.set(bytes, digest);
    }
    return digest;
  }

  /** The store as the code of the running process sees it. */
  open(): BlobStore {
    const life = currentLife();
    const put: BlobStore['put'] = async (bytes) => {
      const writer = this.#writer(life);
      if (bytes instanceof Uint8Array) await writer.write(bytes);
      else for await (const piece of bytes) await writer.write(piece);
      return writer.commit();
    };
    return {
      writer: async () => this.#writer(life),
      put,
      open: async (digest) => {
        assertDigest(digest);
        await this.#arrive(life);
        const bytes = this.#looked(digest);
        return bytes && this.#reader(life, digest, bytes.length);
      },
      size: async (digest) => {
        assertDigest(digest);
        await this.#arrive(life);
        return this.#looked(digest)?.length;
      },
      delete: async (digest) => {
        assertDigest(digest);
        await this.#arrive(life);
        return this.#blobs.delete(digest);
      },
      close: async () => {},
    };
  }

  #seen(digest: BlobDigest): Buffer | undefined {
    return this.#hidden.has(digest) ? undefined : this.#blobs.get(digest);
  }

  #looked(digest: BlobDigest): Buffer | undefined {
    const bytes = this.#seen(digest);
    const looks = this.#hidden.get(digest);
    if (looks !== undefined) this.#missed.add(digest);
    if (looks !== undefined && looks > 1) this.#hidden.set(digest, looks - 1);
    else this.#hidden.delete(digest);
    return bytes;
  }

  async #arrive(life: Life): Promise<void> {
    await life.wait(0.05 + this.slowest * this.#random.fraction() ** 4);
    if (this.isDown) throw new BlobStoreUnavailable('the store is away');
  }

  #writer(life: Life): BlobWriter {
    const pieces: Buffer[] = [];
    let isOver = false;
    return {
      write: async (bytes) => {
        if (isOver) throw new Error('the writer is closed');
        // The caller may use the memory again.
        pieces.push(Buffer.from(bytes));
        await this.#arrive(life);
      },
      commit: async (named) => {
        if (isOver) throw new Error('the writer is closed');
        isOver = true;
        const bytes = Buffer.concat(pieces);
        const digest = digestOf(bytes);
        await named?.(digest);
        await this.#arrive(life);
        this.#blobs.set(digest, bytes);
        this.#missed.delete(digest);
        await life.wait(0.1);
        return { digest, size: bytes.length };
      },
      abort: async () => {
        isOver = true;
      },
    };
  }

  #reader(life: Life, digest: BlobDigest, size: number): BlobReader {
    const bytesNow = async (): Promise<Buffer> => {
      await this.#arrive(life);
      const bytes = this.#seen(digest);
      if (bytes === undefined) throw new BlobStoreUnavailable('the blob went away while it was read');
      return bytes;
    };
    return {
      digest,
      size,
      fd: undefined,
      async *stream(start = 0, end = size) {
        checkedRange(start, end, size);
        for (let at = start; at < end; at += pieceBytes) {
          yield Buffer.from((await bytesNow()).subarray(at, Math.min(end, at + pieceBytes)));
        }
      },
      read: async (target, position) => (await bytesNow()).copy(target, 0, position),
      check() {},
      close: async () => {},
    };
  }
}

const pieceBytes = 65_536;

const digestOf = (bytes: Buffer): BlobDigest => hash('sha256', bytes, 'hex');
