/** Reported transactions. One row per transaction of a chain, so that it is pending, credited or failed and never two. */
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';

export interface ChainPaymentRow {
  readonly chain: string;
  readonly transaction_id: string;
  readonly token: string;
  readonly state: 'pending' | 'credited' | 'failed';
  readonly quantity: string;
  readonly winc: string;
  /** JSON: the fees, rendered. */
  readonly adjustments: string;
  readonly usd_equivalent: string;
  readonly sender: string;
  readonly destination: string;
  readonly destination_type: string;
  readonly referer: string | null;
  readonly created_at: number;
  /** When it was credited or failed. */
  readonly ended_at: number | null;
  readonly block_height: number | null;
  readonly failure_reason: string | null;
  /** How often the chain was asked while it waits, and when last. */
  readonly checks: number;
  readonly checked_at: number;
  readonly next_check_at: number;
  /** Since when its chain does not know it any more; null while it does. */
  readonly missing_since: number | null;
}

export function readRow(
  executor: SqlExecutor,
  chain: string,
  id: string,
): Promise<ChainPaymentRow | undefined> {
  return executor.get<ChainPaymentRow>(
    'SELECT * FROM payment_chain_transactions WHERE chain = ? AND transaction_id = ?',
    chain,
    id,
  );
}

/** False when the transaction was reported before. */
export async function insertRow(tx: SqlExecutor, row: ChainPaymentRow): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO payment_chain_transactions (chain, transaction_id, token, state, quantity, winc, adjustments,
       usd_equivalent, sender, destination, destination_type, referer, created_at, ended_at, block_height,
       failure_reason, checks, checked_at, next_check_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chain, transaction_id) DO NOTHING`,
    row.chain,
    row.transaction_id,
    row.token,
    row.state,
    row.quantity,
    row.winc,
    row.adjustments,
    row.usd_equivalent,
    row.sender,
    row.destination,
    row.destination_type,
    row.referer,
    row.created_at,
    row.ended_at,
    row.block_height,
    row.failure_reason,
    row.checks,
    row.checked_at,
    row.next_check_at,
  );
  return added === 1;
}

/** Ends a pending row; false when it had ended already. */
export async function endRow(
  tx: SqlExecutor,
  row: ChainPaymentRow,
  end: Pick<ChainPaymentRow, 'state' | 'ended_at' | 'block_height' | 'failure_reason'>,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE payment_chain_transactions SET state = ?, ended_at = ?, block_height = ?, failure_reason = ?
     WHERE chain = ? AND transaction_id = ? AND state = 'pending'`,
    end.state,
    end.ended_at,
    end.block_height,
    end.failure_reason,
    row.chain,
    row.transaction_id,
  );
  return changed === 1;
}

export async function postponeRow(
  sql: Sql,
  row: ChainPaymentRow,
  now: number,
  nextCheckAt: number,
): Promise<void> {
  await sql.run(
    `UPDATE payment_chain_transactions SET checks = checks + 1, checked_at = ?, next_check_at = ?, missing_since = ?
     WHERE chain = ? AND transaction_id = ? AND state = 'pending'`,
    now,
    nextCheckAt,
    row.missing_since,
    row.chain,
    row.transaction_id,
  );
}

export function dueRows(sql: Sql, now: number, limit: number): Promise<ChainPaymentRow[]> {
  return sql.all<ChainPaymentRow>(
    `SELECT * FROM payment_chain_transactions WHERE state = 'pending' AND next_check_at <= ?
     ORDER BY next_check_at LIMIT ?`,
    now,
    limit,
  );
}
