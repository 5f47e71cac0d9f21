/** Quotes as they are kept. One row from the first question to the last dispute; its state says where it is. */

import { Type } from 'typebox';
import { type Winc, winc } from '../../credits/credits.ts';
import type { PaymentSummary } from '../../formats/admin-answers.ts';
import { currencies } from '../../pricing/pricing.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { assignments, insertion } from '../../storage/sql/columns.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import {
  columnList,
  columnsOf,
  fieldsReader,
  optionalInteger,
  optionalText,
} from '../../storage/sql/fields.ts';
import type { Row, Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, flag, jsonReader, readInteger, readText } from '../../storage/sql/typed-rows.ts';
import { type NewestQuery, newestRows } from '../newest.ts';
import { type CardQuote, cardMethods, quoteStates } from './card.ts';

export interface QuoteRow extends CardQuote {
  readonly sessionId: string | undefined;
  readonly intentId: string | undefined;
  /** Until then a payment is taken; what comes later goes back. */
  readonly payableUntil: number;
  readonly paidAmount: number | undefined;
  /** How much of the winc the payer has taken back so far. */
  readonly takenBack: Winc;
  /** How much of the winc its holder has returned, or is returning: the payer gets that back by refunds of our own. */
  readonly returned: Winc;
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
  returned: winc(0n),
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

const storedQuote = Type.Object({
  id: Type.String(),
  purpose: Type.String(),
  state: Type.Enum(quoteStates),
  method: Type.Enum(cardMethods),
  sessionId: optionalText,
  intentId: optionalText,
  address: Type.String(),
  addressType: Type.String(),
  debtor: optionalText,
  debtorType: optionalText,
  currency: Type.Enum(currencies),
  amount: Type.Integer(),
  quotedAmount: Type.Integer(),
  winc: amountText,
  details: Type.String(),
  expiresAt: Type.Integer(),
  payableUntil: Type.Integer(),
  receiptId: optionalText,
  paidAmount: optionalInteger,
  takenBack: amountText,
  returned: amountText,
  reversals: Type.Integer(),
  failure: optionalText,
  undelivered: flag,
  refundDue: flag,
  refundTries: Type.Integer(),
  refundAfter: Type.Integer(),
  attempts: Type.Integer(),
  appliedTicket: Type.Integer(),
  createdAt: Type.Integer(),
});
const readStored = fieldsReader('a card quote', storedQuote);
const readDetails = jsonReader(
  'the details of card quote',
  Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()])),
);
const columns = columnList(storedQuote.properties);

function fromStored(stored: Row): QuoteRow {
  const { amount, quotedAmount, debtor, debtorType, ...row } = readStored(stored);
  return {
    ...row,
    debtor: debtor === undefined ? undefined : { address: debtor, addressType: debtorType ?? '' },
    paymentAmount: amount,
    quotedPaymentAmount: quotedAmount,
    winc: winc(BigInt(row.winc)),
    takenBack: winc(BigInt(row.takenBack)),
    returned: winc(BigInt(row.returned)),
    details: readDetails(row.details, row.id),
    undelivered: row.undelivered === 1,
    refundDue: row.refundDue === 1,
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
  const { debtor, details, paymentAmount, quotedPaymentAmount, ...fields } = row;
  const values = columnsOf({
    ...fields,
    debtor: debtor?.address,
    debtorType: debtor?.addressType,
    amount: paymentAmount,
    quotedAmount: quotedPaymentAmount,
    details: JSON.stringify(details),
    adjustments,
    referer,
    tickets: 0,
    dueAt,
    changedAt: row.createdAt,
  });
  await changeOne(tx, `INSERT INTO card_quotes ${insertion(values)}`, ...Object.values(values));
}

/** Writes what may change after a quote was made. */
export async function updateQuote(tx: SqlExecutor, row: QuoteRow, now: number): Promise<void> {
  const { state, sessionId, intentId, receiptId, paidAmount, takenBack, reversals, failure } = row;
  const { undelivered, refundDue, refundTries, refundAfter, appliedTicket } = row;
  const payment = { state, sessionId, intentId, receiptId, paidAmount, takenBack, reversals, failure };
  const refund = { undelivered, refundDue, refundTries, refundAfter };
  const values = columnsOf({ ...payment, ...refund, appliedTicket, changedAt: now });
  const statement = `UPDATE card_quotes SET ${assignments(values)} WHERE id = ?`;
  await changeOne(tx, statement, ...Object.values(values), row.id);
}

/** Paid quotes by their receipts; others are left out. */
export async function quotesByReceipt(
  executor: SqlExecutor,
  receiptIds: readonly string[],
): Promise<Map<string, QuoteRow>> {
  if (receiptIds.length === 0) return new Map();
  const places = receiptIds.map(() => '?').join(', ');
  const rows = await executor.all(
    `SELECT ${columns} FROM card_quotes WHERE receipt_id IN (${places})`,
    ...receiptIds,
  );
  return new Map(rows.map(fromStored).map((quote) => [quote.receiptId ?? '', quote]));
}

/** A return has taken so much of the payment's winc, or, below zero, has given it back. The caller holds the row. */
export async function changeReturned(tx: SqlExecutor, id: string, by: bigint, now: number): Promise<void> {
  const quote = await lockQuote(tx, id);
  const returned = (quote?.returned ?? 0n) + by;
  if (quote === undefined || returned < 0n || returned > quote.winc) {
    throw new Error(`returns cannot have taken ${returned} winc of quote ${id}`);
  }
  const values = columnsOf({ returned, changedAt: now });
  await changeOne(
    tx,
    `UPDATE card_quotes SET ${assignments(values)} WHERE id = ?`,
    ...Object.values(values),
    id,
  );
}

/** Until a quote that may be paid, or a refund that is owed, is looked at again. */
const longestOpenWaitMs = 3_600_000;
/** What a person gave back by hand is heard of by webhook; this is for one that was lost. */
export const longestRefundWaitMs = 24 * 3_600_000;

/** Quotes that wait for a payment or a refund and are due to be looked at. */
export async function dueQuotes(executor: SqlExecutor, now: number, limit: number): Promise<string[]> {
  const rows = await executor.all(
    `SELECT id FROM card_quotes
     WHERE (state IN ('opening', 'quoted') AND ${isDue('due_at')}) OR (refund_due = 1 AND ${isDue('due_at')})
     ORDER BY due_at LIMIT ?`,
    ...dueBounds(now, longestOpenWaitMs),
    ...dueBounds(now, longestRefundWaitMs),
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

/** For operators, the newest first. Amounts are what was charged, in minor units. */
export async function recentQuotes(sql: Sql, query: NewestQuery): Promise<PaymentSummary[]> {
  const all = `${columns}, changed_at`;
  const rows = await newestRows(sql, { table: 'card_quotes', columns: all, id: 'id' }, query);
  return rows.map(({ changed_at: changedAt, ...stored }) => {
    const {
      id,
      state,
      purpose,
      address,
      currency,
      winc: bought,
      failure,
      createdAt,
      ...quote
    } = fromStored(stored);
    return {
      kind: 'card',
      ...{ id, state, purpose, address, currency },
      payer: null,
      amount: String(quote.paidAmount ?? quote.paymentAmount),
      winc: bought.toString(),
      reason: failure ?? null,
      open: quote.refundDue,
      createdAt,
      changedAt: readInteger(changedAt),
    };
  });
}
