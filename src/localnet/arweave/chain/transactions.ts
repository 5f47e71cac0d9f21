/** Transactions as they are kept: pending (no height) or in a block of the current chain. */
import { LRUCache } from 'lru-cache';
import type { TransactionJson } from '../../../formats/arweave/transaction-json.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';

export interface StoredTransaction {
  /** JSON, as GET /tx/{id} answers it. */
  readonly header: string;
  /** null while pending. */
  readonly height: number | null;
}

export interface TransactionPlace {
  /** null while pending. */
  readonly height: number | null;
  readonly block_hash: string | null;
  /** Weave offset of the last byte of data, counted from 1; null while pending and without data. */
  readonly weave_end: number | null;
  /** What the weave calls its data: version 1 has a root too, though it is not in the header. */
  readonly data_root: Buffer;
  readonly data_size: number;
}

export function readPlace(sql: SqlExecutor, id: string): Promise<TransactionPlace | undefined> {
  return sql.get(
    'SELECT height, block_hash, weave_end, data_root, data_size FROM transactions WHERE id = ?',
    id,
  );
}

export async function pendingIds(sql: SqlExecutor): Promise<string[]> {
  const rows = await sql.all<{ id: string }>(
    'SELECT id FROM transactions WHERE height IS NULL ORDER BY sequence',
  );
  return rows.map((row) => row.id);
}

/** Headers are written by us, so they are what their type says. */
export function parseHeader(header: string): TransactionJson {
  return JSON.parse(header);
}

export function readTransaction(sql: SqlExecutor, id: string): Promise<StoredTransaction | undefined> {
  return sql.get('SELECT header, height FROM transactions WHERE id = ?', id);
}

/** What is asked again and again of mined transactions; only a fork can make it untrue. */
export class MinedCache<T extends { readonly height: number | null }> {
  readonly #readRow: (sql: SqlExecutor, id: string) => Promise<T | undefined>;
  readonly #kept: LRUCache<string, T>;
  #forks = 0;

  constructor(readRow: (sql: SqlExecutor, id: string) => Promise<T | undefined>, bytes: (row: T) => number) {
    this.#readRow = readRow;
    this.#kept = new LRUCache({
      maxSize: 16 * 1_024 * 1_024,
      maxEntrySize: 64 * 1_024,
      sizeCalculation: bytes,
    });
  }

  async read(sql: SqlExecutor, id: string): Promise<T | undefined> {
    const kept = this.#kept.get(id);
    if (kept !== undefined) return kept;
    const forks = this.#forks;
    const row = await this.#readRow(sql, id);
    // What was read before a fork is not kept after it.
    if (row !== undefined && row.height !== null && forks === this.#forks) this.#kept.set(id, row);
    return row;
  }

  /** Called when a fork is committed. */
  forget(): void {
    this.#forks += 1;
    this.#kept.clear();
  }
}
