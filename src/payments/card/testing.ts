/** One quote and a provider's word on it, for tests. */
import assert from 'node:assert/strict';
import { PromoCodeRefused, winc } from '../../pricing/pricing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { PurchaseRefused } from './errors.ts';
import type { PaymentFacts } from './provider.ts';
import { insertQuote, type QuoteRow, readQuote, takeTicket, untouched } from './quotes.ts';
import { type SyncContext, syncQuote } from './sync.ts';

export const now = 1_700_000_000_000;
export const aQuote: QuoteRow = {
  id: 'quote',
  purpose: 'test',
  state: 'quoted',
  method: 'payment-intent',
  sessionId: undefined,
  intentId: 'pi_1',
  address: 'wallet',
  addressType: 'arweave',
  debtor: { address: 'wallet', addressType: 'arweave' },
  currency: 'usd',
  paymentAmount: 1000,
  quotedPaymentAmount: 1000,
  winc: winc(1_000n),
  details: {},
  expiresAt: now + 1_800_000,
  payableUntil: now + 2_400_000,
  ...untouched,
  createdAt: now,
};
export const addQuote = (sql: Sql, id: string, more: Partial<QuoteRow> = {}, dueAt = 0): Promise<void> =>
  sql.transaction((tx) =>
    insertQuote(tx, {
      row: { ...aQuote, id, intentId: `pi_${id}`, ...more },
      adjustments: '[]',
      referer: null,
      dueAt,
    }),
  );

/** What the provider says of a payment that went well. */
export const paid: PaymentFacts = {
  status: 'paid',
  intentId: 'pi_1',
  sessionId: undefined,
  received: { amount: 1000, currency: 'usd', at: now + 1_000 },
  refunded: 0,
  returns: [],
  disputed: false,
};

/** `calls` are those of the purpose's handlers; `refusal` is what it or the promo code says to a payment. */
export async function setUpQuote(sql: Sql, refusal?: Error) {
  await sql.transaction((tx) =>
    insertQuote(tx, { row: aQuote, adjustments: '[]', referer: null, dueAt: now }),
  );
  const calls: string[] = [];
  const context: SyncContext = {
    sql,
    maxChargebacks: 1,
    now: () => now,
    promoUses: {
      holdIn: async () => {},
      useIn: async () => {
        if (refusal instanceof PromoCodeRefused) throw refusal;
      },
      releaseIn: async () => {
        calls.push('promo released');
      },
    },
    handlersOf: () => ({
      async paidIn() {
        if (refusal instanceof PurchaseRefused) throw refusal;
        calls.push('paid');
      },
      async takenBackIn(_tx, _quote, { id, amount, remaining, reason }) {
        calls.push(`-${amount} (${remaining} left) ${reason} ${id.split(':')[1]}`);
      },
      async givenBackIn(_tx, _quote, { id, amount, remaining }) {
        calls.push(`+${amount} (${remaining} left) ${id.split(':')[1]}`);
      },
      async failedIn() {
        calls.push('failed');
      },
    }),
  };
  const ask = async () => (await sql.transaction((tx) => takeTicket(tx, 'quote'))) ?? 0;
  const sync = async (facts: Partial<PaymentFacts>) =>
    syncQuote(context, 'quote', { ...paid, ...facts }, await ask());
  const row = async () => {
    const found = await readQuote(sql, 'quote');
    assert.ok(found !== undefined);
    return found;
  };
  return { context, calls, ask, sync, row };
}
