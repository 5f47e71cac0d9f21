import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { it, type TestContext } from 'node:test';
import { MalformedPayment } from '../../formats/x402/payment.ts';
import { encodeHeader, examplePayment } from '../../formats/x402/testing.ts';
import { createLogger } from '../../kernel/log.ts';
import { type PaymentOptions, signPayment, startFacilitator } from '../../localnet/x402/testing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type Credits, winc } from '../credits.ts';
import { createCredits } from '../ledger/index.ts';
import { creditsMigrations } from '../migrations.ts';
import { endByHand, unclearPayments } from './by-hand.ts';
import { createX402Payments, type X402Config } from './index.ts';
import { x402Migrations } from './migrations.ts';
import type { X402Payments, X402Quote } from './x402.ts';
import { X402Refused, X402SettlementFailed, X402SignatureInvalid } from './x402.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const migrations = [...creditsMigrations, ...x402Migrations];
const payer = examplePayment.payer;

/** One atomic unit buys a thousand winc, times the rate of the moment. */
const market = { wincPerUnit: 1_000n };
const pricing = {
  usdcFor: async (amount: bigint) => (amount + market.wincPerUnit - 1n) / market.wincPerUnit,
  wincForUsdc: async (amount: bigint) => winc(amount * market.wincPerUnit),
};

interface Setting {
  readonly x402: X402Payments;
  readonly credits: Credits;
  readonly sql: Sql;
  readonly quote: X402Quote;
  readonly payTo: string;
  readonly clock: { offsetMs: number };
  read(options?: Partial<PaymentOptions>, quote?: X402Quote): ReturnType<X402Payments['read']>;
  balance(): Promise<bigint>;
  /** Tokens the payer still has. */
  tokens(): Promise<unknown>;
  fault(faults: Record<string, number>): Promise<void>;
  /** Has an authorisation carried out that the payer signed, without the service. */
  settleElsewhere(options: Partial<PaymentOptions>): Promise<void>;
  /** The same tables under a new instance, as after a crash. */
  reopen(config?: Partial<X402Config>): X402Payments;
}

async function setUp(
  t: TestContext,
  sql: Sql,
  options: { withChain?: boolean; minted?: bigint } = {},
): Promise<Setting> {
  market.wincPerUnit = 1_000n;
  const facilitator = await startFacilitator(t);
  await facilitator.mint(payer, options.minted ?? 5_000_000n);
  const credits = createCredits({ sql });
  const clock = { offsetMs: 0 };
  const opened: X402Payments[] = [];
  t.after(() => Promise.all(opened.map((each) => each.stop())));
  const reopen = (config: Partial<X402Config> = {}) => {
    const made = createX402Payments(
      {
        X402_FACILITATOR_URL: facilitator.facilitator.url,
        X402_FACILITATOR_TOKEN: undefined,
        X402_PAYMENT_ADDRESS: facilitator.payTo,
        X402_NETWORKS: ['base-sepolia'],
        X402_RPC_URLS: options.withChain === false ? {} : facilitator.facilitator.rpcUrls,
        X402_PAYMENT_TIMEOUT_MS: 300_000,
        X402_MINIMUM_PAYMENT_USDC: 1_000,
        X402_PRICE_TOLERANCE: 0.05,
        X402_SETTLEMENT_BUFFER_SECONDS: 6,
        X402_VERIFY_TIMEOUT_MS: 5_000,
        X402_SETTLE_TIMEOUT_MS: 5_000,
        ...config,
      },
      { sql, credits, pricing, log, now: () => Date.now() + clock.offsetMs },
    );
    opened.push(made);
    return made;
  };
  const x402 = reopen();
  const quote = await x402.offer({
    winc: winc(1_000_000_000n),
    resource: 'http://localhost/v1/x402/top-up?type=credits&qty=1',
    description: 'Credits',
    mimeType: 'application/json',
  });
  assert.equal(quote.amount, 1_000_000n);
  return {
    x402,
    credits,
    sql,
    quote,
    payTo: facilitator.payTo,
    clock,
    reopen,
    read: (changed = {}, against = quote) => {
      const signed = signPayment({ payTo: facilitator.payTo, ...changed });
      const header = changed.version === 2 ? 'payment-signature' : 'x-payment';
      return x402.read({ [header]: encodeHeader(signed.paymentPayload) }, against);
    },
    balance: async () => (await credits.balance(payer))?.winc ?? 0n,
    tokens: () => facilitator.balance(payer),
    async settleElsewhere(changed) {
      const answer = await facilitator.call(
        'POST',
        '/settle',
        signPayment({ payTo: facilitator.payTo, ...changed }),
      );
      assert.equal(answer.success, true);
    },
    async fault(faults) {
      await facilitator.call('POST', '/test/faults', faults);
    },
  };
}

/** Waits for background work by asking, not by the clock of the machine. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail('it never came true');
}

const stateOf = async (sql: Sql) =>
  (await sql.all<{ state: string }>('SELECT state FROM x402_payments')).map(({ state }) => state);

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

  it('takes a payment whose price has risen a little, and credits what it is worth', async (t) => {
    const s = await setUp(t, await open(migrations));
    const dearer: X402Quote = { ...s.quote, amount: 1_050_000n };
    const payment = await s.read({ value: 1_000_000n }, dearer);
    assert.ok(payment !== undefined);
    market.wincPerUnit = 952n;
    const receipt = await s.x402.settle(payment, { purpose: 'top-up' });
    assert.equal(receipt.creditedWinc, 952_000_000n);
    await assert.rejects(s.read({ value: 997_499n }, dearer), {
      reason: 'invalid_exact_evm_payload_authorization_value',
    });
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
    await until(async () => (await stateOf(s.sql))[0] === 'failed');
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
    await until(async () => (await stateOf(s.sql))[0] === 'failed');
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
      await until(async () => (await stateOf(s.sql))[0] === 'unclear');
      assert.equal(await s.balance(), 0n);
    });
  }

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
    await until(async () => (await s.balance()) === 1_000_000_000n);
    assert.equal(await s.tokens(), '4000000');
  });

  it('does not settle what the payer cannot pay', async (t) => {
    const s = await setUp(t, await open(migrations), { minted: 10n });
    const payment = await s.read();
    assert.ok(payment !== undefined);
    await assert.rejects(s.x402.verify(payment), { reason: 'insufficient_funds' });
    await assert.rejects(s.x402.settle(payment, { purpose: 'top-up' }), X402SettlementFailed);
    assert.equal(await s.balance(), 0n);
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
      await s.x402.stop();
      s.clock.offsetMs = 60_000;
      const after = s.reopen();
      await after.start();
      await until(async () => (await s.balance()) === 1_000_000_000n);
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
    await until(async () => (await stateOf(s.sql))[0] === 'unclear');
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
    await until(async () => (await stateOf(s.sql))[0] === 'unclear');
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
    await until(async () => (await s.balance()) === 1_000_000_000n);
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
    await until(async () => (await stateOf(s.sql))[0] === 'failed');
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
    await assert.rejects(s.x402.read({ 'x-payment': '???' }, s.quote), MalformedPayment);
    assert.equal(await s.x402.read({}, s.quote), undefined);
    assert.deepEqual(await stateOf(s.sql), []);
  });
});
