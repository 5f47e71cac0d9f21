/** Headers of mined transactions that are asked for again and again; only a fork can make them untrue. */
import { LRUCache } from 'lru-cache';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';
import { readTransaction, type StoredTransaction } from './transactions.ts';

export class HeaderCache {
  readonly #kept = new LRUCache<string, StoredTransaction>({
    maxSize: 16 * 1_024 * 1_024,
    maxEntrySize: 64 * 1_024,
    sizeCalculation: (transaction) => transaction.header.length,
  });
  #forks = 0;

  async read(sql: SqlExecutor, id: string): Promise<StoredTransaction | undefined> {
    const kept = this.#kept.get(id);
    if (kept !== undefined) return kept;
    const forks = this.#forks;
    const transaction = await readTransaction(sql, id);
    // What was read before a fork is not kept after it.
    if (transaction !== undefined && transaction.height !== null && forks === this.#forks) {
      this.#kept.set(id, transaction);
    }
    return transaction;
  }

  /** Called when a fork is committed. */
  forget(): void {
    this.#forks += 1;
    this.#kept.clear();
  }
}
