/** What becomes of payments whose settlement was not heard of, refused, or cut off. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { migrations, payer, setUp, stateOf } from '../../../test/support/x402-payments.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { endByHand, unclearPayments } from './by-hand.ts';
import { X402SettlementFailed } from './errors.ts';

forEachEngine((_engine, open) => {
  it('credits a transfer that lands after the facilitator gave it up', async (t) => {
    const s = await setUp(t, await open(migrations));
    const nonce = `0x${'0d'.repeat(32)}`;
    const payment = await s.read({ nonce });
    assert.ok(payment !== undefined);
    await s.fault({ refuse: 1 });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    await s.settleElsewhere({ nonce });
    s.clock.offsetMs = 60_000;
    await s.reopen().start();
    await eventually('it is credited', async () => (await s.balance()) === 1_000_000_000n);
    assert.equal(await s.tokens(), '4000000');
  });

  it('does not settle what the payer cannot pay', async (t) => {
    const s = await setUp(t, await open(migrations), { minted: 10n });
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await assert.rejects(s.x402.verify(payment), { reason: 'insufficient_funds' });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    assert.equal(await s.balance(), 0n);
    assert.deepEqual(await stateOf(s.sql), ['failed'], 'nothing was sent, and nothing can land');
  });

  for (const withChain of [true, false]) {
    const how = withChain ? 'by asking the chain' : 'by asking the facilitator again';
    it(`finds out ${how} what became of a payment whose answer was lost`, async (t) => {
      const s = await setUp(t, await open(migrations), { withChain });
      const payment = await s.read();
      assert.ok(payment !== undefined);
      if (withChain) {
        await s.fault({ loseAnswers: 1 });
      } else {
        // Without a chain only a facilitator that did nothing can be asked again.
        await s.fault({ fail: 1 });
      }
      await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
      assert.equal(await s.balance(), 0n);
      assert.deepEqual(await stateOf(s.sql), ['open']);
      const due = await s.sql.get<{ wait: number }>('SELECT due_at - created_at AS wait FROM x402_payments');
      assert.ok((due?.wait ?? 0) >= 2_000, 'it is looked at again after a pause');
      await s.x402.stop();
      s.clock.offsetMs = 60_000;
      const after = s.reopen();
      await after.start();
      await eventually('it is credited', async () => (await s.balance()) === 1_000_000_000n);
      assert.equal(await s.tokens(), '4000000');
      const receipt = await after.settle(payment, { purpose: 'top-up' });
      assert.equal(receipt.applied, false);
      assert.match(receipt.settlement.transaction, /^0x[0-9a-f]{64}$/);
      assert.equal(await s.balance(), 1_000_000_000n);
    });
  }

  it('never gives up a payment that may have been made, where no chain can be asked', async (t) => {
    const s = await setUp(t, await open(migrations), { withChain: false, minted: 1_000_000n });
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await s.fault({ loseAnswers: 1 });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    assert.equal(await s.tokens(), '0');
    // The facilitator refuses to settle it again, which says nothing about the first time.
    s.clock.offsetMs = 60_000;
    await assert.rejects(s.reopen().settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    assert.deepEqual(await stateOf(s.sql), ['open']);
    s.clock.offsetMs = 1_000_000;
    const after = s.reopen();
    await after.start();
    await eventually('it is unclear', async () => (await stateOf(s.sql))[0] === 'unclear');
    const [unclear] = await unclearPayments(s.sql, 10, Date.now());
    assert.deepEqual([unclear?.payer, unclear?.value, unclear?.winc], [payer, '1000000', 1_000_000_000n]);

    const transaction = `0x${'ab'.repeat(32)}`;
    const end = () => endByHand(s.sql, s.credits, unclear?.id ?? '', transaction, Date.now());
    assert.deepEqual((await Promise.all([end(), end()])).sort(), [false, true]);
    assert.equal(await s.balance(), 1_000_000_000n);
    const receipt = await after.settle(payment, { purpose: 'top-up' });
    assert.deepEqual([receipt.applied, receipt.settlement.transaction], [false, transaction]);
    assert.equal(await s.balance(), 1_000_000_000n);
    assert.deepEqual(await unclearPayments(s.sql, 10, Date.now()), []);
  });

  it('lets a person end a payment that was never made', async (t) => {
    const s = await setUp(t, await open(migrations), { withChain: false });
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await s.fault({ refuse: 2 });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    s.clock.offsetMs = 1_000_000;
    await s.reopen().start();
    await eventually('it is unclear', async () => (await stateOf(s.sql))[0] === 'unclear');
    const id = (await unclearPayments(s.sql, 10, Date.now()))[0]?.id ?? '';
    assert.equal(await endByHand(s.sql, s.credits, id, undefined, Date.now()), true);
    assert.deepEqual(await stateOf(s.sql), ['failed']);
    assert.equal(await endByHand(s.sql, s.credits, id, `0x${'ab'.repeat(32)}`, Date.now()), false);
    assert.equal(await s.balance(), 0n);
  });

  it('shows a person what is asked for in vain, after a day', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await s.fault({ loseAnswers: 1 });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    const rpc = { 'base-sepolia': 'http://127.0.0.1:1' };
    s.clock.offsetMs = 1_000_000;
    await assert.rejects(s.reopen({ X402_RPC_URLS: rpc }).settle(payment, { purpose: 'top-up' }));
    assert.deepEqual(await stateOf(s.sql), ['open']);
    const transaction = `0x${'ab'.repeat(32)}`;
    const end = (id: string, now: number) => endByHand(s.sql, s.credits, id, transaction, now);
    assert.deepEqual(await unclearPayments(s.sql, 10, Date.now()), []);
    const later = Date.now() + 86_500_000;
    const [stuck] = await unclearPayments(s.sql, 10, later);
    assert.equal(stuck?.state, 'open');
    assert.equal(await end(stuck.id, Date.now()), false, 'it may still be found out');
    assert.equal(await s.balance(), 0n);
    assert.equal(await end(stuck.id, later), true);
    assert.equal(await s.balance(), 1_000_000_000n);
  });

  it('asks again where no chain can be asked and the refusal leaves open what was sent', async (t) => {
    const s = await setUp(t, await open(migrations), { withChain: false });
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await s.fault({ refuse: 1 });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    assert.deepEqual(await stateOf(s.sql), ['open']);
    s.clock.offsetMs = 60_000;
    await s.reopen().start();
    await eventually('it is credited', async () => (await s.balance()) === 1_000_000_000n);
    assert.equal(await s.tokens(), '4000000');
  });

  it('ends at once what was refused for want of funds, where no chain can be asked', async (t) => {
    const s = await setUp(t, await open(migrations), { withChain: false, minted: 10n });
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    assert.deepEqual(await stateOf(s.sql), ['failed']);
  });

  it('begins no new transfer for a payment that was cut off before it was made, and lets it lapse', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await s.fault({ fail: 1 });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    s.clock.offsetMs = 1_000_000;
    const after = s.reopen();
    await after.start();
    await eventually('it is failed', async () => (await stateOf(s.sql))[0] === 'failed');
    assert.equal(await s.tokens(), '5000000');
    assert.equal(await s.balance(), 0n);
  });

  it('leaves a payment open while the facilitator is away', async (t) => {
    const s = await setUp(t, await open(migrations));
    const away = s.reopen({ X402_FACILITATOR_URL: 'http://127.0.0.1:1' });
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await assert.rejects(away.verify(payment), X402SettlementFailed);
    await assert.rejects(away.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    assert.deepEqual(await stateOf(s.sql), ['open']);
    assert.equal(await s.balance(), 0n);
  });
});
