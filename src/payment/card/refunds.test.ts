/** Payments that have to go back, by a bank that may not take them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type CardBench, ledgerMigrations, openCardBench } from '../../../test/support/card-bench.ts';
import { winc } from '../../credits/credits.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { mostRefundTries } from '../../payments/card/quotes.ts';
import { countOwedRefunds, endRefundByHand, owedRefunds } from '../../payments/card/refunds.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { cardMetrics } from './part.ts';

const hour = 3_600_000;
/** A quote can be paid for so long. */
const payable = 1_800_000 + 60_000 + 600_000;

/** A payment that comes too late, by a card to which nothing can be given back. */
async function payTooLate(bench: CardBench, method: string): Promise<{ quoteId: string; intentId: string }> {
  const order = await bench.intent();
  bench.clock.offsetMs = payable + 2_000;
  await bench.confirm(order.intentId, method);
  await bench.until(async () => (await bench.cards.quote(order.quoteId))?.failure === 'expired');
  return order;
}

/** Everything the provider has announced was dealt with. */
async function heard(bench: CardBench, type: string, times: number): Promise<void> {
  await bench.until(async () => {
    const done = await bench.sql.all(
      "SELECT 1 AS x FROM card_events WHERE type = ? AND state = 'done'",
      type,
    );
    return done.length >= times;
  });
  await bench.cards.settled();
}

const tries = async (bench: CardBench, intentId: string) =>
  (await bench.stripe.refunds.list({ payment_intent: intentId, limit: 100 })).data.length;

const kinds = (bench: CardBench) => bench.observations.map(({ kind }) => kind);

forEachEngine((_engine, open) => {
  it('tries a refund that fails anew each time, less and less often, and never counts it as made', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { quoteId, intentId } = await payTooLate(bench, 'pm_card_refundFail');
    await heard(bench, 'refund.failed', 1);
    assert.equal(await tries(bench, intentId), 1);
    // Nothing is tried again before its time, whatever else makes the quote be looked at.
    await bench.restart();
    await bench.cards.settled();
    assert.equal(await tries(bench, intentId), 1);

    for (let made = 2; made <= mostRefundTries; made += 1) {
      // The provider forgets a key after a day, so that a key used again would show in the first waits.
      bench.clock.offsetMs += Math.min(60_000 * 4 ** (made - 2), 24 * hour) + 1_000;
      await bench.restart();
      await bench.until(async () => (await tries(bench, intentId)) === made);
      await heard(bench, 'refund.failed', made);
    }
    const [owed] = await owedRefunds(bench.sql, 10);
    assert.deepEqual(
      [owed?.quoteId, owed?.intentId, owed?.amount, owed?.currency, owed?.tries, owed?.givenUp],
      [quoteId, intentId, 1_000, 'usd', mostRefundTries, true],
    );
    assert.deepEqual(await countOwedRefunds(bench.sql), { owed: 1, givenUp: 1 });

    bench.clock.offsetMs += 48 * hour;
    await bench.restart();
    await bench.cards.settled();
    assert.equal(await tries(bench, intentId), mostRefundTries);
    assert.ok(!kinds(bench).includes('refunded'));
    const finals = bench.observations.filter((seen) => seen.kind === 'refund-failed' && seen.final);
    assert.ok(finals.length > 0);
    assert.equal(await bench.balance(), 0n);

    assert.equal(await endRefundByHand(bench.sql, quoteId, Date.now()), true);
    assert.equal(await endRefundByHand(bench.sql, quoteId, Date.now()), false);
    await bench.restart();
    await bench.cards.settled();
    assert.deepEqual(await owedRefunds(bench.sql, 10), []);
  });

  it('knows a refund as made once the provider says that the payment went back', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { intentId } = await payTooLate(bench, 'pm_card_visa');
    await heard(bench, 'charge.refunded', 1);
    assert.equal(await tries(bench, intentId), 1);
    assert.deepEqual(await owedRefunds(bench.sql, 10), []);
    assert.equal(kinds(bench).filter((kind) => kind === 'refunded').length, 1);
    assert.ok(!kinds(bench).includes('refund-failed'));
  });
});

it('shows operators how many refunds are owed, have failed and were given up', async (t) => {
  const bench = await openCardBench(t);
  await payTooLate(bench, 'pm_card_refundFail');
  await heard(bench, 'refund.failed', 1);
  await bench.restart();
  await bench.until(
    async () => kinds(bench).lastIndexOf('refunds') > kinds(bench).lastIndexOf('refund-failed'),
  );
  assert.ok(kinds(bench).includes('losses'));
  const metrics = new Metrics();
  const observe = cardMetrics(metrics);
  for (const seen of bench.observations) observe(seen);
  const text = await metrics.registry.metrics();
  assert.match(text, /^card_refund_failed_total\{final="false"\} 1$/m);
  assert.match(text, /^card_refunds_owed 1$/m);
  assert.match(text, /^card_refunds_given_up 0$/m);
  assert.match(text, /^payment_intent_refunded 0$/m);
  assert.match(text, /^operator_losses_winc 0$/m);
  observe({ kind: 'losses', winc: winc(1_600_000_000_000n) });
  assert.match(await metrics.registry.metrics(), /^operator_losses_winc 1600000000000$/m);
});
