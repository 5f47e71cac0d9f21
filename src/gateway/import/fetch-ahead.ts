/** Blocks that are fetched before it is their turn. What nobody waits for any more is not fetched to its end. */
import type { BlockTransactions } from './write-block.ts';

type Fetched = { readonly value: BlockTransactions | undefined } | { readonly error: unknown };

export class FetchAhead {
  readonly #fetch: (height: number, signal: AbortSignal) => Promise<BlockTransactions | undefined>;
  readonly #fetching = new Map<number, Promise<Fetched>>();
  readonly #enough = new AbortController();
  readonly #signal: AbortSignal;

  constructor(
    fetch: (height: number, signal: AbortSignal) => Promise<BlockTransactions | undefined>,
    stopping: AbortSignal,
  ) {
    this.#fetch = fetch;
    this.#signal = AbortSignal.any([stopping, this.#enough.signal]);
  }

  /** Begins to fetch a block, unless that has begun. A failure waits for its turn. */
  fetch(height: number): void {
    if (this.#fetching.has(height)) return;
    const fetching = this.#fetch(height, this.#signal).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    this.#fetching.set(height, fetching);
  }

  /** The block, once it is here; undefined when the chain is not that long. */
  async take(height: number): Promise<BlockTransactions | undefined> {
    const fetched = await this.#fetching.get(height);
    this.#fetching.delete(height);
    if (fetched !== undefined && 'error' in fetched) throw fetched.error;
    return fetched?.value;
  }

  stop(): void {
    this.#enough.abort(new Error('the rest is not wanted any more'));
    this.#fetching.clear();
  }
}
