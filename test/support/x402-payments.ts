/** x402 payments over a facilitator of the test's own, for tests: their clock and market can be moved. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Credits, winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../../src/credits/migrations.ts';
import { encodeHeader, examplePayment } from '../../src/formats/x402/testing.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { type PaymentOptions, signPayment, startFacilitator } from '../../src/localnet/x402/testing.ts';
import { x402Migrations } from '../../src/payments/x402/migrations.ts';
import type { X402Payments, X402Quote } from '../../src/payments/x402/x402.ts';
import { createX402Payments, type X402Config } from '../../src/payments/x402/x402-payments.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import { x402TestConfig } from './x402-config.ts';

const log = silentLog;
export const migrations = [...creditsMigrations, ...x402Migrations];
export const payer = examplePayment.payer;

/** One atomic unit buys a thousand winc, times the rate of the moment. */
export const market = { wincPerUnit: 1_000n };
const pricing = {
  usdcFor: async (amount: bigint) => (amount + market.wincPerUnit - 1n) / market.wincPerUnit,
  wincForUsdc: async (amount: bigint) => winc(amount * market.wincPerUnit),
};

export interface Setting {
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

export async function setUp(
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
        ...x402TestConfig,
        X402_FACILITATOR_URL: facilitator.facilitator.url,
        X402_PAYMENT_ADDRESS: facilitator.payTo,
        X402_RPC_URLS: options.withChain === false ? {} : facilitator.facilitator.rpcUrls,
        ...config,
      },
      { sql, credits, pricing, log, chainTimeoutMs: 60_000, now: () => Date.now() + clock.offsetMs },
    );
    opened.push(made);
    return made;
  };
  const x402 = reopen();
  const quote = await x402.offer({
    product: 'top-up credits 1',
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

export const stateOf = async (sql: Sql) =>
  (await sql.all<{ state: string }>('SELECT state FROM x402_payments')).map(({ state }) => state);
