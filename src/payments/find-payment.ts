/** One payment by an id that its payer knows: a chain transaction, an x402 settlement, a card's quote or receipt. */
import { Type } from 'typebox';
import { columnList, fieldsReader } from '../storage/sql/fields.ts';
import type { SqlExecutor } from '../storage/sql/sql.ts';
import { amountText, readText } from '../storage/sql/typed-rows.ts';
import type { QuoteState } from './card/card.ts';
import { readQuote } from './card/quotes.ts';
import type { ChainPaymentRow } from './chain/store.ts';

/** `returned`: it has gone back to the payer, and its credits were taken back. `unclear`: a person looks at it. */
export type PaymentState = 'credited' | 'pending' | 'failed' | 'returned' | 'unclear';

export interface FoundPayment {
  readonly kind: 'chain' | 'x402' | 'card';
  readonly id: string;
  readonly state: PaymentState;
  /** Why, in one sentence for people. */
  readonly explanation: string;
  /** What it is worth. */
  readonly winc: string;
  /** In the smallest unit of `currency`, a token or a card's currency. */
  readonly amount: string;
  readonly currency: string;
  readonly sender: string | null;
  /** The wallet that is credited; null for a gift, which whoever knows its id and its email address may take. */
  readonly address: string | null;
  readonly createdAt: number;
  /** When it was credited, failed or went back. */
  readonly endedAt: number | null;
}

const chainFailures: Readonly<Record<string, string>> = {
  reverted: 'Its chain carried the transaction out and it moved nothing.',
  not_paid: 'In the end it paid nothing to this service.',
  not_found: 'Its chain has not known it for long. It is credited should it appear after all.',
  excluded_sender: 'Payments of this sender are not taken.',
  too_small: 'It is worth less than one winc.',
  voided: 'The operator of this service has ended it.',
};

export function describeChainPayment(row: ChainPaymentRow): FoundPayment {
  const explanation = {
    credited: 'The payment has arrived and its credits are on the account.',
    pending: 'The payment was found and waits for more confirmations of its chain. It is credited by itself.',
    failed: chainFailures[row.failure_reason ?? ''] ?? 'The payment failed.',
  }[row.state];
  return {
    kind: 'chain',
    id: row.transaction_id,
    state: row.state,
    explanation,
    winc: row.winc,
    amount: row.quantity,
    currency: row.token,
    sender: row.sender,
    address: row.destination,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}

const storedX402 = Type.Object({
  id: Type.String(),
  state: Type.Enum(['open', 'credited', 'failed', 'unclear']),
  payer: Type.String(),
  address: Type.String(),
  value: amountText,
  winc: amountText,
  createdAt: Type.Integer(),
  changedAt: Type.Integer(),
});
const readX402 = fieldsReader('an x402 payment', storedX402);

const x402States: Readonly<Record<'open' | 'credited' | 'failed' | 'unclear', [PaymentState, string]>> = {
  open: [
    'pending',
    'It is not known yet whether the transfer was made. It is asked for until that is certain.',
  ],
  credited: ['credited', 'The transfer was made and its credits are on the account.'],
  failed: ['failed', 'The transfer was not made. Nothing was charged.'],
  unclear: ['unclear', 'The transfer may have been made. The operator of this service looks at it.'],
};

/** By the payment's own id, or the transaction that settled it. */
export async function findX402Payment(executor: SqlExecutor, id: string): Promise<FoundPayment | undefined> {
  const stored = await executor.get(
    `SELECT ${columnList(storedX402.properties)} FROM x402_payments WHERE id = ? OR transaction_id = ? LIMIT 1`,
    id,
    id.toLowerCase(),
  );
  if (stored === undefined) return undefined;
  const { state, payer, address, value, winc, createdAt, changedAt, ...row } = readX402(stored);
  const [told, explanation] = x402States[state];
  const endedAt = state === 'credited' || state === 'failed' ? changedAt : null;
  const paid = { winc, amount: value, currency: 'usdc', sender: payer, address };
  return { kind: 'x402', id: row.id, state: told, explanation, ...paid, createdAt, endedAt };
}

const cardStates: Readonly<Record<QuoteState, [PaymentState, string]>> = {
  opening: ['pending', 'The checkout was opened and nothing is paid yet.'],
  quoted: ['pending', 'The checkout is open, or the card provider has not told yet that it was paid.'],
  paid: ['credited', 'The card was charged and what was bought is there.'],
  failed: [
    'failed',
    'The payment did not go through, or came too late. Whatever was charged goes back to the card.',
  ],
  refunded: ['returned', 'The payment has gone back to the card, and its credits were taken back.'],
  charged_back: ['returned', 'The payment is disputed, and its credits were taken back.'],
};

/** By the quote or the receipt: only who paid, or was told by the payer, knows either. */
export async function findCardPayment(executor: SqlExecutor, id: string): Promise<FoundPayment | undefined> {
  const receipt = await executor.get('SELECT id FROM card_quotes WHERE receipt_id = ?', id);
  const quote = await readQuote(executor, receipt === undefined ? id : readText(receipt.id));
  if (quote === undefined) return undefined;
  const [state, explanation] = cardStates[quote.state];
  return {
    kind: 'card',
    id: quote.id,
    state,
    explanation,
    winc: quote.winc.toString(),
    amount: String(quote.paidAmount ?? quote.paymentAmount),
    currency: quote.currency,
    sender: null,
    address: quote.addressType === 'email' ? null : quote.address,
    createdAt: quote.createdAt,
    endedAt: null,
  };
}
