/**
 * What was paid for and then could not be delivered after all: a purchase whose delivery takes longer than the
 * transaction that took the payment in. The payment is marked as owed back; the worker gives it back.
 */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { type Winc, winc } from '../credits.ts';

/** Nobody changes the payment until the transaction ends: what it has come to by now holds. */
export async function holdPaymentIn(tx: SqlExecutor, quoteId: string): Promise<void> {
  await tx.get(`SELECT id FROM card_quotes WHERE id = ? ${tx.forUpdate}`, quoteId);
}

/**
 * In the transaction that gives the purchase up, with the payment held. A payment that is already on its way back is
 * not owed again, unless it comes back to us: a dispute that we win, a refund that fails. Answers how much of its
 * winc the payer had taken back while the purchase was still on its way.
 */
export async function oweRefundIn(tx: SqlExecutor, quoteId: string, now: number): Promise<Winc> {
  await tx.run(
    `UPDATE card_quotes SET undelivered = 1, refund_due = CASE WHEN state = 'paid' THEN 1 ELSE 0 END,
       due_at = ?, changed_at = ? WHERE id = ?`,
    now,
    now,
    quoteId,
  );
  const row = await tx.get<{ taken_back: string }>(
    'SELECT taken_back FROM card_quotes WHERE id = ?',
    quoteId,
  );
  return winc(BigInt(row?.taken_back ?? 0));
}
