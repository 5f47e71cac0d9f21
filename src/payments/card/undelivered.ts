/**
 * What was paid for and then could not be delivered after all: a purchase whose delivery takes longer than the
 * transaction that took the payment in. The payment is marked as owed back; the worker gives it back.
 */

import type { Winc } from '../../credits/credits.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { CardQuote } from './card.ts';
import { lockQuote } from './quotes.ts';

/** How much of a payment has gone back. */
export interface HeldPayment {
  readonly quote: CardQuote;
  readonly takenBack: Winc;
  /** Nothing is left of it. */
  readonly isGone: boolean;
}

/** Nobody changes the payment until the transaction ends: what it has come to by now holds. */
export async function holdPaymentIn(tx: SqlExecutor, quoteId: string): Promise<HeldPayment> {
  const quote = await lockQuote(tx, quoteId);
  if (quote === undefined) throw new Error(`there is no card quote ${quoteId}`);
  return { quote, takenBack: quote.takenBack, isGone: quote.takenBack >= quote.winc };
}

/**
 * In the transaction that gives the purchase up, with the payment held. A payment that is already on its way back is
 * not owed again, unless it comes back to us: a dispute that we win, a refund that fails.
 */
export async function oweRefundIn(tx: SqlExecutor, quoteId: string, now: number): Promise<void> {
  await tx.run(
    `UPDATE card_quotes SET undelivered = 1, refund_due = CASE WHEN state = 'paid' THEN 1 ELSE 0 END,
       due_at = ?, changed_at = ? WHERE id = ?`,
    now,
    now,
    quoteId,
  );
}
