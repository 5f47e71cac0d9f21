/** Random payments, refunds and disputes under webhooks that are lost, doubled and turned round, against a model. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CardBench, openCardBench } from '../../../test/support/card-bench.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';

const full = 1_225_600_000_000n;

interface Modelled {
  readonly intentId: string;
  refunded: number;
  dispute: 'lost' | 'none' | 'open' | 'won';
  paid: boolean;
}

/** What the wallet should have of one payment. */
function worth({ paid, refunded, dispute }: Modelled): bigint {
  if (!paid || dispute === 'open' || dispute === 'lost') return 0n;
  return full - (full * BigInt(refunded)) / 1_000n;
}

async function step(bench: CardBench, random: ReturnType<typeof seededRandom>, payments: Modelled[]) {
  const payment = payments.length === 0 ? undefined : random.pick(payments);
  const kind = random.below(10);
  if (payment === undefined || kind < 4) {
    const { intentId } = await bench.intent();
    payments.push({ intentId, refunded: 0, dispute: 'none', paid: false });
  } else if (kind < 7) {
    if (payment.paid) return;
    const method = random.pick(['pm_card_visa', 'pm_card_createDispute', 'pm_card_chargeDeclined']);
    const outcome = bench.confirm(payment.intentId, method);
    if (method === 'pm_card_chargeDeclined') return assert.rejects(outcome);
    await outcome;
    payment.paid = true;
    if (method === 'pm_card_createDispute') payment.dispute = 'open';
  } else if (kind < 9) {
    const left = 1_000 - payment.refunded;
    if (!payment.paid || payment.dispute !== 'none' || left === 0) return;
    const amount = 1 + random.below(left);
    await bench.stripe.refunds.create({ payment_intent: payment.intentId, amount });
    payment.refunded += amount;
  } else {
    if (payment.dispute !== 'open') return;
    const [dispute] = (await bench.stripe.disputes.list({ payment_intent: payment.intentId })).data;
    const won = random.below(2) === 0;
    await bench.stripe.disputes.update(dispute?.id ?? '', {
      evidence: { uncategorized_text: won ? 'winning_evidence' : 'losing_evidence' },
    });
    payment.dispute = won ? 'won' : 'lost';
  }
}

for (const seed of [1, 2]) {
  test(`the ledger ends where the payments are, whatever becomes of the webhooks (seed ${seed})`, async (t) => {
    const random = seededRandom(seed);
    const bench = await openCardBench(t);
    const payments: Modelled[] = [];
    for (let i = 0; i < 60; i += 1) {
      if (random.below(4) === 0) {
        await bench.faults({
          drop: random.below(3),
          duplicate: random.below(4),
          reverse: random.below(2) === 0,
          hold: random.below(4) === 0,
        });
      }
      if (random.below(25) === 0) await bench.restart();
      await step(bench, random, payments);
    }
    await bench.faults({});
    await bench.restart();
    const expected = payments.reduce((sum, payment) => sum + worth(payment), 0n);
    await bench.until(async () => (await bench.balance()) === expected);
    await bench.cards.settled();
    assert.equal(await bench.balance(), expected);
    const check = await bench.credits.selfCheck();
    assert.deepEqual(check.problems, []);
    assert.ok(payments.some(({ paid }) => paid));
  });
}

test('what was lost after the clock of the service was ahead is read from the list of the provider', async (t) => {
  const bench = await openCardBench(t);
  const { intentId } = await bench.intent();
  await bench.confirm(intentId);
  await bench.until(async () => (await bench.balance()) === full);
  bench.clock.aheadMs = 6 * 3_600_000;
  await bench.restart();
  await bench.cards.settled();
  bench.clock.aheadMs = 0;
  await bench.faults({ hold: true });
  await bench.stripe.refunds.create({ payment_intent: intentId });
  await bench.restart();
  await bench.until(async () => (await bench.balance()) === 0n);
  assert.deepEqual((await bench.credits.selfCheck()).problems, []);
});
