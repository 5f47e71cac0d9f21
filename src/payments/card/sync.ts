/**
 * Brings a quote to what the provider says of its payment. Only the present facts count, not the order in which
 * they became known: a payment that is disputed before it was seen paid is delivered and taken back in one step.
 */
import { randomUUID } from 'node:crypto';
import type { Winc } from '../../credits/credits.ts';
import { winc } from '../../credits/credits.ts';
import type { PromoUses } from '../../pricing/pricing.ts';
import { PromoCodeRefused } from '../../pricing/pricing.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { CardObservation, PaidQuote, PurchaseHandlers, Reversal } from './card.ts';
import { PurchaseRefused } from './errors.ts';
import type { PaymentFacts } from './provider.ts';
import type { QuoteRow } from './quotes.ts';
import { chargebacksOf, isGivenUp, lockQuote, updateQuote } from './quotes.ts';

export interface SyncContext {
  readonly sql: Sql;
  readonly promoUses: PromoUses;
  readonly handlersOf: (purpose: string) => PurchaseHandlers;
  readonly maxChargebacks: number;
  /** The refund of a return failed, maybe long after it was made: what the return took is given back, once. */
  returnFailedIn?(tx: SqlExecutor, returnId: string): Promise<void>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Makes the step and says what happened, in order. Durable when it resolves. */
export async function syncQuote(
  context: SyncContext,
  id: string,
  facts: PaymentFacts,
  ticket: number,
): Promise<CardObservation[]> {
  try {
    return await context.sql.transaction((tx) => step(tx, context, id, facts, ticket));
  } catch (error) {
    // The delivery was undone with its transaction; what is left is to remember why and to give the money back.
    if (error instanceof PurchaseRefused || error instanceof PromoCodeRefused) {
      const reason = error instanceof PromoCodeRefused ? 'promo_code' : error.message;
      return context.sql.transaction((tx) => refuse(tx, context, id, facts, ticket, reason));
    }
    throw error;
  }
}

/** Ends a quote that can no longer be paid. */
export async function failQuote(
  context: SyncContext,
  id: string,
  reason: string,
): Promise<CardObservation[]> {
  return context.sql.transaction(async (tx) => {
    const row = await lockQuote(tx, id);
    if (row === undefined || (row.state !== 'quoted' && row.state !== 'opening')) return [];
    return fail(tx, context, row, reason, false);
  });
}

async function step(
  tx: SqlExecutor,
  context: SyncContext,
  id: string,
  facts: PaymentFacts,
  ticket: number,
): Promise<CardObservation[]> {
  const stored = await readyQuote(tx, context, id, facts, ticket);
  if (stored === undefined) return [];
  const row = informed(stored, facts, ticket);
  if (row.state === 'opening' || row.state === 'quoted') {
    if (facts.status === 'closed') return fail(tx, context, row, 'expired', false);
    if (facts.status === 'open') return remember(tx, context, row);
    return paid(tx, context, row, facts);
  }
  const current: QuoteRow = { ...row, refundDue: row.undelivered && owesRefund(facts) };
  const news = refundNews(row, current, facts);
  const step = row.state === 'failed' ? remember : reverse;
  return [...news, ...(await step(tx, context, current, facts))];
}

/** The quote as it stands once returns whose refunds failed are undone; undefined where the facts are too old. */
async function readyQuote(
  tx: SqlExecutor,
  context: SyncContext,
  id: string,
  facts: PaymentFacts,
  ticket: number,
): Promise<QuoteRow | undefined> {
  const stored = await lockQuote(tx, id);
  if (stored === undefined || stored.appliedTicket > ticket) return undefined;
  const failed = facts.returns.filter(({ state }) => state === 'failed');
  if (failed.length === 0 || stored.returned === 0n) return stored;
  for (const { returnId } of failed) await context.returnFailedIn?.(tx, returnId);
  return lockQuote(tx, id);
}

/** The row with what the provider says its payment is called. */
const informed = (stored: QuoteRow, facts: PaymentFacts, ticket: number): QuoteRow => ({
  ...stored,
  intentId: facts.intentId ?? stored.intentId,
  sessionId: stored.sessionId ?? facts.sessionId,
  appliedTicket: ticket,
});

/** Nothing has happened; that it was asked is kept, so that an older answer is not believed after it. */
async function remember(tx: SqlExecutor, context: SyncContext, row: QuoteRow): Promise<CardObservation[]> {
  await updateQuote(tx, row, context.now());
  return [];
}

async function paid(
  tx: SqlExecutor,
  context: SyncContext,
  row: QuoteRow,
  facts: PaymentFacts,
): Promise<CardObservation[]> {
  const { received } = facts;
  if (received === undefined) throw new Error(`quote ${row.id} is paid without an amount`);
  const fault = faultOf(row, received);
  if (fault !== undefined) return fail(tx, context, row, fault, owesRefund(facts));
  await context.promoUses.useIn(tx, row.id);
  const delivered: QuoteRow & PaidQuote = {
    ...row,
    state: 'paid',
    receiptId: randomUUID(),
    paidAmount: received.amount,
  };
  await updateQuote(tx, delivered, context.now());
  await context.handlersOf(row.purpose).paidIn(tx, delivered);
  return [{ kind: 'paid', quote: delivered }, ...(await reverse(tx, context, delivered, facts))];
}

/** More than was asked is fine: tax comes on top. */
function faultOf(row: QuoteRow, received: NonNullable<PaymentFacts['received']>): string | undefined {
  if (received.currency !== row.currency) return 'currency_mismatch';
  if (received.amount < row.paymentAmount) return 'amount_mismatch';
  if (received.at > row.payableUntil) return 'expired';
  return undefined;
}

const owesRefund = ({ received, refunded, disputed }: PaymentFacts) =>
  received !== undefined && refunded < received.amount && !disputed;

async function fail(
  tx: SqlExecutor,
  context: SyncContext,
  row: QuoteRow,
  reason: string,
  refundDue: boolean,
): Promise<CardObservation[]> {
  const failed: QuoteRow = { ...row, state: 'failed', failure: reason, undelivered: true, refundDue };
  await updateQuote(tx, failed, context.now());
  await context.promoUses.releaseIn(tx, row.id);
  await context.handlersOf(row.purpose).failedIn?.(tx, failed);
  return refundDue ? [{ kind: 'refused', quote: failed, reason }] : [{ kind: 'expired', quote: failed }];
}

async function refuse(
  tx: SqlExecutor,
  context: SyncContext,
  id: string,
  facts: PaymentFacts,
  ticket: number,
  reason: string,
): Promise<CardObservation[]> {
  const row = await lockQuote(tx, id);
  if (row === undefined || row.appliedTicket > ticket) return [];
  if (row.state !== 'quoted' && row.state !== 'opening') return [];
  return fail(tx, context, informed(row, facts, ticket), reason, owesRefund(facts));
}

/** A quote that was given up was paid all the same, its payment has gone back, or has come back to us again. */
function refundNews(before: QuoteRow, after: QuoteRow, facts: PaymentFacts): CardObservation[] {
  if (before.refundDue === after.refundDue) return [];
  if (!after.refundDue) return facts.disputed ? [] : [{ kind: 'refunded', quote: after }];
  if (after.refundTries === 0) {
    return [{ kind: 'refused', quote: after, reason: after.failure ?? 'undelivered' }];
  }
  return [{ kind: 'refund-failed', quote: after, reason: 'returned', final: isGivenUp(after) }];
}

/** Takes back what the payer took back, or gives again what the payer lost the claim to. */
async function reverse(
  tx: SqlExecutor,
  context: SyncContext,
  row: QuoteRow,
  facts: PaymentFacts,
): Promise<CardObservation[]> {
  const { receiptId, paidAmount } = row;
  if (facts.status !== 'paid' || receiptId === undefined || paidAmount === undefined) {
    return remember(tx, context, row);
  }
  const target = shareTakenBack(row, paidAmount, facts);
  const state = facts.disputed ? 'charged_back' : facts.refunded >= paidAmount ? 'refunded' : 'paid';
  if (target === row.takenBack && state === row.state) return remember(tx, context, row);
  const reversals = row.reversals + 1;
  const changed: QuoteRow & PaidQuote = { ...row, receiptId, state, takenBack: target, reversals };
  await updateQuote(tx, changed, context.now());
  const handlers = context.handlersOf(row.purpose);
  // What a dispute takes and a won dispute gives back are one pair of reasons; refunds are the other.
  const wasDisputed = row.state === 'charged_back';
  const reason: Reversal['reason'] = facts.disputed || wasDisputed ? 'chargeback' : 'card_refund';
  const id = `${receiptId}:${reversals}`;
  const remaining = winc(row.winc - target);
  if (target > row.takenBack) {
    await handlers.takenBackIn(tx, changed, { id, amount: winc(target - row.takenBack), remaining, reason });
    return [{ kind: 'taken-back', quote: changed, reason }, ...(await suspicion(tx, context, changed))];
  }
  if (target < row.takenBack) {
    await handlers.givenBackIn(tx, changed, { id, amount: winc(row.takenBack - target), remaining, reason });
    return [{ kind: 'given-back', quote: changed }];
  }
  return [];
}

/**
 * All of it while a dispute stands, else the part that was refunded, rounded in the payer's favour. What returns took is
 * not taken again: neither by the refunds that they asked for, nor by a dispute.
 */
export function shareTakenBack(
  { winc: total, returned }: Pick<QuoteRow, 'winc' | 'returned'>,
  paidAmount: number,
  { disputed, refunded, returns }: Pick<PaymentFacts, 'disputed' | 'refunded' | 'returns'>,
): Winc {
  const left = winc(total - returned);
  if (disputed || refunded >= paidAmount) return left;
  const own = returns.reduce((sum, { amount, state }) => (state === 'failed' ? sum : sum + amount), 0);
  const others = BigInt(Math.max(0, refunded - own));
  const share = winc((total * others) / BigInt(paidAmount));
  return share < left ? share : left;
}

async function suspicion(tx: SqlExecutor, context: SyncContext, quote: QuoteRow): Promise<CardObservation[]> {
  if (quote.state !== 'charged_back' || quote.debtor === undefined) return [];
  const chargebacks = await chargebacksOf(tx, quote.debtor.address);
  return chargebacks > context.maxChargebacks ? [{ kind: 'suspicious', quote, chargebacks }] : [];
}
