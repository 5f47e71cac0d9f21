/**
 * What only a person can tell: payments that may have been carried out and of which no transfer is known, because the
 * facilitator's answer was lost and there was no chain to ask, or none that answers. Whoever has looked at the chain
 * ends them here.
 */

import { Type } from 'typebox';
import { type Credits, winc } from '../../credits/credits.ts';
import type { PaymentSummary } from '../../formats/admin-answers.ts';
import { columnList, fieldsReader } from '../../storage/sql/fields.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText } from '../../storage/sql/typed-rows.ts';
import { type NewestQuery, newestRows } from '../newest.ts';
import { creditPayment, notSettled, settled } from './credit-payment.ts';
import { endUncredited, readPaymentRow } from './payment-rows.ts';

/** For so long an open payment is left to the facilitator and the chain. */
const openForMs = 24 * 3_600_000;

const storedPayment = Type.Object({
  id: Type.String(),
  /** `open`: it is still asked for, in vain for more than a day. */
  state: Type.Enum(['open', 'unclear']),
  network: Type.String(),
  payer: Type.String(),
  nonce: Type.String(),
  /** Atomic units of the token. */
  value: amountText,
  /** Who would be credited, and how much. */
  address: Type.String(),
  winc: amountText,
  /** Unix milliseconds. */
  createdAt: Type.Integer(),
});
const readStored = fieldsReader('an unclear x402 payment', storedPayment);

/** The oldest first. */
export async function unclearPayments(executor: SqlExecutor, limit: number, now: number) {
  const rows = await executor.all(
    `SELECT ${columnList(storedPayment.properties)} FROM x402_payments
     WHERE state = 'unclear' OR (state = 'open' AND created_at < ?) ORDER BY created_at, id LIMIT ?`,
    now - openForMs,
    limit,
  );
  return rows.map(readStored).map((row) => ({ ...row, winc: winc(BigInt(row.winc)) }));
}

const storedSummary = Type.Object({
  id: Type.String(),
  state: Type.String(),
  purpose: Type.String(),
  address: Type.String(),
  payer: Type.String(),
  value: amountText,
  winc: amountText,
  createdAt: Type.Integer(),
  changedAt: Type.Integer(),
});
const readSummary = fieldsReader('an x402 payment', storedSummary);

/** For operators, the newest first. */
export async function recentX402Payments(
  sql: Sql,
  query: NewestQuery,
  now: number,
): Promise<PaymentSummary[]> {
  const columns = columnList(storedSummary.properties);
  const rows = await newestRows(sql, { table: 'x402_payments', columns, id: 'id' }, query);
  return rows.map(readSummary).map(({ value, ...row }) => ({
    kind: 'x402',
    ...row,
    amount: value,
    currency: 'usdc',
    reason: null,
    open: row.state === 'unclear' || (row.state === 'open' && row.createdAt < now - openForMs),
  }));
}

/** `transaction` made the transfer; without one it was never made. False when there is no such payment that is open. */
export async function endByHand(
  sql: Sql,
  credits: Credits,
  id: string,
  transaction: string | undefined,
  now: number,
): Promise<boolean> {
  return sql.transaction(async (tx) => {
    const row = await readPaymentRow(tx, id);
    if (row?.state !== 'unclear' && row?.state !== 'open') return false;
    // One that was just made is for the facilitator and the chain to tell.
    if (row.state === 'open' && now - row.createdAt < openForMs) return false;
    if (transaction === undefined) {
      return endUncredited(tx, row, 'failed', row.settlement ?? notSettled(row, 'not_made'), now, row.state);
    }
    // Whoever wanted to upload with it was told that it failed: all of it is given as credits.
    return creditPayment(tx, credits, row, settled(row, transaction), 'returned', now);
  });
}
