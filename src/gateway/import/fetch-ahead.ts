/** Blocks that are fetched before it is their turn. What nobody waits for any more is not fetched to its end. */
import type { BlockTransactions } from './write-block.ts';

type Fetched = { readonly value: BlockTransactions | undefined } | { readonly error: unknown };

interface Fetching {
  readonly ended: Promise<Fetched>;
  /** What it ended with, where it has. */
  fetched: Fetched | undefined;
}

export class FetchAhead {
  readonly #fetch: (height: number, signal: AbortSignal) => Promise<BlockTransactions | undefined>;
  readonly #fetching = new Map<number, Fetching>();
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
    const fetched = this.#fetch(height, this.#signal).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    const fetching: Fetching = {
      ended: fetched.then((outcome) => (fetching.fetched = outcome)),
      fetched: undefined,
    };
    this.#fetching.set(height, fetching);
  }

  /** The block, once it is here; undefined when the chain is not that long. */
  async take(height: number): Promise<BlockTransactions | undefined> {
    const fetched = await this.#fetching.get(height)?.ended;
    this.#fetching.delete(height);
    if (fetched !== undefined && 'error' in fetched) throw fetched.error;
    return fetched?.value;
  }

  /** Blocks behind those, which are taken along as far as they are here already and fit. */
  takeBehind(
    blocks: readonly BlockTransactions[],
    fits: (before: readonly BlockTransactions[], next: BlockTransactions) => boolean,
  ): BlockTransactions[] {
    const taken = [...blocks];
    for (;;) {
      const height = (taken.at(-1)?.block.height ?? 0) + 1;
      const fetched = this.#fetching.get(height)?.fetched;
      if (fetched === undefined || 'error' in fetched || fetched.value === undefined) return taken;
      if (!fits(taken, fetched.value)) return taken;
      this.#fetching.delete(height);
      taken.push(fetched.value);
    }
  }

  stop(): void {
    this.#enough.abort(new Error('the rest is not wanted any more'));
    this.#fetching.clear();
  }
}
