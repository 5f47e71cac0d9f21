/**
 * What only a person can tell: payments that may have been carried out and of which no transfer is known, because the
 * facilitator's answer was lost and there was no chain to ask, or none that answers. Whoever has looked at the chain
 * ends them here.
 */

import type { Credits, Winc } from '../../credits/credits.ts';
import { winc } from '../../credits/credits.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { endCredited, endUncredited, readPaymentRow } from './payment-rows.ts';
import { creditPaymentIn, failure, success } from './settlement-rules.ts';

export interface UnclearPayment {
  readonly id: string;
  /** `open`: it is still asked for, in vain for more than a day. */
  readonly state: 'open' | 'unclear';
  readonly network: string;
  readonly payer: string;
  readonly nonce: string;
  /** Atomic units of the token. */
  readonly value: string;
  /** Who would be credited, and how much. */
  readonly address: string;
  readonly winc: Winc;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

const patienceMs = 24 * 3_600_000;

/** The oldest first. */
export async function unclearPayments(
  executor: SqlExecutor,
  limit: number,
  now: number,
): Promise<UnclearPayment[]> {
  const rows = await executor.all<{
    id: string;
    state: 'open' | 'unclear';
    network: string;
    payer: string;
    nonce: string;
    value: string;
    address: string;
    winc: string;
    created_at: number;
  }>(
    `SELECT id, state, network, payer, nonce, value, address, winc, created_at FROM x402_payments
     WHERE state = 'unclear' OR (state = 'open' AND created_at < ?) ORDER BY created_at, id LIMIT ?`,
    now - patienceMs,
    limit,
  );
  return rows.map(({ created_at, ...row }) => ({
    ...row,
    winc: winc(BigInt(row.winc)),
    createdAt: created_at,
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
    if (row.state === 'open' && now - row.createdAt < patienceMs) return false;
    if (transaction === undefined) {
      return endUncredited(tx, row, 'failed', row.settlement ?? failure(row, 'not_made'), now, row.state);
    }
    const settlement = success(row, transaction);
    // Whoever wanted to upload with it was told that it failed: all of it is given as credits.
    if (!(await endCredited(tx, row, settlement, 'returned', now))) return false;
    await creditPaymentIn(tx, credits, row, settlement, 'returned');
    return true;
  });
}
