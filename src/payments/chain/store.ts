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
  /** The height its chain had when it was last seen there: an endpoint that has not come further cannot miss it. */
  readonly seen_height: number | null;
}

/**
 * Failures that are the chain's last word, or a person's: nothing was moved, nothing was paid to us, ended by hand. All
 * others may still turn out to have been paid.
 */
const finalFailures: readonly string[] = ['reverted', 'not_paid', 'voided'];

export const isFinal = ({ state, failure_reason: reason }: ChainPaymentRow): boolean =>
  state === 'credited' || (state === 'failed' && finalFailures.includes(reason ?? ''));

const mayHavePaid = `state = 'failed' AND failure_reason NOT IN (${finalFailures.map((one) => `'${one}'`).join(', ')})`;

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
       failure_reason, checks, checked_at, next_check_at, seen_height)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (chain, transaction_id) DO NOTHING`,
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
    row.seen_height,
  );
  return added === 1;
}

/** Writes what became of a row; false when it is no longer as it was read: then somebody else has moved it. */
export async function moveRow(
  executor: SqlExecutor,
  before: ChainPaymentRow,
  after: ChainPaymentRow,
): Promise<boolean> {
  const changed = await executor.run(
    `UPDATE payment_chain_transactions SET state = ?, quantity = ?, winc = ?, adjustments = ?, usd_equivalent = ?,
       sender = ?, destination = ?, destination_type = ?, ended_at = ?, block_height = ?, failure_reason = ?,
       checks = ?, checked_at = ?, next_check_at = ?, missing_since = ?, seen_height = ?
     WHERE chain = ? AND transaction_id = ? AND state = ? AND state <> 'credited'
       AND COALESCE(failure_reason, '') = ?`,
    after.state,
    after.quantity,
    after.winc,
    after.adjustments,
    after.usd_equivalent,
    after.sender,
    after.destination,
    after.destination_type,
    after.ended_at,
    after.block_height,
    after.failure_reason,
    after.checks,
    after.checked_at,
    after.next_check_at,
    after.missing_since,
    after.seen_height,
    before.chain,
    before.transaction_id,
    before.state,
    before.failure_reason ?? '',
  );
  return changed === 1;
}

export function duePending(sql: Sql, now: number, limit: number): Promise<ChainPaymentRow[]> {
  return sql.all<ChainPaymentRow>(
    `SELECT * FROM payment_chain_transactions WHERE state = 'pending' AND next_check_at <= ?
     ORDER BY next_check_at LIMIT ?`,
    now,
    limit,
  );
}

/** Failed since `since`, and possibly paid all the same. */
export function dueFailed(sql: Sql, now: number, since: number, limit: number): Promise<ChainPaymentRow[]> {
  return sql.all<ChainPaymentRow>(
    `SELECT * FROM payment_chain_transactions WHERE ${mayHavePaid} AND next_check_at <= ? AND ended_at >= ?
     ORDER BY next_check_at LIMIT ?`,
    now,
    since,
    limit,
  );
}

/**
 * For a person: the newest first. One that its chain does not know is shown for as long as it is looked for; one that
 * paid us something, for ever.
 */
export function failedThoughPaid(
  executor: SqlExecutor,
  since: number,
  limit: number,
): Promise<ChainPaymentRow[]> {
  return executor.all<ChainPaymentRow>(
    `SELECT * FROM payment_chain_transactions
     WHERE ${mayHavePaid} AND (failure_reason <> 'not_found' OR ended_at >= ?)
     ORDER BY ended_at DESC, transaction_id LIMIT ?`,
    since,
    limit,
  );
}
