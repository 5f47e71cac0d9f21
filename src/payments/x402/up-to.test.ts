/** Payments up to an amount: what is taken is what it costs, never more than was allowed, and once. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { market, migrations, payer, setUp, stateOf } from '../../../test/support/x402-payments.ts';
import { winc } from '../../credits/credits.ts';
import { encodeHeader } from '../../formats/x402/testing.ts';
import { type PermitOptions, signPayment, signPermit } from '../../localnet/x402/testing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { X402Refused, X402SettlementFailed } from './errors.ts';

async function open(t: TestContext, sql: Sql, options: { withChain?: boolean } = {}) {
  const s = await setUp(t, sql, options);
  const quote = await s.x402.offerUpTo({
    product: 'upload up to 1000',
    winc: winc(1_000_000_000n),
    resource: 'http://localhost/v1/x402/upload/unsigned?maxBytes=1000',
    description: 'Upload',
    mimeType: 'application/json',
  });
  assert.ok(quote?.upTo !== undefined);
  const facilitator = [...quote.upTo.values()][0] ?? '';
  const header = (changed: Partial<PermitOptions> = {}) =>
    encodeHeader(signPermit({ payTo: s.payTo, facilitator, ...changed }).paymentPayload);
  const read = async (changed: Partial<PermitOptions> = {}) => {
    const payment = await s.x402.read({ 'payment-signature': header(changed) }, quote);
    assert.ok(payment !== undefined);
    return payment;
  };
  const request = { purpose: 'upload', reference: 'an item', reserve: winc(300_000_000n) } as const;
  return { ...s, quote, facilitator, header, permit: read, request };
}

forEachEngine((_engine, database) => {
  it('takes the price, credits what it bought, and answers the same when it is sent again', async (t) => {
    const s = await open(t, await database(migrations));
    const payment = await s.permit();
    await s.x402.verify(payment);
    const receipt = await s.x402.settle(payment, s.request);
    assert.deepEqual(
      [receipt.value, receipt.creditedWinc, receipt.settlement.amount, receipt.purchase?.reserved],
      [300_000n, 300_000_000n, '300000', 300_000_000n],
    );
    assert.equal(await s.tokens(), '4700000');
    const again = await s.x402.settle(payment, { ...s.request, reserve: winc(900_000_000n) });
    assert.deepEqual([again.applied, again.value], [false, 300_000n]);
    await assert.rejects(s.x402.settle(payment, { ...s.request, reference: 'another' }), X402Refused);
    assert.equal(await s.tokens(), '4700000');
    assert.equal((await s.credits.selfCheck()).ok, true);
  });

  it('never takes more than was allowed, and bears a small rise of the price', async (t) => {
    const s = await open(t, await database(migrations));
    const payment = await s.permit();
    const whole = { ...s.request, reserve: winc(1_000_000_000n) };
    market.wincPerUnit = 500n;
    await assert.rejects(s.x402.settle(payment, whole), { reason: 'permit2_amount_mismatch' });
    assert.deepEqual(await stateOf(s.sql), []);
    market.wincPerUnit = 990n;
    const receipt = await s.x402.settle(payment, whole);
    assert.deepEqual([receipt.value, receipt.creditedWinc], [1_000_000n, 990_000_000n], 'what was paid');
    assert.equal(await s.tokens(), '4000000');
  });

  for (const withChain of [true, false]) {
    it(`finds out ${withChain ? 'by the chain' : 'by asking again'} what became of one whose answer was lost`, async (t) => {
      const s = await open(t, await database(migrations), { withChain });
      // Others of the same amount are told apart.
      await s.x402.settle(await s.permit(), { ...s.request, reference: 'before' });
      const payment = await s.permit();
      await s.fault(withChain ? { loseAnswers: 1 } : { fail: 1 });
      await assert.rejects(s.x402.settle(payment, s.request), X402SettlementFailed);
      assert.equal(await s.balance(), 0n);
      await s.x402.stop();
      s.clock.offsetMs = 60_000;
      const after = s.reopen();
      await after.start();
      await eventually('it is credited', async () =>
        (await stateOf(s.sql)).every((state) => state === 'credited'),
      );
      assert.equal(await s.tokens(), '4400000');
      const receipt = await after.settle(payment, s.request);
      assert.deepEqual(
        [receipt.applied, receipt.value, receipt.settlement.amount],
        [false, 300_000n, '300000'],
      );
      assert.equal(await s.tokens(), '4400000');
    });
  }

  it('lets one lapse that was cut off before anything was taken', async (t) => {
    const s = await open(t, await database(migrations));
    const payment = await s.permit();
    await s.fault({ fail: 1 });
    await assert.rejects(s.x402.settle(payment, s.request), X402SettlementFailed);
    s.clock.offsetMs = 1_000_000;
    await s.reopen().start();
    await eventually('it is failed', async () => (await stateOf(s.sql))[0] === 'failed');
    assert.equal(await s.tokens(), '5000000');
  });

  it('refuses permits for other contracts, facilitators, tokens and payees, and forged ones', async (t) => {
    const s = await open(t, await database(migrations));
    const other = `0x${'12'.repeat(20)}`;
    const now = BigInt(Math.floor(Date.now() / 1000));
    const cases: [Partial<PermitOptions>, string][] = [
      [{ spender: other }, 'invalid_permit2_spender'],
      [{ facilitator: other }, 'upto_facilitator_mismatch'],
      [{ token: other }, 'permit2_token_mismatch'],
      [{ payTo: other }, 'invalid_permit2_recipient_mismatch'],
      [{ value: 999n }, 'permit2_amount_mismatch'],
      [{ deadline: now }, 'permit2_deadline_expired'],
      [{ validAfter: now + 3_600n }, 'permit2_not_yet_valid'],
    ];
    for (const [change, reason] of cases) await assert.rejects(s.permit(change), { reason });
    await assert.rejects(s.permit({ tamper: { amount: '1000001' } }), /payment refused/);
    // What is signed for one scheme is worth nothing for the other.
    const exact = encodeHeader(signPayment({ version: 2, payTo: s.payTo }).paymentPayload);
    await assert.rejects(s.x402.read({ 'payment-signature': exact }, s.quote), { reason: 'invalid_scheme' });
    await assert.rejects(
      s.x402.read({ 'payment-signature': s.header() }, { ...s.quote, upTo: undefined } as never),
      {
        reason: 'invalid_scheme',
      },
    );
    assert.equal(await s.tokens(), '5000000');
    assert.equal((await s.credits.balance(payer))?.winc ?? 0n, 0n);
  });

  it('is not offered where the facilitator does not take it, or does not answer', async (t) => {
    const s = await setUp(t, await database(migrations));
    const away = s.reopen({ X402_FACILITATOR_URL: 'http://127.0.0.1:1' });
    const asked = { product: 'x', winc: winc(5n), resource: 'http://x', description: '', mimeType: '' };
    assert.equal(await away.offerUpTo(asked), undefined);
  });
});
