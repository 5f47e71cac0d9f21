/**
 * What was paid for and then could not be delivered after all: a purchase whose delivery takes longer than the
 * transaction that took the payment in. The payment is marked as owed back; the worker gives it back.
 */
import type { SqlExecutor } from '../../storage/sql/sql.ts';

/** In the transaction that gives the purchase up. Does nothing for a payment that is already on its way back. */
export async function oweRefundIn(tx: SqlExecutor, quoteId: string, now: number): Promise<void> {
  await tx.run(
    "UPDATE card_quotes SET refund_due = 1, due_at = ?, changed_at = ? WHERE id = ? AND state = 'paid'",
    now,
    now,
    quoteId,
  );
}
