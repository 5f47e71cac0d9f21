/** Reported transactions. One row per transaction of a chain, so that it is pending, credited or failed and never two. */
import { type Static, Type } from 'typebox';
import type { PaymentSummary } from '../../formats/admin-answers.ts';
import { assignments, insertion } from '../../storage/sql/columns.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, integerOrNull, rowReader, textOrNull } from '../../storage/sql/typed-rows.ts';
import { type NewestQuery, newestRows } from '../newest.ts';

const storedPayment = Type.Object({
  chain: Type.String(),
  transaction_id: Type.String(),
  token: Type.String(),
  state: Type.Enum(['pending', 'credited', 'failed']),
  quantity: amountText,
  winc: amountText,
  /** JSON: the fees, rendered. */
  adjustments: Type.String(),
  usd_equivalent: Type.String(),
  sender: Type.String(),
  destination: Type.String(),
  destination_type: Type.String(),
  referer: textOrNull,
  created_at: Type.Integer(),
  /** When it was credited or failed. */
  ended_at: integerOrNull,
  block_height: integerOrNull,
  failure_reason: textOrNull,
  /** How often the chain was asked while it waits, and when last. */
  checks: Type.Integer(),
  checked_at: Type.Integer(),
  next_check_at: Type.Integer(),
  /** Since when its chain does not know it any more; null while it does. */
  missing_since: integerOrNull,
  /** The height its chain had when it was last seen there: an endpoint that has not come further cannot miss it. */
  seen_height: integerOrNull,
});
export type ChainPaymentRow = Readonly<Static<typeof storedPayment>>;

const readStored = rowReader('a chain payment', storedPayment);

/** For how long after it failed a payment is looked for by the job; afterwards only when it is reported again. */
const FAILED_CHECKED_FOR_MS = 30 * 86_400_000;

/**
 * Failures that are the chain's last word, or a person's: nothing was moved, nothing was paid to us, ended by hand. All
 * others may still turn out to have been paid.
 */
const finalFailures: readonly string[] = ['reverted', 'not_paid', 'voided'];

export const isFinal = ({ state, failure_reason: reason }: ChainPaymentRow): boolean =>
  state === 'credited' || (state === 'failed' && finalFailures.includes(reason ?? ''));

const mayHavePaid = `state = 'failed' AND failure_reason NOT IN (${finalFailures.map((one) => `'${one}'`).join(', ')})`;

export async function readRow(
  executor: SqlExecutor,
  chain: string,
  id: string,
): Promise<ChainPaymentRow | undefined> {
  const row = await executor.get(
    'SELECT * FROM payment_chain_transactions WHERE chain = ? AND transaction_id = ?',
    chain,
    id,
  );
  return row && readStored(row);
}

