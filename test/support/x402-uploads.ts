/** The upload surface with x402 for tests: a facilitator of its own, a wallet with money, a market that can move. */
import type { TestContext } from 'node:test';
import { winc } from '../../src/credits/credits.ts';
import { encodeHeader, examplePayment } from '../../src/formats/x402/testing.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { type FacilitatorForTest, signPayment, startFacilitator } from '../../src/localnet/x402/testing.ts';
import type { X402Payments } from '../../src/payments/x402/x402.ts';
import { createX402Payments } from '../../src/payments/x402/x402-payments.ts';
import type { Pricing } from '../../src/pricing/pricing.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import type { UploadDeps } from '../../src/upload/surface.ts';
import { pricePerByte, startTestUpload, type TestUpload } from '../../src/upload/testing.ts';
import { x402TestConfig } from './x402-config.ts';

export const { payer } = examplePayment;
/** Atomic dollars that the payer has at first. */
export const minted = 1_000_000_000n;

export interface X402World {
  readonly upload: TestUpload;
  readonly facilitator: FacilitatorForTest;
  readonly x402: X402Payments;
  /** What a winc costs, in hundredths of an atomic dollar: 100 at first. */
  readonly market: { percent: bigint };
  /** A payment header worth so many atomic dollars. */
  pay(value: bigint): Record<string, string>;
  /** Atomic dollars that the payer has spent. */
  spent(): Promise<bigint>;
  /** Another process on the same database and blobs. The clock of payments is the first one's. */
  another(): Promise<TestUpload>;
}

export interface X402WorldOptions {
  readonly environment?: Record<string, string>;
  readonly pricing?: (ledger: Pick<UploadDeps, 'sql' | 'credits'>) => Pricing;
  readonly sql?: Sql;
}

/** One atomic dollar buys one winc, and a byte costs three unless other prices are given. */
export async function openX402World(t: TestContext, options: X402WorldOptions = {}): Promise<X402World> {
  const facilitator = await startFacilitator(t);
  const { url, payTo, rpcUrls } = facilitator.facilitator;
  const log = silentLog;
  const market = { percent: 100n };
  const made: X402Payments[] = [];
  const uploads: TestUpload[] = [];
  const depsOf = ({ sql, credits }: Pick<UploadDeps, 'sql' | 'credits'>) => {
    const x402 = createX402Payments(
      {
        ...x402TestConfig,
        X402_FACILITATOR_URL: url,
        X402_PAYMENT_ADDRESS: payTo,
        X402_RPC_URLS: rpcUrls,
        X402_MINIMUM_PAYMENT_USDC: 10,
      },
      {
        sql,
        credits,
        log,
        chainTimeoutMs: 60_000,
        now: () => uploads[0]?.clock ?? 0,
        pricing: {
          usdcFor: async (amount) => (amount * market.percent + 99n) / 100n,
          wincForUsdc: async (amount) => winc((amount * 100n) / market.percent),
        },
      },
    );
    made.push(x402);
    return { x402, ...(options.pricing && { pricing: options.pricing({ sql, credits }) }) };
  };
  const start = async (given: { readonly folder?: string; readonly sql?: Sql }) => {
    const upload = await startTestUpload(options.environment ?? {}, depsOf, given);
    uploads.push(upload);
    t.after(() => upload.close());
    return upload;
  };
  const upload = await start(options.sql === undefined ? {} : { sql: options.sql });
  t.after(() => Promise.all(made.map((each) => each.stop())));
  await facilitator.mint(payer, minted);
  const [x402] = made;
  if (x402 === undefined) throw new Error('nothing can be paid');
  return {
    upload,
    facilitator,
    x402,
    market,
    pay: (value) => ({ 'x-payment': encodeHeader(signPayment({ payTo, value }).paymentPayload) }),
    spent: async () => minted - BigInt(String(await facilitator.balance(payer))),
    another: () => start({ folder: upload.folder, sql: upload.sql }),
  };
}

export const costOf = (bytes: number): bigint => BigInt(bytes) * pricePerByte;
