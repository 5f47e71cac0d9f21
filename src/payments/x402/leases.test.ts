/** A payment is worked on by one at a time, and ends once also when one was too slow. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { migrations, type Setting, setUp, stateOf } from '../../../test/support/x402-payments.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { X402InProgress } from './errors.ts';
import { duePayments } from './payment-rows.ts';
import type { X402Payments } from './x402.ts';

const nonce = `0x${'2a'.repeat(32)}`;
const topUp = { purpose: 'top-up' } as const;
const made = { success: true, transaction: `0x${'cd'.repeat(32)}` };
const refused = { success: false, errorReason: 'insufficient_funds', transaction: '' };

interface SlowFacilitator {
  readonly x402: X402Payments;
  /** When it was asked to settle. */
  readonly asked: Promise<void>;
  readonly settlements: () => number;
  answer(body: object): void;
}

/** Payments whose leases are renewed only when the test lets time pass. */
async function setUpStill(t: TestContext, sql: Sql, options: { withChain?: boolean } = {}): Promise<Setting> {
  t.mock.timers.enable({ apis: ['setInterval'] });
  return setUp(t, sql, options);
}

/** Answers a settlement only when it is told to, and what it is told to. */
async function startSlow(t: TestContext, s: Setting): Promise<SlowFacilitator> {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<object>();
  let settlements = 0;
  const server = createServer((request, response) => {
    request.resume();
    settlements += 1;
    asked.resolve();
    void answered.promise.then((body) => response.end(JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    answered.resolve(refused);
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    x402: s.reopen({ X402_FACILITATOR_URL: `http://127.0.0.1:${address.port}` }),
    asked: asked.promise,
    settlements: () => settlements,
    answer: (body) => answered.resolve(body),
  };
}

const leaseOf = async ({ sql }: Setting) =>
  (await sql.get<{ until: number }>('SELECT leased_until AS until FROM x402_payments'))?.until ?? 0;

forEachEngine((_engine, open) => {
  it('holds a payment for as long as a slow facilitator works on it', async (t) => {
    const s = await setUpStill(t, await open(migrations));
    const slow = await startSlow(t, s);
    const payment = await s.read({ nonce });
    assert.ok(payment !== undefined);
    const first = slow.x402.settle(payment, topUp);
    await slow.asked;
    for (let round = 0; round < 5; round += 1) {
      const before = await leaseOf(s);
      s.clock.offsetMs += 9_000;
      t.mock.timers.tick(4_000);
      await eventually('the lease is renewed', async () => (await leaseOf(s)) > before);
    }
    assert.deepEqual(await duePayments(s.sql, Date.now() + s.clock.offsetMs, 10), []);
    await assert.rejects(s.reopen().settle(payment, topUp), X402InProgress);
    assert.equal(await s.tokens(), '5000000', 'nobody else had it carried out');
    await s.settleElsewhere({ nonce });
    slow.answer(made);
    assert.equal((await first).applied, true);
    assert.equal(slow.settlements(), 1);
    assert.equal(await s.balance(), 1_000_000_000n);
    assert.equal(await s.tokens(), '4000000');
  });

  for (const [answer, what] of [
    [made, 'success'],
    [refused, 'refusal'],
  ] as const) {
    for (const withChain of [true, false]) {
      const where = withChain ? 'with' : 'without';
      it(`credits once when a lease lapsed and the first to settle hears of ${what} last, ${where} a chain`, async (t) => {
        const s = await setUpStill(t, await open(migrations), { withChain });
        const slow = await startSlow(t, s);
        const payment = await s.read({ nonce });
        assert.ok(payment !== undefined);
        const first = slow.x402.settle(payment, topUp);
        await slow.asked;
        // As if the first process stood still: its lease is not renewed.
        s.clock.offsetMs = 11_000;
        const second = await s.x402.settle(payment, topUp);
        assert.equal(second.applied, true);
        slow.answer(answer);
        assert.deepEqual(await first, { ...second, applied: false });
        assert.deepEqual(await stateOf(s.sql), ['credited']);
        assert.equal(await s.balance(), 1_000_000_000n);
        assert.equal(await s.tokens(), '4000000');
        assert.equal((await s.credits.selfCheck()).ok, true);
      });
    }
  }

  for (const errorReason of ['insufficient_funds', 'unexpected_settle_error']) {
    it(`lets nobody whose lease lapsed end or free a payment that another works on (${errorReason})`, async (t) => {
      const s = await setUpStill(t, await open(migrations), { withChain: false });
      const [one, two] = [await startSlow(t, s), await startSlow(t, s)];
      const payment = await s.read({ nonce });
      assert.ok(payment !== undefined);
      const first = one.x402.settle(payment, topUp);
      await one.asked;
      s.clock.offsetMs = 11_000;
      const second = two.x402.settle(payment, topUp);
      await two.asked;
      const lease = await leaseOf(s);
      one.answer({ ...refused, errorReason });
      await assert.rejects(first, X402InProgress);
      assert.deepEqual(await stateOf(s.sql), ['open'], 'what the first heard is not the last word');
      assert.ok((await leaseOf(s)) >= lease);
      await assert.rejects(s.x402.settle(payment, topUp), X402InProgress);
      await s.settleElsewhere({ nonce });
      two.answer(made);
      assert.equal((await second).applied, true);
      assert.equal(await s.balance(), 1_000_000_000n);
      assert.equal(await s.tokens(), '4000000');
    });
  }

  it('credits a transfer that is heard of after the payment was given up', async (t) => {
    const s = await setUpStill(t, await open(migrations));
    const slow = await startSlow(t, s);
    const payment = await s.read({ nonce });
    assert.ok(payment !== undefined);
    const first = slow.x402.settle(payment, topUp);
    await slow.asked;
    s.clock.offsetMs = 1_000_000;
    await s.reopen().start();
    await eventually('it is given up', async () => (await stateOf(s.sql))[0] === 'failed');
    await s.settleElsewhere({ nonce });
    slow.answer(made);
    assert.equal((await first).applied, true);
    assert.deepEqual(await stateOf(s.sql), ['credited']);
    assert.equal(await s.balance(), 1_000_000_000n);
    assert.equal((await s.credits.selfCheck()).ok, true);
  });
});