/** False when the transaction was reported before. */
export async function insertRow(tx: SqlExecutor, row: ChainPaymentRow): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO payment_chain_transactions ${insertion(row)} ON CONFLICT (chain, transaction_id) DO NOTHING`,
    ...Object.values(row),
  );
  return added === 1;
}

/** Writes what became of a row; false when it is no longer as it was read: then somebody else has moved it. */
export async function moveRow(
  executor: SqlExecutor,
  before: ChainPaymentRow,
  after: ChainPaymentRow,
): Promise<boolean> {
  const { chain, transaction_id: id, token: _token, referer: _referer, created_at: _at, ...changing } = after;
  const changed = await executor.run(
    `UPDATE payment_chain_transactions SET ${assignments(changing)}
     WHERE chain = ? AND transaction_id = ? AND state = ? AND state <> 'credited'
       AND COALESCE(failure_reason, '') = ?`,
    ...Object.values(changing),
    chain,
    id,
    before.state,
    before.failure_reason ?? '',
  );
  return changed === 1;
}

/** `rest`: the conditions, the order, and how many. */
async function select(executor: SqlExecutor, rest: string, ...values: number[]): Promise<ChainPaymentRow[]> {
  const rows = await executor.all(`SELECT * FROM payment_chain_transactions WHERE ${rest}`, ...values);
  return rows.map(readStored);
}

/** The longest that a payment waits before its chain is asked again. */
export const checkPauses = { pending: 600_000, failed: 3_600_000 } as const;

export const duePending = (sql: Sql, now: number, limit: number): Promise<ChainPaymentRow[]> =>
  select(
    sql,
    `state = 'pending' AND ${isDue('next_check_at')} ORDER BY next_check_at LIMIT ?`,
    ...dueBounds(now, checkPauses.pending),
    limit,
  );

/** Failed not too long ago, and possibly paid all the same. */
export function dueFailed(sql: Sql, now: number, limit: number): Promise<ChainPaymentRow[]> {
  const rest = `${mayHavePaid} AND ${isDue('next_check_at')} AND ended_at >= ? ORDER BY next_check_at LIMIT ?`;
  return select(sql, rest, ...dueBounds(now, checkPauses.failed), now - FAILED_CHECKED_FOR_MS, limit);
}

/**
 * What a person may have to look at: payments that failed although our wallet may have been paid, the newest first. One
 * that its chain does not know is shown for as long as it is looked for; one that paid us something, for ever.
 */
export function failedPayments(
  executor: SqlExecutor,
  limit: number,
  now: number,
): Promise<ChainPaymentRow[]> {
  const rest = `${mayHavePaid} AND (failure_reason <> 'not_found' OR ended_at >= ?)
     ORDER BY ended_at DESC, transaction_id LIMIT ?`;
  return select(executor, rest, now - FAILED_CHECKED_FOR_MS, limit);
}

/** Whether `failedPayments` has it. */
const waitsForPerson = (row: ChainPaymentRow, now: number): boolean =>
  row.state === 'failed' &&
  !isFinal(row) &&
  (row.failure_reason !== 'not_found' || (row.ended_at ?? 0) >= now - FAILED_CHECKED_FOR_MS);

/** As `voidPayment` takes it. */
export const chainPaymentId = ({ chain, transaction_id: id }: ChainPaymentRow): string => `${chain}:${id}`;

/** Credited payments among these ids, `chain:transaction`; others are left out. */
export async function chainPaymentsById(executor: SqlExecutor, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const places = ids.map(() => '(?, ?)').join(', ');
  const rows = await executor.all(
    `SELECT * FROM payment_chain_transactions
     WHERE (chain, transaction_id) IN (VALUES ${places}) AND state = 'credited'`,
    ...ids.flatMap(splitId),
  );
  return rows.map(readStored).map((row) => ({
    id: chainPaymentId(row),
    chain: row.chain,
    transactionId: row.transaction_id,
    token: row.token,
    sender: row.sender,
    quantity: BigInt(row.quantity),
  }));
}

/** Chain and transaction. */
function splitId(id: string): [string, string] {
  const split = id.indexOf(':');
  return [id.slice(0, Math.max(split, 0)), id.slice(split + 1)];
}

/** For operators, the newest first. */
export async function recentChainPayments(
  sql: Sql,
  query: NewestQuery,
  now: number,
): Promise<PaymentSummary[]> {
  const source = {
    table: 'payment_chain_transactions',
    columns: '*',
    id: "(chain || ':' || transaction_id)",
  };
  const rows = (await newestRows(sql, source, query)).map(readStored);
  return rows.map((row) => ({
    kind: 'chain',
    id: chainPaymentId(row),
    state: row.state,
    purpose: 'top-up',
    address: row.destination,
    payer: row.sender,
    amount: row.quantity,
    currency: row.token,
    winc: row.winc,
    reason: row.failure_reason,
    open: waitsForPerson(row, now),
    createdAt: row.created_at,
    changedAt: row.ended_at ?? row.checked_at,
  }));
}

/**
 * Ends a failed payment for good, `chain:transaction`: it was never made, or its payer has been made good otherwise, and
 * it must not be credited when its chain shows it after all. False when there is no such payment to end.
 */
export async function voidPayment(sql: Sql, id: string): Promise<boolean> {
  return sql.transaction(async (tx) => {
    const row = await readRow(tx, ...splitId(id));
    if (row === undefined || row.state !== 'failed' || isFinal(row)) return false;
    return moveRow(tx, row, { ...row, failure_reason: 'voided' });
  });
}
