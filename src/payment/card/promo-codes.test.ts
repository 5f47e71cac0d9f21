/** Limited promo codes between wallets that quote and wallets that pay. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type CardBench, ledgerMigrations, openCardBench } from '../../../test/support/card-bench.ts';
import { addRow } from '../../pricing/catalogue/rows.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';

const credited = 1_225_600_000_000n;
const walletOf = (letter: string) => `${letter.repeat(42)}A`;

const addCode = (bench: CardBench, maxUses: number) =>
  addRow(
    bench.sql,
    {
      kind: 'promo',
      name: 'Sale',
      operator: 'multiply',
      magnitude: '0.8',
      code: 'SALE',
      startsAt: 0,
      maxUses,
    },
    Date.now(),
  );

async function quote(bench: CardBench, address: string): Promise<{ quoteId: string; intentId: string }> {
  const { status, text, body } = await bench.topUp(`payment-intent/${address}/usd/1000?promoCode=SALE`);
  assert.equal(status, 200, text);
  assert.equal(body.topUpQuote.paymentAmount, 800);
  return { quoteId: String(body.topUpQuote.topUpQuoteId), intentId: body.paymentSession.id };
}

const outcome = async (bench: CardBench, quoteId: string) => {
  const found = await bench.cards.quote(quoteId);
  return [found?.state, found?.failure];
};

forEachEngine((_engine, open) => {
  it('lets a buyer pay with the last use of a code, however many quotes a stranger has open', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    await addCode(bench, 1);
    for (let opened = 0; opened < 3; opened += 1) await quote(bench, walletOf('m'));
    await quote(bench, walletOf('b'));
    const reloaded = await quote(bench, walletOf('b'));
    await bench.confirm(reloaded.intentId);
    await bench.until(async () => (await bench.balance(walletOf('b'))) === credited);
    const late = await bench.topUp(`payment-intent/${walletOf('c')}/usd/1000?promoCode=SALE`);
    assert.equal(late.status, 400);
    assert.equal(
      late.text,
      JSON.stringify("The promo code 'SALE' has already been used the maximum number of times (1)"),
    );
  });

  it('gives the last use to one of two who pay at once, and the other their money back', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    await addCode(bench, 1);
    const wallets = [walletOf('a'), walletOf('b')];
    const orders = await Promise.all(wallets.map((address) => quote(bench, address)));
    // Both payments are known before either is told of.
    await bench.faults({ hold: true });
    for (const { intentId } of orders) await bench.confirm(intentId);
    await bench.faults({ hold: false });
    await bench.until(async () => {
      const states = await Promise.all(orders.map(({ quoteId }) => outcome(bench, quoteId)));
      return states.every(([state]) => state === 'paid' || state === 'failed');
    });
    await bench.cards.settled();
    const states = await Promise.all(orders.map(({ quoteId }) => outcome(bench, quoteId)));
    assert.deepEqual(states.map(String).sort(), ['failed,promo_code', 'paid,']);
    const winner = states.findIndex(([state]) => state === 'paid');
    const loser = 1 - winner;
    assert.equal(await bench.balance(wallets[winner]), credited);
    assert.equal(await bench.balance(wallets[loser]), 0n);
    const refunds = await Promise.all(
      orders.map(async ({ intentId }) => {
        const { data } = await bench.stripe.refunds.list({ payment_intent: intentId });
        return data.reduce((sum, refund) => sum + refund.amount, 0);
      }),
    );
    assert.deepEqual([refunds[winner], refunds[loser]], [0, 800]);
    const used = await bench.sql.all("SELECT 1 AS one FROM pricing_promo_uses WHERE state = 'used'");
    assert.equal(used.length, 1);
  });
});
