import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { CardProviderUnavailable } from './errors.ts';
import { cardMigrations } from './migrations.ts';
import type { PaymentFacts } from './provider.ts';
import { mostRefundTries } from './quotes.ts';
import { countOwedRefunds, giveBackIfOwed, oweRefundIn, type RefundContext } from './refunds.ts';
import { failQuote } from './sync.ts';
import { now, paid, setUpQuote } from './testing.ts';

const day = 24 * 3_600_000;

/** A quote with a provider that does to refunds what the test says, and a clock. */
async function setUp(sql: Sql) {
  const quote = await setUpQuote(sql);
  const clock = { now };
  const world = { facts: paid, onRefund: async (): Promise<string | undefined> => undefined };
  const numbers: number[] = [];
  const context: RefundContext = {
    ...quote.context,
    now: () => clock.now,
    provider: {
      factsOf: async () => world.facts,
      async refund({ refundTries }) {
        numbers.push(refundTries + 1);
        return world.onRefund();
      },
    },
  };
  const giveBack = async () => (await giveBackIfOwed(context, 'quote')).map(({ kind }) => kind);
  const says = (facts: Partial<PaymentFacts>) => {
    world.facts = { ...paid, ...facts };
  };
  return { ...quote, clock, world, numbers, giveBack, says };
}

forEachEngine((_engine, open) => {
  it('asks under the same number until it was answered, then under the next', async () => {
    const sql = await open(cardMigrations);
    const s = await setUp(sql);
    await failQuote(s.context, 'quote', 'expired');
    await s.sync({});
    s.world.onRefund = () => Promise.reject(new CardProviderUnavailable('lost'));
    await assert.rejects(s.giveBack(), CardProviderUnavailable);
    await assert.rejects(s.giveBack(), CardProviderUnavailable);
    s.world.onRefund = async () => undefined;
    assert.deepEqual(await countOwedRefunds(sql), { owed: 1, givenUp: 0 });
    assert.deepEqual(await s.giveBack(), ['refund-failed']);
    assert.equal((await s.row()).refundAfter, now + 60_000);
    assert.deepEqual(await s.giveBack(), []);
    s.clock.now += 60_000;
    assert.deepEqual(await s.giveBack(), ['refund-failed']);
    assert.equal(
      (await s.row()).refundAfter,
      s.clock.now + 240_000,
      'each wait is four times the one before',
    );
    s.clock.now += 240_000 - 1;
    assert.deepEqual(await s.giveBack(), []);
    s.clock.now += day;
    s.world.onRefund = async () => 'charge_already_refunded';
    s.says({ refunded: 1000 });
    assert.deepEqual(await s.giveBack(), ['refunded']);
    assert.deepEqual(s.numbers, [1, 1, 1, 2, 3]);
    assert.deepEqual([(await s.row()).refundDue, (await s.row()).refundTries], [false, 3]);
    assert.deepEqual(await countOwedRefunds(sql), { owed: 0, givenUp: 0 });
  });

  it('counts two that ask at once as one try: they ask under the same key', async () => {
    const s = await setUp(await open(cardMigrations));
    await failQuote(s.context, 'quote', 'expired');
    await s.sync({});
    const { promise: bothAsked, resolve: answer } = Promise.withResolvers<void>();
    s.world.onRefund = async () => {
      if (s.numbers.length === 2) answer();
      await bothAsked;
      return undefined;
    };
    await Promise.all([s.giveBack(), s.giveBack()]);
    assert.deepEqual(s.numbers, [1, 1]);
    const { refundTries, refundAfter } = await s.row();
    assert.deepEqual([refundTries, refundAfter], [1, now + 60_000]);
  });

  it('counts no try back when the answer to an earlier one comes late', async () => {
    const s = await setUp(await open(cardMigrations));
    await failQuote(s.context, 'quote', 'expired');
    await s.sync({});
    const { promise: late, resolve: answer } = Promise.withResolvers<undefined>();
    s.world.onRefund = () => late;
    const first = s.giveBack();
    while (s.numbers.length === 0) await new Promise(setImmediate);
    s.world.onRefund = async () => undefined;
    await s.giveBack();
    s.clock.now += day;
    await s.giveBack();
    const counted = await s.row();
    answer(undefined);
    await first;
    assert.deepEqual(s.numbers, [1, 1, 2]);
    const { refundTries, refundAfter } = await s.row();
    assert.deepEqual([refundTries, refundAfter], [2, counted.refundAfter]);
  });

  it('is owed again when a refund fails that was thought made, and a hand-made one ends it', async () => {
    const s = await setUp(await open(cardMigrations));
    await failQuote(s.context, 'quote', 'expired');
    await s.sync({});
    s.says({ refunded: 1000 });
    await s.giveBack();
    for (let made = 1; made < mostRefundTries; made += 1) {
      const told = await s.sync({ refunded: 0 });
      assert.deepEqual(told[0], {
        kind: 'refund-failed',
        quote: await s.row(),
        reason: 'returned',
        final: false,
      });
      s.clock.now += day;
      assert.deepEqual(await s.giveBack(), ['refunded']);
    }
    const [last] = await s.sync({ refunded: 0 });
    assert.ok(last?.kind === 'refund-failed' && last.final);
    s.clock.now += 10 * day;
    assert.deepEqual(await s.giveBack(), []);
    assert.equal((await s.row()).refundDue, true);
    assert.equal(s.numbers.length, mostRefundTries);
    assert.deepEqual(
      (await s.sync({ refunded: 1000 })).map(({ kind }) => kind),
      ['refunded'],
    );
    assert.equal((await s.row()).refundDue, false);
  });

  it('gives back what could not be delivered, also after a refund that failed or a dispute that was won', async () => {
    const sql = await open(cardMigrations);
    const s = await setUp(sql);
    await s.sync({});
    await sql.transaction((tx) => oweRefundIn(tx, 'quote', now));
    s.says({ refunded: 1000 });
    assert.deepEqual(await s.giveBack(), ['refunded', 'taken-back']);
    assert.equal((await s.row()).state, 'refunded');
    await s.sync({ refunded: 0 });
    assert.deepEqual([(await s.row()).state, (await s.row()).refundDue], ['paid', true]);
    await s.sync({ refunded: 0, disputed: true });
    assert.deepEqual([(await s.row()).state, (await s.row()).refundDue], ['charged_back', false]);
    await s.sync({ refunded: 0 });
    assert.equal((await s.row()).refundDue, true);
  });

  it('owes nothing for a disputed payment that was not delivered until the dispute is won', async () => {
    const sql = await open(cardMigrations);
    const s = await setUp(sql);
    await s.sync({});
    await s.sync({ disputed: true });
    await sql.transaction((tx) => oweRefundIn(tx, 'quote', now));
    assert.equal((await s.row()).refundDue, false);
    await s.sync({});
    assert.equal((await s.row()).refundDue, true);
    assert.deepEqual(await s.giveBack(), ['refund-failed']);
  });

  it('never owes back what was delivered', async () => {
    const s = await setUp(await open(cardMigrations));
    await s.sync({});
    await s.sync({ refunded: 300 });
    await s.sync({ refunded: 0 });
    assert.equal((await s.row()).refundDue, false);
    assert.deepEqual(await s.giveBack(), []);
    assert.deepEqual(s.numbers, []);
  });
});
