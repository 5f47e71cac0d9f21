/** Returns to cards, through the local provider: what its webhooks say later takes nothing twice. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { type CardBench, ledgerMigrations, openCardBench, wallet } from '../../../test/support/card-bench.ts';
import { winc } from '../../credits/credits.ts';
import { silentLog } from '../../kernel/testing.ts';
import { checkReturns } from '../../payments/returns/check.ts';
import { createCreditReturns } from '../../payments/returns/credit-returns.ts';
import { dayMs } from '../../payments/returns/testing.ts';
import { cardWay } from '../../payments/returns/ways/card.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';

const full = 1_225_600_000_000n;
const rules = { windowMs: 14 * dayMs, feeBasisPoints: 0n, minimumWinc: winc(1n) };

async function openBench(t: TestContext, open: OpenForTest, method?: string) {
  const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
  const { intentId, quoteId } = await bench.intent();
  await bench.confirm(intentId, method);
  await bench.until(async () => (await bench.balance()) === full);
  // The card payments of now: a restart makes others.
  const cards = {
    refundReturn: (...order: Parameters<CardBench['cards']['refundReturn']>) =>
      bench.cards.refundReturn(...order),
  };
  const way = cardWay(cards);
  const returns = createCreditReturns(rules, {
    ...{ sql: bench.sql, credits: bench.credits, log: silentLog },
    ways: { wayOf: () => way, readerOf: () => undefined, close: async () => {} },
  });
  const work = async () => {
    returns.start();
    await returns.settled();
    await returns.stop();
  };
  const receiptId = (await bench.cards.quote(quoteId))?.receiptId ?? '';
  return {
    ...{ bench, intentId, quoteId, returns, work, cards, receiptId },
    ask: (amount?: bigint) =>
      returns.request({
        wallet: { kind: 'arweave', address: wallet },
        payment: receiptId,
        amount: amount === undefined ? undefined : winc(amount),
        requestKey: crypto.randomUUID(),
      }),
    refunds: async () => (await bench.stripe.refunds.list({ payment_intent: intentId, limit: 100 })).data,
    state: async () => (await returns.of(wallet, 1))[0]?.state,
    async assertSound() {
      assert.deepEqual((await bench.credits.selfCheck()).problems, []);
      assert.deepEqual(await checkReturns(bench.sql), []);
    },
    /** Every webhook that the refunds caused was dealt with. */
    async heard(type: string, times: number) {
      await bench.until(async () => {
        const done = await bench.sql.all(
          "SELECT 1 AS x FROM card_events WHERE type = ? AND state = 'done'",
          type,
        );
        return done.length >= times;
      });
      await bench.cards.settled();
    },
  };
}

forEachEngine((_engine, open) => {
  it('refunds the unspent share once, and its webhooks take no more credits', async (t) => {
    const { bench, ask, work, refunds, heard, state, assertSound, cards, quoteId } = await openBench(t, open);
    const spent = winc(full / 4n);
    await bench.credits.spend({
      ...{ id: 'item', reason: 'upload', signer: wallet, signerType: 'arweave', amount: spent },
    });
    const { made } = await ask();
    assert.deepEqual([made.winc, made.amount], [full - spent, 750n]);
    await work();
    await heard('charge.refunded', 1);
    // An answer that was lost is asked for again: it is the same refund.
    await cards.refundReturn(quoteId, made.id, 750);
    assert.deepEqual(
      (await refunds()).map(({ amount, status }) => [amount, status]),
      [[750, 'succeeded']],
    );
    assert.equal(await state(), 'confirmed');
    assert.equal(await bench.balance(), 0n);
    await bench.restart();
    await bench.cards.settled();
    assert.equal(await bench.balance(), 0n);
    await assertSound();
  });

  it('gives the credits back when the refund fails after it was made', async (t) => {
    const { bench, ask, work, heard, state, assertSound } = await openBench(t, open, 'pm_card_refundFail');
    await ask(full / 2n);
    await work();
    await heard('refund.failed', 1);
    await bench.until(async () => (await bench.balance()) === full);
    assert.equal(await state(), 'failed');
    await assertSound();
  });

  it('takes by a dispute only what was not returned, and returns nothing of a disputed payment', async (t) => {
    const { bench, ask, work, intentId, quoteId, assertSound } = await openBench(t, open);
    await ask(full / 2n);
    await work();
    await bench.stripe.refunds.create({ payment_intent: intentId, amount: 100 });
    await bench.until(async () => (await bench.balance()) === full / 2n - full / 10n);
    assert.equal((await bench.cards.quote(quoteId))?.state, 'paid');
    // Whatever the operator refunds beyond: all that is left is taken, and nothing of what was returned.
    await bench.stripe.refunds.create({ payment_intent: intentId, amount: 400 });
    await bench.until(async () => (await bench.balance()) === 0n);
    await bench.cards.settled();
    assert.equal((await bench.cards.quote(quoteId))?.state, 'refunded');
    await assert.rejects(ask(), /disputed or has gone back|nothing of it is left/);
    await assertSound();
  });

  it('takes what was being returned as well, where all of the payment went back before its refund was made', async (t) => {
    const { bench, ask, work, intentId, state, assertSound } = await openBench(t, open);
    await ask(full / 2n);
    await bench.stripe.refunds.create({ payment_intent: intentId });
    await bench.until(async () => (await bench.balance()) === 0n);
    await work();
    assert.equal(await state(), 'failed');
    await bench.restart();
    await bench.until(async () => (await bench.balance()) === 0n);
    await assertSound();
  });

  it('gives the credits back where the provider refuses, because the payment has gone back already', async (t) => {
    const { bench, ask, work, intentId, state, assertSound } = await openBench(t, open);
    await bench.faults({ hold: true });
    await bench.stripe.refunds.create({ payment_intent: intentId });
    await ask();
    await work();
    assert.equal(await state(), 'failed');
    assert.equal(await bench.balance(), full);
    await bench.faults({});
    await bench.until(async () => (await bench.balance()) === 0n);
    await assertSound();
  });
});
