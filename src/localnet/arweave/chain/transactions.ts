/** Transactions as they are kept: pending (no height) or in a block of the current chain. */
import type { TransactionJson } from '../../../formats/arweave/transaction-json.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';

export interface StoredTransaction {
  /** JSON, as GET /tx/{id} answers it. */
  readonly header: string;
  /** null while pending. */
  readonly height: number | null;
}

export function readTransaction(sql: SqlExecutor, id: string): Promise<StoredTransaction | undefined> {
  return sql.get('SELECT header, height FROM transactions WHERE id = ?', id);
}

export interface MinedIn {
  /** null while pending. */
  readonly height: number | null;
  readonly block_hash: string | null;
}

export function readMinedIn(sql: SqlExecutor, id: string): Promise<MinedIn | undefined> {
  return sql.get('SELECT height, block_hash FROM transactions WHERE id = ?', id);
}

export interface WeavePlace {
  /** Weave offset of the last byte of data, counted from 1; null while pending and without data. */
  readonly weave_end: number | null;
  readonly data_size: number;
}

export function readWeavePlace(sql: SqlExecutor, id: string): Promise<WeavePlace | undefined> {
  return sql.get('SELECT weave_end, data_size FROM transactions WHERE id = ?', id);
}

/** What the weave calls its data: version 1 has a root too, though it is not in the header. */
export function readDataPlace(
  sql: SqlExecutor,
  id: string,
): Promise<{ data_root: Buffer; data_size: number } | undefined> {
  return sql.get('SELECT data_root, data_size FROM transactions WHERE id = ?', id);
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
