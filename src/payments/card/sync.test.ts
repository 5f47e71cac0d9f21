import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PromoCodeRefused } from '../../pricing/pricing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { PurchaseRefused } from './errors.ts';
import { cardMigrations } from './migrations.ts';
import type { PaymentFacts } from './provider.ts';
import { failQuote, syncQuote } from './sync.ts';
import { now, paid, setUpQuote } from './testing.ts';

forEachEngine((_engine, open) => {
  it('delivers once, takes back and gives again along what the provider says', async () => {
    const { calls, sync, row } = await setUpQuote(await open(cardMigrations));
    await sync({ status: 'open', received: undefined });
    await sync({});
    await sync({});
    await sync({ refunded: 250 });
    await sync({ refunded: 250, disputed: true });
    await sync({ refunded: 250, disputed: true });
    await sync({ refunded: 250 });
    await sync({ refunded: 1000 });
    assert.deepEqual(calls, [
      'paid',
      '-250 (750 left) card_refund 1',
      '-750 (0 left) chargeback 2',
      '+750 (750 left) 3',
      '-750 (0 left) card_refund 4',
    ]);
    assert.equal((await row()).state, 'refunded');
  });

  it('does not believe an answer after a later question was answered', async () => {
    const { context, calls, ask, row } = await setUpQuote(await open(cardMigrations));
    const [first, second, third] = [await ask(), await ask(), await ask()];
    await syncQuote(context, 'quote', paid, second);
    await syncQuote(context, 'quote', { ...paid, disputed: true }, first);
    assert.deepEqual(calls, ['paid']);
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
      const { calls, sync, row } = await setUpQuote(await open(cardMigrations), refusal);
      const observed = await sync(facts);
      assert.deepEqual(
        observed.map(({ kind }) => kind),
        ['refused'],
      );
      assert.deepEqual(calls, ['promo released', 'failed']);
      const { state, refundDue, failure: reason, receiptId } = await row();
      assert.deepEqual([state, refundDue, reason, receiptId], ['failed', true, failure, undefined]);
    }
  });

  it('takes more than was asked, as when tax comes on top', async () => {
    const { calls, sync } = await setUpQuote(await open(cardMigrations));
    await sync({ received: { amount: 1190, currency: 'usd', at: now } });
    assert.deepEqual(calls, ['paid']);
  });

  it('refunds a payment of a quote that was given up, and not one that was refunded already', async () => {
    const { context, sync, row } = await setUpQuote(await open(cardMigrations));
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
