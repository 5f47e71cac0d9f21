/**
 * Giving back what was paid and not delivered, at once or, where the delivery takes longer than the transaction that
 * took the payment in, later. A refund counts as made when the provider says that the payment has
 * gone back, not when it took the order: a bank may return it days later, and then it is owed again.
 *
 * Each try has a number of its own, which is part of its idempotency key: asked again under the key of a try that
 * failed, the provider would only repeat its first answer. A try is counted once it was answered, so that a lost
 * answer is asked for again under the same key.
 */
import { Type } from 'typebox';
import type { Winc } from '../../credits/credits.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { fieldsReader, optionalText } from '../../storage/sql/fields.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import type { CardObservation, CardQuote } from './card.ts';
import type { CardProvider } from './provider.ts';
import {
  isGivenUp,
  lockQuote,
  mostRefundTries,
  type QuoteRow,
  readQuote,
  takeTicket,
  updateQuote,
} from './quotes.ts';
import { type SyncContext, syncQuote } from './sync.ts';

const retry = { firstMs: 60_000, longestMs: 24 * 3_600_000 };

export interface RefundContext extends SyncContext {
  readonly provider: Pick<CardProvider, 'factsOf' | 'refund'>;
}

/** Throws `CardProviderUnavailable` when the provider did not answer: then it is tried again as if never asked. */
export async function giveBackIfOwed(context: RefundContext, quoteId: string): Promise<CardObservation[]> {
  const { sql, provider, now } = context;
  const quote = await readQuote(sql, quoteId);
  if (quote?.refundDue !== true || quote.intentId === undefined) return [];
  if (isGivenUp(quote) || now() < quote.refundAfter) return [];
  const refusal = await provider.refund(quote, quote.intentId);
  await sql.transaction((tx) => countTry(tx, quote, now()));
  const ticket = await sql.transaction((tx) => takeTicket(tx, quoteId));
  const observed = await syncQuote(context, quoteId, await provider.factsOf(quote), ticket ?? 0);
  const after = await readQuote(sql, quoteId);
  if (after?.refundDue !== true) return observed;
  const reason = refusal ?? 'returned';
  return [...observed, { kind: 'refund-failed', quote: after, reason, final: isGivenUp(after) }];
}

/** Two that asked at once asked under the same key: that was one try. */
async function countTry(tx: SqlExecutor, { id, refundTries }: QuoteRow, now: number): Promise<void> {
  const row = await lockQuote(tx, id);
  if (row === undefined || row.refundTries !== refundTries) return;
  // Each wait is four times the one before.
  const wait = backoffMs(retry, 2 * refundTries + 1);
  await updateQuote(tx, { ...row, refundTries: refundTries + 1, refundAfter: now + wait }, now);
}

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
  await changeOne(
    tx,
    `UPDATE card_quotes SET undelivered = 1, refund_due = CASE WHEN state = 'paid' THEN 1 ELSE 0 END,
       due_at = ?, changed_at = ? WHERE id = ?`,
    now,
    now,
    quoteId,
  );
}

const readOwed = fieldsReader(
  'an owed refund',
  Type.Object({
    quoteId: Type.String(),
    intentId: optionalText,
    address: Type.String(),
    amount: Type.Integer(),
    currency: Type.String(),
    tries: Type.Integer(),
    since: Type.Integer(),
  }),
);

/** Refunds that wait to be made, or to be made by hand, the oldest first; amounts are what was charged, in minor units. */
export async function owedRefunds(executor: SqlExecutor, limit: number) {
  const rows = await executor.all(
    `SELECT id AS quote_id, intent_id, address, COALESCE(paid_amount, amount) AS amount, currency,
       refund_tries AS tries, created_at AS since
     FROM card_quotes WHERE refund_due = 1 ORDER BY created_at, id LIMIT ?`,
    limit,
  );
  return rows.map(readOwed).map(({ since, ...row }) => {
    const givenUp = isGivenUp({ refundDue: true, refundTries: row.tries });
    return { ...row, intentId: row.intentId ?? null, givenUp, since };
  });
}

/** A refund that was given up was made by other means. False when there is no such refund. */
export async function endRefundByHand(sql: Sql, quoteId: string, now: number): Promise<boolean> {
  return sql.transaction(async (tx) => {
    const row = await lockQuote(tx, quoteId);
    if (row === undefined || !isGivenUp(row)) return false;
    await updateQuote(tx, { ...row, undelivered: false, refundDue: false }, now);
    return true;
  });
}

/** How many are owed, and how many of them were given up. */
export async function countOwedRefunds(executor: SqlExecutor) {
  const row = await executor.get(
    `SELECT COUNT(*) AS owed, COUNT(CASE WHEN refund_tries >= ${mostRefundTries} THEN 1 END) AS given_up
     FROM card_quotes WHERE refund_due = 1`,
  );
  return { owed: readInteger(row?.owed), givenUp: readInteger(row?.given_up) };
}
