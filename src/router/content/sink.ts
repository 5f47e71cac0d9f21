/** Where the bytes of a download go beside its readers: through a hash, and into the cache as long as that takes them. */
import { createHash, type Hash } from 'node:crypto';
import type { BlobStore, BlobWriter } from '../../storage/blobs/blobs.ts';

export class Sink {
  readonly #cache: BlobStore | undefined;
  readonly #onFailure: (error: unknown) => void;
  readonly #hash: Hash = createHash('sha256');
  #writer: BlobWriter | undefined;
  #committed: string | undefined;

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

  async digest(): Promise<string> {
    const writer = this.#writer;
    if (writer !== undefined) {
      await this.#attempt(async () => {
        this.#committed = (await writer.commit()).digest;
      });
    }
    return this.#hash.digest('hex');
  }

  /** Wrong bytes are kept under no name, not even their own. */
  async drop(): Promise<void> {
    await this.#writer?.abort().catch(() => {});
    if (this.#committed !== undefined) await this.#cache?.delete(this.#committed).catch(() => {});
  }

  /** A disk that is full or broken is no reason to stop serving. */
  async #attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#writer = undefined;
      this.#onFailure(error);
    }
  }
}
