import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PromoCodeRefused, winc } from '../../pricing/pricing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { PurchaseRefused } from './card.ts';
import { cardMigrations } from './migrations.ts';
import type { PaymentFacts } from './provider.ts';
import { insertQuote, type QuoteRow, readQuote, takeTicket } from './quotes.ts';
import { failQuote, type SyncContext, syncQuote } from './sync.ts';

const now = 1_700_000_000_000;
const quote: QuoteRow = {
  id: 'quote',
  purpose: 'test',
  state: 'quoted',
  method: 'payment-intent',
  sessionId: undefined,
  intentId: 'pi_1',
  address: 'wallet',
  addressType: 'arweave',
  currency: 'usd',
  paymentAmount: 1000,
  quotedPaymentAmount: 1000,
  winc: winc(1_000n),
  details: {},
  expiresAt: now + 1_800_000,
  payableUntil: now + 2_400_000,
  receiptId: undefined,
  paidAmount: undefined,
  takenBack: winc(0n),
  reversals: 0,
  failure: undefined,
  refundDue: false,
  attempts: 0,
  appliedTicket: 0,
  createdAt: now,
};
const paid: PaymentFacts = {
  status: 'paid',
  intentId: 'pi_1',
  sessionId: undefined,
  received: { amount: 1000, currency: 'usd', at: now + 1_000 },
  refunded: 0,
  disputed: false,
};

async function setUp(sql: Sql, refusal?: Error) {
  await sql.transaction((tx) =>
    insertQuote(tx, { row: quote, adjustments: '[]', referer: null, dueAt: now }),
  );
  const told: string[] = [];
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
        told.push('promo released');
      },
    },
    handlerOf: () => ({
      async paidIn() {
        if (refusal instanceof PurchaseRefused) throw refusal;
        told.push('paid');
      },
      async takenBackIn(_tx, _quote, { id, amount, remaining, reason }) {
        told.push(`-${amount} (${remaining} left) ${reason} ${id.split(':')[1]}`);
      },
      async givenBackIn(_tx, _quote, { id, amount, remaining }) {
        told.push(`+${amount} (${remaining} left) ${id.split(':')[1]}`);
      },
      async failedIn() {
        told.push('failed');
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
  return { context, told, ask, sync, row };
}

forEachEngine((_engine, open) => {
  it('delivers once, takes back and gives again along what the provider says', async () => {
    const { told, sync, row } = await setUp(await open(cardMigrations));
    await sync({ status: 'open', received: undefined });
    await sync({});
    await sync({});
    await sync({ refunded: 250 });
    await sync({ refunded: 250, disputed: true });
    await sync({ refunded: 250, disputed: true });
    await sync({ refunded: 250 });
    await sync({ refunded: 1000 });
    assert.deepEqual(told, [
      'paid',
      '-250 (750 left) card_refund 1',
      '-750 (0 left) chargeback 2',
      '+750 (750 left) 3',
      '-750 (0 left) card_refund 4',
    ]);
    assert.equal((await row()).state, 'refunded');
  });

  it('does not believe an answer after a later question was answered', async () => {
    const { context, told, ask, row } = await setUp(await open(cardMigrations));
    const [first, second, third] = [await ask(), await ask(), await ask()];
    await syncQuote(context, 'quote', paid, second);
    await syncQuote(context, 'quote', { ...paid, disputed: true }, first);
    assert.deepEqual(told, ['paid']);
    assert.equal((await row()).state, 'paid');
    await syncQuote(context, 'quote', { ...paid, disputed: true }, third);
    assert.equal((await row()).state, 'charged_back');
  });

  it('gives the money back for a payment that is wrong, late, or can no longer be delivered', async () => {
    const wrong: [Partial<PaymentFacts>, string, Error?][] = [
      [{ received: { amount: 999, currency: 'usd', at: now } }, 'amount_mismatch'],
      [{ received: { amount: 1000, currency: 'eur', at: now } }, 'currency_mismatch'],
      [{ received: { amount: 1000, currency: 'usd', at: now + 2_400_001 } }, 'expired'],
      [{}, 'promo_code', new PromoCodeRefused('used up')],
      [{}, 'sold out', new PurchaseRefused('sold out')],
    ];
    for (const [facts, failure, refusal] of wrong) {
      const { told, sync, row } = await setUp(await open(cardMigrations), refusal);
      const observed = await sync(facts);
      assert.deepEqual(
        observed.map(({ kind }) => kind),
        ['refused'],
      );
      assert.deepEqual(told, ['promo released', 'failed']);
      const { state, refundDue, failure: reason, receiptId } = await row();
      assert.deepEqual([state, refundDue, reason, receiptId], ['failed', true, failure, undefined]);
    }
  });

  it('takes more than was asked, as when tax comes on top', async () => {
    const { told, sync } = await setUp(await open(cardMigrations));
    await sync({ received: { amount: 1190, currency: 'usd', at: now } });
    assert.deepEqual(told, ['paid']);
  });

  it('refunds a payment of a quote that was given up, and not one that was refunded already', async () => {
    const { context, sync, row } = await setUp(await open(cardMigrations));
    await failQuote(context, 'quote', 'session_error');
    await sync({ status: 'open', received: undefined });
    assert.equal((await row()).refundDue, false);
    await sync({});
    assert.equal((await row()).refundDue, true);
    await sync({ refunded: 1000 });
    assert.equal((await row()).refundDue, false);
    assert.equal((await row()).state, 'failed');
  });
});
