/** Writes into a cache as long as it takes what is written; a cache that fails is told of once and let be. */
import type { BlobStore, BlobWriter } from '../../storage/blobs/blobs.ts';

export class CarefulWriter {
  readonly #failed: (error: unknown) => void;
  #writer: Promise<BlobWriter | undefined>;

  constructor(cache: BlobStore, failed: (error: unknown) => void) {
    this.#failed = failed;
    this.#writer = cache.writer().catch((error: unknown) => this.#giveUp(error));
  }

  async write(bytes: Buffer): Promise<void> {
    await this.#attempt((writer) => writer.write(bytes));
  }

  async commit(): Promise<void> {
    await this.#attempt((writer) => writer.commit());
  }

  async abort(): Promise<void> {
    await this.#attempt((writer) => writer.abort());
  }

  async #attempt(work: (writer: BlobWriter) => Promise<unknown>): Promise<void> {
    const writer = await this.#writer;
    if (writer === undefined) return;
    try {
      await work(writer);
    } catch (error) {
      this.#giveUp(error);
      // What it wrote so far is of no use.
      await writer.abort().catch(() => {});
    }
  }

  #giveUp(error: unknown): undefined {
    this.#writer = Promise.resolve(undefined);
    this.#failed(error);
  }
}
