/**
 * Reads of accounts that are asked for in the same turn go out as one call: an action asks for the name, its price,
 * the service's tokens and everybody's lists at once, and so do its neighbours.
 */
import type { SolanaAddress } from '../formats/solana/address.ts';

interface Question<T> {
  readonly addresses: readonly SolanaAddress[];
  readonly resolve: (found: T[]) => void;
  readonly reject: (error: unknown) => void;
}

/** What a node answers in one call. */
const maxAccounts = 100;

export class AccountReader<T> {
  readonly #fetch: (addresses: readonly SolanaAddress[]) => Promise<T[]>;
  #waiting: Question<T>[] = [];

  /** `fetch` takes at most 100 addresses and answers in their order. */
  constructor(fetch: (addresses: readonly SolanaAddress[]) => Promise<T[]>) {
    this.#fetch = fetch;
  }

  /** In the order asked. What fits one call is read as of one moment. */
  read(addresses: readonly SolanaAddress[]): Promise<T[]> {
    if (addresses.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ addresses, resolve, reject });
    });
  }

  #flush(): void {
    let batch: Question<T>[] = [];
    let size = 0;
    for (const question of this.#waiting.splice(0)) {
      if (size > 0 && size + question.addresses.length > maxAccounts) {
        void this.#ask(batch);
        batch = [];
        size = 0;
      }
      batch.push(question);
      size += question.addresses.length;
    }
    void this.#ask(batch);
  }

  async #ask(batch: readonly Question<T>[]): Promise<void> {
    const addresses = [...new Set(batch.flatMap((question) => question.addresses))];
    try {
      const found = new Map<SolanaAddress, T>();
      for (let at = 0; at < addresses.length; at += maxAccounts) {
        const page = addresses.slice(at, at + maxAccounts);
        const values = await this.#fetch(page);
        for (const [index, address] of page.entries()) found.set(address, values[index]!);
      }
      for (const { addresses: asked, resolve } of batch) resolve(asked.map((address) => found.get(address)!));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
