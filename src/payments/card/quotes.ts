/** Quotes as they are kept. One row from the first question to the last dispute; its state says where it is. */

import type { Winc } from '../../credits/credits.ts';
import { winc } from '../../credits/credits.ts';
import { parseCurrency } from '../../pricing/currencies.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { CardMethod, CardQuote, QuoteState } from './card.ts';

export interface QuoteRow extends CardQuote {
  readonly sessionId: string | undefined;
  readonly intentId: string | undefined;
  /** Until then a payment is taken; what comes later goes back. */
  readonly payableUntil: number;
  readonly paidAmount: number | undefined;
  /** How much of the winc the payer has taken back so far. */
  readonly takenBack: Winc;
  /** How many reversals there were, so that each has a number of its own. */
  readonly reversals: number;
  /** Nothing was delivered for it: whatever is paid goes back. */
  readonly undelivered: boolean;
  /** The payment is with us and has to go back; so until the provider says that it has. */
  readonly refundDue: boolean;
  /** How often the provider was asked to give it back, and answered. Each try has an idempotency key of its own. */
  readonly refundTries: number;
  /** Not to be tried again before. */
  readonly refundAfter: number;
  readonly attempts: number;
  /** The ticket of the question whose answer the row shows (see `takeTicket`). */
  readonly appliedTicket: number;
}

/** What of a row nobody has paid, asked about or given back yet. */
export const untouched = {
  receiptId: undefined,
  paidAmount: undefined,
  takenBack: winc(0n),
  reversals: 0,
  failure: undefined,
  undelivered: false,
  refundDue: false,
  refundTries: 0,
  refundAfter: 0,
  attempts: 0,
  appliedTicket: 0,
} as const;

/** About three days; some cards never take anything back. */
export const mostRefundTries = 8;

/** Whether it is left to a person. It stays owed: what is given back by hand is seen like any refund. */
export const isGivenUp = (quote: Pick<QuoteRow, 'refundDue' | 'refundTries'>): boolean =>
  quote.refundDue && quote.refundTries >= mostRefundTries;

interface StoredQuote {
  id: string;
  purpose: string;
  state: string;
  method: string;
  session_id: string | null;
  intent_id: string | null;
  address: string;
  address_type: string;
  debtor: string | null;
  debtor_type: string | null;
  currency: string;
  amount: number;
  quoted_amount: number;
  winc: string;
  details: string;
  expires_at: number;
  payable_until: number;
  receipt_id: string | null;
  paid_amount: number | null;
  taken_back: string;
  reversals: number;
  failure: string | null;
  undelivered: number;
  refund_due: number;
  refund_tries: number;
  refund_after: number;
  attempts: number;
  applied_ticket: number;
  created_at: number;
}

const columns = `id, purpose, state, method, session_id, intent_id, address, address_type, currency, amount,
  quoted_amount, winc, details, expires_at, payable_until, receipt_id, paid_amount, taken_back, reversals,
  failure, undelivered, refund_due, refund_tries, refund_after, attempts, applied_ticket, created_at, debtor, debtor_type`;

const states: readonly QuoteState[] = ['opening', 'quoted', 'paid', 'charged_back', 'refunded', 'failed'];

function fromStored(row: StoredQuote): QuoteRow {
  const state = states.find((known) => known === row.state);
  const currency = parseCurrency(row.currency);
  if (state === undefined || currency === undefined) throw new Error(`card quote ${row.id} cannot be read`);
  const details: CardQuote['details'] = JSON.parse(row.details);
  const method: CardMethod = row.method === 'payment-intent' ? 'payment-intent' : 'checkout-session';
  return {
    id: row.id,
    purpose: row.purpose,
    state,
    method,
    sessionId: row.session_id ?? undefined,
    intentId: row.intent_id ?? undefined,
    address: row.address,
    addressType: row.address_type,
    debtor: row.debtor === null ? undefined : { address: row.debtor, addressType: row.debtor_type ?? '' },
    currency,
    paymentAmount: row.amount,
    quotedPaymentAmount: row.quoted_amount,
    winc: winc(BigInt(row.winc)),
    details,
    expiresAt: row.expires_at,
    payableUntil: row.payable_until,
    receiptId: row.receipt_id ?? undefined,
    paidAmount: row.paid_amount ?? undefined,
    takenBack: winc(BigInt(row.taken_back)),
    reversals: row.reversals,
    failure: row.failure ?? undefined,
    undelivered: row.undelivered === 1,
    refundDue: row.refund_due === 1,
    refundTries: row.refund_tries,
    refundAfter: row.refund_after,
    attempts: row.attempts,
    appliedTicket: row.applied_ticket,
    createdAt: row.created_at,
  };
}

export async function readQuote(executor: SqlExecutor, id: string): Promise<QuoteRow | undefined> {
  const row = await executor.get<StoredQuote>(`SELECT ${columns} FROM card_quotes WHERE id = ?`, id);
  return row === undefined ? undefined : fromStored(row);
}

