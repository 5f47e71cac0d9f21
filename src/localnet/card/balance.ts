/** The merchant's balance: one transaction for each movement, held back for two days as card payments are. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { BalanceTransaction } from './objects.ts';
import { type Change, newId, putObject } from './store.ts';

const twoDays = 2 * 24 * 3600;

interface Movement {
  readonly type: 'adjustment' | 'charge' | 'refund' | 'refund_failure';
  readonly category: string;
  /** Negative where money leaves. */
  readonly amount: number;
  readonly fee?: number;
  readonly currency: string;
  readonly source: string;
  readonly description: string | null;
}

/** What Stripe takes of a card payment in its home country: 2.9 % and 30 of the smallest unit. */
export const cardFee = (amount: number): number => Math.round(amount * 0.029) + 30;
/** What a dispute costs. */
export const disputeFee = 1_500;

export async function recordMovement(change: Change, movement: Movement): Promise<BalanceTransaction> {
  const { type, category, amount, fee = 0, currency, source, description } = movement;
  const transaction: BalanceTransaction = {
    id: newId.balanceTransaction(),
    object: 'balance_transaction',
    amount,
    available_on: change.now + twoDays,
    created: change.now,
    currency,
    description,
    exchange_rate: null,
    fee,
    fee_details:
      fee === 0
        ? []
        : [{ amount: fee, application: null, currency, description: 'Processing fee', type: 'stripe_fee' }],
    net: amount - fee,
    reporting_category: category,
    source,
    status: 'pending',
    type,
  };
  await putObject(change, transaction);
  return transaction;
}

/** Pending becomes available when its day has come. */
export const atTime = (transaction: BalanceTransaction, now: number): BalanceTransaction => ({
  ...transaction,
  status: transaction.available_on <= now ? 'available' : 'pending',
});

export async function balanceAt(tx: SqlExecutor, now: number) {
  const rows = await tx.all<{ currency: string; available: number; pending: number }>(
    `SELECT currency, SUM(CASE WHEN due <= ? THEN net ELSE 0 END) AS available,
       SUM(CASE WHEN due > ? THEN net ELSE 0 END) AS pending
     FROM (SELECT json_extract(body, '$.currency') AS currency, json_extract(body, '$.net') AS net,
       json_extract(body, '$.available_on') AS due FROM objects WHERE kind = 'balance_transaction') moved
     GROUP BY currency ORDER BY currency`,
    now,
    now,
  );
  const amounts = (member: 'available' | 'pending') =>
    rows.map((row) => ({ amount: row[member], currency: row.currency, source_types: { card: row[member] } }));
  return { object: 'balance', available: amounts('available'), livemode: false, pending: amounts('pending') };
}
