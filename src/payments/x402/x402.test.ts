import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { market, migrations, payer, setUp, stateOf } from '../../../test/support/x402-payments.ts';
import { x402Reasons } from '../../formats/x402/facilitator.ts';
import type { PaymentOptions } from '../../localnet/x402/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { X402Refused, X402SettlementFailed, X402SignatureInvalid, X402Unreadable } from './errors.ts';
import type { X402Quote } from './x402.ts';

forEachEngine((_engine, open) => {
  for (const version of [1, 2] as const) {
    it(`credits a settled payment of version ${version} once, however often it is sent`, async (t) => {
      const s = await setUp(t, await open(migrations));
      const nonce = `0x${'07'.repeat(32)}`;
      const payment = await s.read({ version, nonce });
      assert.ok(payment !== undefined);
      assert.equal(payment.payer, payer);
      await s.x402.verify(payment);
      const receipt = await s.x402.settle(payment, { purpose: 'top-up' });
      assert.equal(receipt.applied, true);
      assert.equal(receipt.creditedWinc, 1_000_000_000n);
      assert.equal(receipt.walletAddress, payer);
      assert.match(receipt.settlement.transaction, /^0x[0-9a-f]{64}$/);
      const again = await s.read({ version, nonce });
      assert.ok(again !== undefined);
      await s.x402.verify(again);
      const repeats = await Promise.all([1, 2, 3].map(() => s.x402.settle(again, { purpose: 'top-up' })));
      for (const repeat of repeats) assert.deepEqual({ ...repeat, applied: true }, receipt);
      await s.reopen({ X402_FACILITATOR_URL: 'http://127.0.0.1:1' }).verify(again);
      assert.equal(s.quote.maxTimeoutSeconds, 300);
      assert.equal(await s.balance(), 1_000_000_000n);
      assert.equal(await s.tokens(), '4000000');
      assert.deepEqual(
        (await s.credits.payments(payer, { limit: 10 })).items.map(({ record }) => record),
        [
          {
            type: 'crypto',
            tokenType: 'usdc',
            tokenQuantity: '1000000',
            usdEquivalent: '1.000000',
            senderAddress: payer,
            transactionId: receipt.settlement.transaction,
          },
        ],
      );
    });
  }

  it('settles the same payment once when it is sent many times at once', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    const receipts = await Promise.all(
      Array.from({ length: 8 }, () => s.x402.settle(payment, { purpose: 'top-up' })),
    );
    assert.equal(receipts.filter(({ applied }) => applied).length, 1);
    assert.equal(await s.tokens(), '4000000');
    assert.equal(await s.balance(), 1_000_000_000n);
  });

  it('does not ask for another payment when the same one is settled while it is being verified', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    // A facilitator whose answer to `verify` comes after the first sending was settled.
    const slow = createServer((request, response) => {
      void s.x402.settle(payment, { purpose: 'top-up' }).then(() => {
        request.resume();
        response.end(
          JSON.stringify({ isValid: false, invalidReason: 'invalid_exact_evm_nonce_already_used' }),
        );
      });
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    t.after(() => slow.close());
    const address = slow.address();
    assert.ok(typeof address === 'object' && address !== null);
    const other = s.reopen({ X402_FACILITATOR_URL: `http://127.0.0.1:${address.port}` });
    await other.verify(payment);
    assert.equal((await other.settle(payment, { purpose: 'top-up' })).applied, false);
    assert.equal(await s.balance(), 1_000_000_000n);
  });

  it('answers a payment that was made with what it led to, also when it has lapsed or the price has risen', async (t) => {
    const s = await setUp(t, await open(migrations));
    const nonce = `0x${'1a'.repeat(32)}`;
    const validBefore = BigInt(Math.floor(Date.now() / 1000)) + 300n;
    const payment = await s.read({ nonce, validBefore });
    assert.ok(payment !== undefined);
    const receipt = await s.x402.settle(payment, { purpose: 'top-up' });
    s.clock.offsetMs = 3_600_000;
    for (const quote of [s.quote, { ...s.quote, amount: 9_000_000n }]) {
      const again = await s.read({ nonce, validBefore }, quote);
      assert.ok(again !== undefined);
      await s.x402.verify(again);
      assert.deepEqual(await s.x402.settle(again, { purpose: 'top-up' }), { ...receipt, applied: false });
    }
    await assert.rejects(s.read({ nonce: `0x${'1b'.repeat(32)}`, validBefore }), X402Refused);
    await assert.rejects(s.read({ nonce, validBefore, tamper: { value: '1' } }), X402SignatureInvalid);
    assert.equal(await s.balance(), 1_000_000_000n);
  });

  it('credits another wallet when told to', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    const address = 'A'.repeat(43);
    const wallet = { address, addressType: 'arweave' };
    await s.x402.settle(payment, { purpose: 'upload', reference: 'item', wallet });
    assert.equal((await s.credits.balance(address))?.winc, 1_000_000_000n);
    assert.equal(await s.balance(), 0n);
  });

  it('takes a payment whose price has risen a little since it was asked, and credits what it is worth', async (t) => {
    const s = await setUp(t, await open(migrations));
    const dearer: X402Quote = { ...s.quote, amount: 1_050_000n };
    const refused = { reason: 'invalid_exact_evm_payload_authorization_value' };
    await assert.rejects(s.read({ value: 1_000_000n }, dearer), refused, 'nobody was asked so little');
    s.x402.challenge(s.quote, x402Reasons.paymentRequired);
    await assert.rejects(s.read({ value: 999_999n }, dearer), refused, 'nor so little');
    await assert.rejects(s.read({ value: 1_000_000n }, { ...dearer, product: 'other' }), refused);
    await assert.rejects(s.read({ value: 1_000_000n }, { ...dearer, amount: 1_060_000n }), refused);
    assert.deepEqual(await stateOf(s.sql), []);
    const payment = await s.read({ value: 1_000_000n }, dearer);
    assert.ok(payment !== undefined);
    market.wincPerUnit = 952n;
    const receipt = await s.x402.settle(payment, { purpose: 'top-up' });
    assert.equal(receipt.creditedWinc, 952_000_000n);
    s.clock.offsetMs = 300_001;
    const validBefore = BigInt(Math.floor(Date.now() / 1000)) + 900n;
    await assert.rejects(s.read({ value: 1_000_000n, validBefore }, dearer), refused, 'that was long ago');
    assert.deepEqual(await stateOf(s.sql), ['credited']);
  });

  it('never credits less than was offered for the amount that was asked', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    market.wincPerUnit = 900n;
    const receipt = await s.x402.settle(payment, { purpose: 'top-up' });
    assert.equal(receipt.creditedWinc, 1_000_000_000n);
  });

  it('refuses a settlement and credits nothing, now and when it has lapsed', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await s.fault({ refuse: 2 });
    const failed = (error: unknown) =>
      error instanceof X402SettlementFailed &&
      !error.settlement.success &&
      error.settlement.errorReason === 'unexpected_settle_error';
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), failed);
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), failed);
    s.clock.offsetMs = 1_000_000;
    await s.reopen().start();
    await eventually('it is failed', async () => (await stateOf(s.sql))[0] === 'failed');
    assert.equal(await s.balance(), 0n);
    assert.equal(await s.tokens(), '5000000');
  });

  it('tries anew what was not carried out when its payer sends it again, and never twice what was', async (t) => {
    const s = await setUp(t, await open(migrations));
    for (const [index, fault] of [{ fail: 1 }, { refuse: 1 }, { loseAnswers: 1 }].entries()) {
      const payment = await s.read({ nonce: `0x${String(index + 1).repeat(64)}` });
      assert.ok(payment !== undefined);
      await s.fault(fault);
      await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
      assert.equal((await s.x402.settle(payment, { purpose: 'top-up' })).applied, true);
      assert.equal((await s.x402.settle(payment, { purpose: 'top-up' })).applied, false);
    }
    assert.equal(await s.balance(), 3_000_000_000n);
    assert.equal(await s.tokens(), '2000000');
  });

  it('does not give up what was sent before because it is refused the second time', async (t) => {
    const s = await setUp(t, await open(migrations), { minted: 1_000_000n });
    const nonce = `0x${'0e'.repeat(32)}`;
    const payment = await s.read({ nonce });
    assert.ok(payment !== undefined);
    await s.fault({ fail: 1 });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    // The funds are gone by another payment; this one may have been sent all the same.
    await s.settleElsewhere({ nonce: `0x${'0f'.repeat(32)}` });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    assert.deepEqual(await stateOf(s.sql), ['open']);
    s.clock.offsetMs = 1_000_000;
    await s.reopen().start();
    await eventually('it is failed', async () => (await stateOf(s.sql))[0] === 'failed');
    assert.equal(await s.balance(), 0n);
  });

  it('refuses a payment that was settled for something else', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment = await s.read();
    assert.ok(payment !== undefined);
    const uses = [
      { purpose: 'top-up' },
      { purpose: 'top-up', reference: 'egress:127.0.0.1' },
      { purpose: 'upload', reference: 'item' },
      { purpose: 'upload', reference: 'another item' },
    ] as const;
    const outcomes = await Promise.allSettled(uses.map((use) => s.x402.settle(payment, use)));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    const later = await Promise.allSettled(uses.map((use) => s.reopen().settle(payment, use)));
    for (const [index, outcome] of later.entries()) {
      assert.equal(outcome.status, outcomes[index]?.status);
      if (outcome.status === 'fulfilled') continue;
      assert.ok(outcome.reason instanceof X402Refused);
      assert.equal(outcome.reason.reason, 'invalid_exact_evm_nonce_already_used');
    }
    assert.equal(await s.balance(), 1_000_000_000n);
    assert.equal(await s.tokens(), '4000000');
  });

  for (const instead of [{ payTo: `0x${'11'.repeat(20)}` }, { value: 1n }]) {
    const what = Object.keys(instead).join();
    it(`credits nothing when the payer used its nonce for another ${what} first`, async (t) => {
      const s = await setUp(t, await open(migrations));
      const nonce = `0x${'0b'.repeat(32)}`;
      const payment = await s.read({ nonce });
      assert.ok(payment !== undefined);
      await s.x402.verify(payment);
      await s.settleElsewhere({ nonce, ...instead });
      await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
      await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
      assert.equal(await s.balance(), 0n);
    });

    it(`nor when that came between the settlement and its recovery (${what})`, async (t) => {
      const s = await setUp(t, await open(migrations));
      const nonce = `0x${'0c'.repeat(32)}`;
      const payment = await s.read({ nonce });
      assert.ok(payment !== undefined);
      await s.fault({ fail: 1 });
      await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
      await s.settleElsewhere({ nonce, ...instead });
      s.clock.offsetMs = 60_000;
      await s.reopen().start();
      await eventually('it is unclear', async () => (await stateOf(s.sql))[0] === 'unclear');
      assert.equal(await s.balance(), 0n);
    });
  }

  it('refuses payments that do not meet the offer, and stores nothing', async (t) => {
    const s = await setUp(t, await open(migrations));
    const now = BigInt(Math.floor(Date.now() / 1000));
    const refused: [Partial<PaymentOptions>, string][] = [
      [{ value: 949_999n }, 'invalid_exact_evm_payload_authorization_value'],
      [{ value: 10n ** 18n }, 'invalid_exact_evm_payload_authorization_value'],
      [{ payTo: payer }, 'invalid_exact_evm_payload_recipient_mismatch'],
      [{ network: 'base' }, 'invalid_network'],
      [{ validBefore: now + 3n }, 'invalid_exact_evm_payload_authorization_valid_before'],
      [{ validAfter: now + 60n }, 'invalid_exact_evm_payload_authorization_valid_after'],
      [{ version: 2, required: { amount: 1n } }, 'invalid_payment_requirements'],
      [{ version: 2, required: { payTo: payer } }, 'invalid_payment_requirements'],
    ];
    for (const [options, reason] of refused) {
      await assert.rejects(
        s.read(options),
        (error) => error instanceof X402Refused && error.reason === reason,
      );
    }
    await assert.rejects(s.read({ tamper: { value: '1000001' } }), X402SignatureInvalid);
    await assert.rejects(s.x402.read({ 'x-payment': '???' }, s.quote), X402Unreadable);
    assert.equal(await s.x402.read({}, s.quote), undefined);
    assert.deepEqual(await stateOf(s.sql), []);
  });
});
