/**
 * Giving back what was paid and not delivered. A refund counts as made when the provider says that the payment has
 * gone back, not when it took the order: a bank may return it days later, and then it is owed again.
 *
 * Each try has a number of its own, which is part of its idempotency key: asked again under the key of a try that
 * failed, the provider would only repeat its first answer. A try is counted once it was answered, so that a lost
 * answer is asked for again under the same key.
 */
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { CardObservation } from './card.ts';
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

const firstWaitMs = 60_000;
const longestWaitMs = 24 * 3_600_000;

export interface RefundContext {
  readonly sql: Sql;
  readonly provider: Pick<CardProvider, 'factsOf' | 'refund'>;
  readonly sync: SyncContext;
  readonly now: () => number;
}

/** Throws `CardProviderUnavailable` when the provider did not answer: then it is tried again as if never asked. */
export async function giveBackIfOwed(context: RefundContext, quoteId: string): Promise<CardObservation[]> {
  const { sql, provider, sync, now } = context;
  const quote = await readQuote(sql, quoteId);
  if (quote?.refundDue !== true || quote.intentId === undefined) return [];
  if (isGivenUp(quote) || now() < quote.refundAfter) return [];
  const refusal = await provider.refund(quote, quote.intentId);
  await sql.transaction((tx) => countTry(tx, quote, now()));
  const ticket = await sql.transaction((tx) => takeTicket(tx, quoteId));
  const told = await syncQuote(sync, quoteId, await provider.factsOf(quote), ticket ?? 0);
  const after = await readQuote(sql, quoteId);
  if (after?.refundDue !== true) return told;
  const reason = refusal ?? 'returned';
  return [...told, { kind: 'refund-failed', quote: after, reason, final: isGivenUp(after) }];
}

/** Two that asked at once asked under the same key: that was one try. */
async function countTry(tx: SqlExecutor, { id, refundTries }: QuoteRow, now: number): Promise<void> {
  const row = await lockQuote(tx, id);
  if (row === undefined || row.refundTries !== refundTries) return;
  const wait = Math.min(firstWaitMs * 4 ** refundTries, longestWaitMs);
  await updateQuote(tx, { ...row, refundTries: refundTries + 1, refundAfter: now + wait }, now);
}

/** A refund that waits to be made, or to be made by hand. */
export interface OwedRefund {
  readonly quoteId: string;
  readonly intentId: string | null;
  readonly address: string;
  /** What was charged, in minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly tries: number;
  readonly givenUp: boolean;
  /** Unix milliseconds. */
  readonly since: number;
}

/** The oldest first. */
export async function owedRefunds(executor: SqlExecutor, limit: number): Promise<OwedRefund[]> {
  const rows = await executor.all<{
    id: string;
    intent_id: string | null;
    address: string;
    amount: number;
    currency: string;
    refund_tries: number;
    created_at: number;
  }>(
    `SELECT id, intent_id, address, COALESCE(paid_amount, amount) AS amount, currency, refund_tries, created_at
     FROM card_quotes WHERE refund_due = 1 ORDER BY created_at, id LIMIT ?`,
    limit,
  );
  return rows.map((row) => ({
    quoteId: row.id,
    intentId: row.intent_id,
    address: row.address,
    amount: row.amount,
    currency: row.currency,
    tries: row.refund_tries,
    givenUp: isGivenUp({ refundDue: true, refundTries: row.refund_tries }),
    since: row.created_at,
  }));
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
export async function countOwedRefunds(
  executor: SqlExecutor,
): Promise<{ readonly owed: number; readonly givenUp: number }> {
  const row = await executor.get<{ owed: number; given_up: number }>(
    `SELECT COUNT(*) AS owed, COUNT(CASE WHEN refund_tries >= ${mostRefundTries} THEN 1 END) AS given_up
     FROM card_quotes WHERE refund_due = 1`,
  );
  return { owed: Number(row?.owed ?? 0), givenUp: Number(row?.given_up ?? 0) };
}