/** For a transaction that will change it. */
export async function lockQuote(tx: SqlExecutor, id: string): Promise<QuoteRow | undefined> {
  const row = await tx.get<StoredQuote>(
    `SELECT ${columns} FROM card_quotes WHERE id = ? ${tx.forUpdate}`,
    id,
  );
  return row === undefined ? undefined : fromStored(row);
}

export async function quoteIdBy(
  executor: SqlExecutor,
  column: 'intent_id' | 'session_id',
  value: string,
): Promise<string | undefined> {
  const row = await executor.get<{ id: string }>(`SELECT id FROM card_quotes WHERE ${column} = ?`, value);
  return row?.id;
}

export interface NewQuote {
  readonly row: QuoteRow;
  readonly adjustments: string;
  readonly referer: string | null;
  /** When to ask the provider for the first time, should no webhook come. */
  readonly dueAt: number;
}

export async function insertQuote(
  tx: SqlExecutor,
  { row, adjustments, referer, dueAt }: NewQuote,
): Promise<void> {
  await tx.run(
    `INSERT INTO card_quotes (${columns}, adjustments, referer, tickets, due_at, changed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
    row.id,
    row.purpose,
    row.state,
    row.method,
    row.sessionId ?? null,
    row.intentId ?? null,
    row.address,
    row.addressType,
    row.currency,
    row.paymentAmount,
    row.quotedPaymentAmount,
    row.winc.toString(),
    JSON.stringify(row.details),
    row.expiresAt,
    row.payableUntil,
    row.receiptId ?? null,
    row.paidAmount ?? null,
    row.takenBack.toString(),
    row.reversals,
    row.failure ?? null,
    row.undelivered ? 1 : 0,
    row.refundDue ? 1 : 0,
    row.refundTries,
    row.refundAfter,
    row.attempts,
    row.appliedTicket,
    row.createdAt,
    row.debtor?.address ?? null,
    row.debtor?.addressType ?? null,
    adjustments,
    referer,
    dueAt,
    row.createdAt,
  );
}

/** Writes what may change after a quote was made. */
export async function updateQuote(tx: SqlExecutor, row: QuoteRow, now: number): Promise<void> {
  await tx.run(
    `UPDATE card_quotes SET state = ?, session_id = ?, intent_id = ?, receipt_id = ?, paid_amount = ?,
       taken_back = ?, reversals = ?, failure = ?, undelivered = ?, refund_due = ?, refund_tries = ?,
       refund_after = ?, applied_ticket = ?, changed_at = ? WHERE id = ?`,
    row.state,
    row.sessionId ?? null,
    row.intentId ?? null,
    row.receiptId ?? null,
    row.paidAmount ?? null,
    row.takenBack.toString(),
    row.reversals,
    row.failure ?? null,
    row.undelivered ? 1 : 0,
    row.refundDue ? 1 : 0,
    row.refundTries,
    row.refundAfter,
    row.appliedTicket,
    now,
    row.id,
  );
}

/** Quotes that wait for a payment or a refund and are due to be looked at. */
export async function dueQuotes(executor: SqlExecutor, now: number, limit: number): Promise<string[]> {
  const rows = await executor.all<{ id: string }>(
    `SELECT id FROM card_quotes WHERE (state IN ('opening', 'quoted') OR refund_due = 1) AND due_at <= ?
     ORDER BY due_at LIMIT ?`,
    now,
    limit,
  );
  return rows.map(({ id }) => id);
}

/** Everything open is due now: what happened while nobody listened is asked for. */
export async function wakeOpenQuotes(tx: SqlExecutor, now: number): Promise<void> {
  await tx.run(
    "UPDATE card_quotes SET due_at = ? WHERE (state IN ('opening', 'quoted') OR refund_due = 1) AND due_at > ?",
    now,
    now,
  );
}

export async function postponeQuote(tx: SqlExecutor, id: string, dueAt: number): Promise<void> {
  await tx.run('UPDATE card_quotes SET due_at = ?, attempts = attempts + 1 WHERE id = ?', dueAt, id);
}

/**
 * Numbers the questions about a quote in the order they are asked. An answer is applied only when no later
 * question has been answered before: two workers may ask at once, and neither brings back what is past.
 */
export async function takeTicket(tx: SqlExecutor, id: string): Promise<number | undefined> {
  const row = await tx.get<{ tickets: number }>(
    'UPDATE card_quotes SET tickets = tickets + 1 WHERE id = ? RETURNING tickets',
    id,
  );
  return row?.tickets;
}

export async function chargebacksOf(executor: SqlExecutor, debtor: string): Promise<number> {
  const row = await executor.get<{ n: number }>(
    "SELECT COUNT(*) AS n FROM card_quotes WHERE debtor = ? AND state = 'charged_back'",
    debtor,
  );
  return Number(row?.n ?? 0);
}
