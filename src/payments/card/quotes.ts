/** Quotes as they are kept. One row from the first question to the last dispute; its state says where it is. */

import { Type } from 'typebox';
import { type Winc, winc } from '../../credits/credits.ts';
import { currencies } from '../../pricing/pricing.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { assignments, insertion } from '../../storage/sql/columns.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import {
  amountText,
  flag,
  integerOrNull,
  jsonReader,
  readInteger,
  readText,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import { type CardQuote, cardMethods, quoteStates } from './card.ts';

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

const storedQuote = {
  id: Type.String(),
  purpose: Type.String(),
  state: Type.Enum(quoteStates),
  method: Type.Enum(cardMethods),
  session_id: textOrNull,
  intent_id: textOrNull,
  address: Type.String(),
  address_type: Type.String(),
  debtor: textOrNull,
  debtor_type: textOrNull,
  currency: Type.Enum(currencies),
  amount: Type.Integer(),
  quoted_amount: Type.Integer(),
  winc: amountText,
  details: Type.String(),
  expires_at: Type.Integer(),
  payable_until: Type.Integer(),
  receipt_id: textOrNull,
  paid_amount: integerOrNull,
  taken_back: amountText,
  reversals: Type.Integer(),
  failure: textOrNull,
  undelivered: flag,
  refund_due: flag,
  refund_tries: Type.Integer(),
  refund_after: Type.Integer(),
  attempts: Type.Integer(),
  applied_ticket: Type.Integer(),
  created_at: Type.Integer(),
};
const readStored = rowReader('a card quote', Type.Object(storedQuote));
const readDetails = jsonReader(
  'the details of card quote',
  Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()])),
);
const columns = Object.keys(storedQuote).join(', ');

function fromStored(stored: unknown): QuoteRow {
  const row = readStored(stored);
  return {
    id: row.id,
    purpose: row.purpose,
    state: row.state,
    method: row.method,
    sessionId: row.session_id ?? undefined,
    intentId: row.intent_id ?? undefined,
    address: row.address,
    addressType: row.address_type,
    debtor: row.debtor === null ? undefined : { address: row.debtor, addressType: row.debtor_type ?? '' },
    currency: row.currency,
    paymentAmount: row.amount,
    quotedPaymentAmount: row.quoted_amount,
    winc: winc(BigInt(row.winc)),
    details: readDetails(row.details, row.id),
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

export async function readQuote(
  executor: SqlExecutor,
  id: string,
  lock: SqlExecutor['forUpdate'] = '',
): Promise<QuoteRow | undefined> {
  const row = await executor.get(`SELECT ${columns} FROM card_quotes WHERE id = ? ${lock}`, id);
  return row && fromStored(row);
}

/** For a transaction that will change it. */
export const lockQuote = (tx: SqlExecutor, id: string): Promise<QuoteRow | undefined> =>
  readQuote(tx, id, tx.forUpdate);

export async function quoteIdBy(
  executor: SqlExecutor,
  column: 'intent_id' | 'session_id',
  value: string,
): Promise<string | undefined> {
  const row = await executor.get(`SELECT id FROM card_quotes WHERE ${column} = ?`, value);
  return row && readText(row.id);
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
  const values = {
    id: row.id,
    purpose: row.purpose,
    method: row.method,
    address: row.address,
    address_type: row.addressType,
    debtor: row.debtor?.address ?? null,
    debtor_type: row.debtor?.addressType ?? null,
    currency: row.currency,
    amount: row.paymentAmount,
    quoted_amount: row.quotedPaymentAmount,
    winc: row.winc.toString(),
    details: JSON.stringify(row.details),
    expires_at: row.expiresAt,
    payable_until: row.payableUntil,
    ...changing(row),
    attempts: row.attempts,
    created_at: row.createdAt,
    adjustments,
    referer,
    tickets: 0,
    due_at: dueAt,
    changed_at: row.createdAt,
  };
  await changeOne(tx, `INSERT INTO card_quotes ${insertion(values)}`, ...Object.values(values));
}

/** Writes what may change after a quote was made. */
export async function updateQuote(tx: SqlExecutor, row: QuoteRow, now: number): Promise<void> {
  const values = { ...changing(row), changed_at: now };
  const statement = `UPDATE card_quotes SET ${assignments(values)} WHERE id = ?`;
  await changeOne(tx, statement, ...Object.values(values), row.id);
}

/** The columns that change after a quote was made. */
const changing = (row: QuoteRow) => ({
  state: row.state,
  session_id: row.sessionId ?? null,
  intent_id: row.intentId ?? null,
  receipt_id: row.receiptId ?? null,
  paid_amount: row.paidAmount ?? null,
  taken_back: row.takenBack.toString(),
  reversals: row.reversals,
  failure: row.failure ?? null,
  undelivered: row.undelivered ? 1 : 0,
  refund_due: row.refundDue ? 1 : 0,
  refund_tries: row.refundTries,
  refund_after: row.refundAfter,
  applied_ticket: row.appliedTicket,
});

/** Quotes that wait for a payment or a refund and are due to be looked at. */
export async function dueQuotes(executor: SqlExecutor, now: number, limit: number): Promise<string[]> {
  const rows = await executor.all(
    `SELECT id FROM card_quotes WHERE (state IN ('opening', 'quoted') OR refund_due = 1) AND due_at <= ?
     ORDER BY due_at LIMIT ?`,
    now,
    limit,
  );
  return rows.map((row) => readText(row.id));
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
  await changeOne(tx, 'UPDATE card_quotes SET due_at = ?, attempts = attempts + 1 WHERE id = ?', dueAt, id);
}

/**
 * Numbers the questions about a quote in the order they are asked. An answer is applied only when no later
 * question has been answered before: two workers may ask at once, and neither brings back what is past.
 */
export async function takeTicket(tx: SqlExecutor, id: string): Promise<number | undefined> {
  const row = await tx.get('UPDATE card_quotes SET tickets = tickets + 1 WHERE id = ? RETURNING tickets', id);
  return row && readInteger(row.tickets);
}

export async function chargebacksOf(executor: SqlExecutor, debtor: string): Promise<number> {
  const row = await executor.get(
    "SELECT COUNT(*) AS n FROM card_quotes WHERE debtor = ? AND state = 'charged_back'",
    debtor,
  );
  return readInteger(row?.n);
}
