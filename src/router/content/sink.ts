/** Where the bytes of a download go beside its readers: through a hash, and into the cache as long as that takes them. */
import { createHash, type Hash } from 'node:crypto';
import type { BlobStore, BlobWriter } from '../../storage/blobs/blobs.ts';

export class Sink {
  readonly #cache: BlobStore | undefined;
  readonly #onFailure: (error: unknown) => void;
  readonly #hash: Hash = createHash('sha256');
  #writer: BlobWriter | undefined;
  /** The cache took no more. */
  failed = false;

  constructor(cache: BlobStore | undefined, onFailure: (error: unknown) => void) {
    this.#cache = cache;
    this.#onFailure = onFailure;
  }

  /** Whether everything so far is kept. */
  get keeps(): boolean {
    return this.#writer !== undefined;
  }

  async open(): Promise<void> {
    await this.#attempt(async () => {
      this.#writer = await this.#cache?.writer();
    });
  }

  async write(piece: Buffer): Promise<void> {
    this.#hash.update(piece);
    const writer = this.#writer;
    if (writer !== undefined) await this.#attempt(() => writer.write(piece));
  }

  /** Of all of it. */
  digest(): string {
    return this.#hash.digest('hex');
  }

  /** Into the cache, for bytes that are proven: wrong ones are kept under no name, not even their own. */
  async commit(): Promise<void> {
    const writer = this.#writer;
    if (writer !== undefined) await this.#attempt(async () => void (await writer.commit()));
  }

  async drop(): Promise<void> {
    await this.#writer?.abort().catch(() => {});
  }

  /** A disk that is full or broken is no reason to stop serving. */
  async #attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#writer = undefined;
      this.failed = true;
      this.#onFailure(error);
    }
  }
}
