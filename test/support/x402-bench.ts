/** The x402 part on a server of its own, with a real ledger and a facilitator behind it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Credits, winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../../src/credits/migrations.ts';
import { RequestSignatures } from '../../src/credits/signatures/request-signatures.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { createAuthenticator } from '../../src/payment/auth/request-wallet.ts';
import type { PaymentLimitsConfig } from '../../src/payment/client-limits.ts';
import { createX402Part } from '../../src/payment/x402/part.ts';
import { x402Migrations } from '../../src/payments/x402/migrations.ts';
import type { X402Payments } from '../../src/payments/x402/x402.ts';
import { createX402Payments } from '../../src/payments/x402/x402-payments.ts';
import { OracleUnavailable } from '../../src/pricing/pricing.ts';
import { openSqliteFile } from '../../src/storage/sql/open.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import { serveParts } from './payment-parts.ts';
import { x402TestConfig } from './x402-config.ts';

export interface X402Bench {
  readonly url: string;
  readonly sql: Sql;
  readonly credits: Credits;
  readonly x402: X402Payments;
  /** Whether rates can be had, and what a credit costs, in hundredths of a dollar. */
  readonly oracle: { down: boolean; percent: bigint };
  get(query: string, headers?: Record<string, string>): Promise<Response>;
}

/** What the part is told of the outside world. */
export interface X402World {
  readonly facilitatorUrl: string;
  readonly payTo: string;
  readonly rpcUrls: Readonly<Record<string, string>>;
  /** Moves the clock. */
  readonly now?: () => number;
  /** What a client may have refused; without it everything. */
  readonly limits?: PaymentLimitsConfig;
}

/** One dollar buys one credit, and ten winc a byte. */
export async function openX402Bench(t: TestContext, world: X402World): Promise<X402Bench> {
  const log = silentLog;
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-x402-part-'));
  const sql = await openSqliteFile(join(folder, 'ledger.db'), [...creditsMigrations, ...x402Migrations]);
  const credits = createCredits({ sql });
  const oracle = { down: false, percent: 100n };
  const pricing = {
    usdcFor: async (amount: bigint) => {
      if (oracle.down) throw new OracleUnavailable('rates', 7);
      return (amount * oracle.percent + 99_999_999n) / 100_000_000n;
    },
    wincForUsdc: async (amount: bigint) => winc((amount * 100_000_000n) / oracle.percent),
    quoteBytes: async (bytes: number) => ({
      winc: winc(BigInt(bytes) * 10n + 500n),
      networkWinc: winc(BigInt(bytes) * 10n),
      surchargeWinc: winc(500n),
      adjustments: [],
    }),
  };
  const x402 = createX402Payments(
    {
      ...x402TestConfig,
      X402_FACILITATOR_URL: world.facilitatorUrl,
      X402_PAYMENT_ADDRESS: world.payTo,
      X402_RPC_URLS: world.rpcUrls,
    },
    {
      sql,
      credits,
      pricing,
      log,
      chainTimeoutMs: 60_000,
      ...(world.now === undefined ? {} : { now: world.now }),
    },
  );
  const part = createX402Part({
    x402,
    credits,
    pricing,
    auth: createAuthenticator({
      jwtSecret: 'test',
      signatures: new RequestSignatures({ sql, service: 'test' }),
    }),
  });
  const server = await serveParts([part], log, world.limits);
  t.after(async () => {
    await part.stop?.();
    await server.close();
    await sql.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    url: server.url,
    sql,
    credits,
    x402,
    oracle,
    get: (query, headers = {}) => fetch(`${server.url}/v1/x402/top-up?${query}`, { headers }),
  };
}
