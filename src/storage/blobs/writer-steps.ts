/** The order of a blob writer's steps: one after the other, none after its end, nothing left behind by a failure. */
import type { BlobDigest, BlobWriter } from './blobs.ts';

export class WriterSteps {
  readonly #discard: () => Promise<void>;
  readonly #explain: (error: unknown) => unknown;
  #state: 'open' | 'committed' | 'aborted' = 'open';
  #last: Promise<unknown> = Promise.resolve();

  /** `discard` removes what the steps so far have left; `explain` turns a failure into the error that the caller gets. */
  constructor(discard: () => Promise<void>, explain: (error: unknown) => unknown = (error) => error) {
    this.#discard = discard;
    this.#explain = explain;
  }

  /** Runs `step` after the one before it, also when a caller does not await each. */
  run<T>(step: () => Promise<T>): Promise<T> {
    return this.#queue(step, 'open');
  }

  /** Runs the step after which the blob is complete. */
  finish<T>(step: () => Promise<T>): Promise<T> {
    return this.#queue(step, 'committed');
  }

  async abort(): Promise<void> {
    await this.#last;
    if (this.#state !== 'open') return;
    this.#state = 'aborted';
    await this.#discard();
  }

  #queue<T>(step: () => Promise<T>, after: 'open' | 'committed'): Promise<T> {
    const run = this.#last.then(async () => {
      if (this.#state !== 'open') throw new Error(`the blob was ${this.#state}`);
      try {
        const result = await step();
        this.#state = after;
        return result;
      } catch (error) {
        this.#state = 'aborted';
        await this.#discard();
        throw this.#explain(error);
      }
    });
    this.#last = run.catch(() => {});
    return run;
  }
}

/** Writes everything and commits; a source that fails leaves nothing behind. */
export async function putThrough(
  writer: BlobWriter,
  bytes: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<{ digest: BlobDigest; size: number }> {
  try {
    if (bytes instanceof Uint8Array) await writer.write(bytes);
    else for await (const piece of bytes) await writer.write(piece);
    return await writer.commit();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
