/** The payment service in one process for tests: a fresh ledger, oracles and chains that a test can break. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../config/config.ts';
import { winc } from '../credits/credits.ts';
import { createCredits } from '../credits/ledger/ledger.ts';
import { creditsMigrations } from '../credits/migrations.ts';
import { RequestSignatures } from '../credits/signatures/request-signatures.ts';
import { tryParseJson } from '../formats/json.ts';
import type { App } from '../kernel/http/app.ts';
import { limitClients } from '../kernel/http/limit-clients.ts';
import { createLogger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import { testServer } from '../kernel/testing.ts';
import { cardMigrations } from '../payments/card/migrations.ts';
import { ChainPayments } from '../payments/chain/chain-payments.ts';
import { type FakeChains, fakeTokens, serviceWallets } from '../payments/chain/testing.ts';
import { x402Migrations } from '../payments/x402/migrations.ts';
import { configuredFees } from '../pricing/configured.ts';
import type { RawRates } from '../pricing/rates/table.ts';
import { staticRates } from '../pricing/rates/table.ts';
import { createPricing } from '../pricing/service.ts';
import { openDatabase } from '../storage/sql/open.ts';
import { DatabaseUnavailable, type Sql, type SqlExecutor, type SqlValue } from '../storage/sql/sql.ts';
import { createAuthenticator } from './auth/request-wallet.ts';
import { paymentLimits } from './client-limits.ts';
import { defaultCountries } from './countries.ts';
import { createGifts } from './gifts.ts';
import { paymentMigrations } from './migrations.ts';
import { reportTransactionRoute } from './routes/report-transaction.ts';
import { type PaymentRoutesDeps, paymentRoutes, rootRoutes } from './surface.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | number | string[] | undefined>;
  readonly text: string;
  /** The body read as JSON; undefined when it is none. */
  readonly json: unknown;
}

/** What a test may switch. */
export interface Outside extends FakeChains {
  now: number;
  ratesDown: boolean;
  /** In place of the configured ones, by token. */
  rates: RawRates;
  networkDown: boolean;
  databaseDown: boolean;
  /** What every pause between two looks waits for. */
  pause: Promise<void> | undefined;
}

export type PaymentBench = Awaited<ReturnType<typeof paymentBench>>;

export const jwtSecret = 'a secret of the tests';

export const paymentBenchMigrations = [
  ...creditsMigrations,
  ...paymentMigrations,
  ...cardMigrations,
  ...x402Migrations,
];

/** A database that is given is the caller's to close. */
export async function paymentBench(environment: Record<string, string> = {}, given?: Sql) {
  const config = readConfig(environment);
  const outside: Outside = {
    now: Date.UTC(2026, 0, 1),
    ratesDown: false,
    rates: {},
    networkDown: false,
    databaseDown: false,
    chainDown: false,
    slow: undefined,
    pause: undefined,
    transactions: new Map(),
    lookups: 0,
  };
  const now = (): number => outside.now;
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-payment-'));
  const database = given ?? (await openTemporary(folder));
  const sql = breakable(database, outside);
  const credits = createCredits({ sql, now });
  const down = (): Promise<never> => Promise.reject(new Error('down'));
  const pricing = createPricing({
    sql,
    hasPaid: credits.hasPaid,
    rates: {
      fetch: () =>
        outside.ratesDown ? down() : staticRates({ ...config.STATIC_RATES, ...outside.rates }).fetch(),
    },
    network: { fetch: () => (outside.networkDown ? down() : Promise.resolve(12_345_678_901_234n)) },
    ratesFreshMs: 60_000,
    ratesUsableMs: 3_600_000,
    networkFreshMs: 900_000,
    networkUsableMs: 3_600_000,
    catalogueFreshMs: 5_000,
    usdPerItem: config.USD_PRICE_PER_DATA_ITEM,
    fees: configuredFees(config.PAYMENT_FEE_NAME, config.PAYMENT_FEE_MULTIPLIER, config.KYVE_FEE_MULTIPLIER),
    tokensWithoutFees: config.TOKENS_WITHOUT_FEES,
    now,
  });
  const signatures = new RequestSignatures({
    sql,
    credits,
    service: serviceWallets.arweave,
    requireBound: config.REQUIRE_BOUND_SIGNATURES,
    now,
  });
  const auth = createAuthenticator({ jwtSecret, now, signatures });
  const gifts = createGifts({ sql, credits, now });
  const paymentsOptions = {
    sql,
    credits,
    pricing,
    tokens: fakeTokens(outside),
    excludedSenders: new Set(config.CRYPTO_FUND_EXCLUDED_ADDRESSES),
    attempts: 3,
    firstPauseMs: 1,
    maxPauseMs: 1,
    forgetAfterMs: 86_400_000,
    recheckMs: 2_000,
    rateMs: 10_800_000,
    lookUpsPerMinute: 120,
    now,
    sleep: async () => outside.pause,
  };
  const payments = new ChainPayments(paymentsOptions);
  const metrics = new Metrics();
  const log = createLogger({ name: 'payment', level: 'silent', format: 'json' });
  const server = testServer({ name: 'payment', log, metrics, admit: signatures.admit });
  const chain = { name: 'chain', payments, routes: (app: App) => reportTransactionRoute(app, payments) };
  const routes: PaymentRoutesDeps = {
    sql,
    credits,
    pricing,
    auth,
    gifts,
    metrics,
    countries: defaultCountries,
    isPlayMoney: true,
    proxies: config.TRUSTED_PROXY_COUNT,
    topUpPage: (address) => `http://pay/${address}`,
    health: { trouble: async () => undefined },
    freeBytes: async () => null,
    info: () => ({
      version: '1',
      addresses: payments.addresses,
      gateway: 'http://gw',
      gateways: ['http://gw'],
    }),
    chain,
    parts: [chain],
  };
  signatures.watch(server.app);
  limitClients(server.app, 'payment', paymentLimits(config), config.TRUSTED_PROXY_COUNT);
  server.mount((app) => paymentRoutes(app, routes), ['/v1']);
  server.mount((app) => rootRoutes(app, routes));
  await server.app.ready();

  async function call(
    method: 'GET' | 'HEAD' | 'POST',
    url: string,
    headers: Record<string, string>,
    payload?: string,
    remoteAddress?: string,
  ): Promise<Answer> {
    const answer = await server.app.inject({
      method,
      url,
      headers,
      ...(payload === undefined ? {} : { payload }),
      ...(remoteAddress === undefined ? {} : { remoteAddress }),
    });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      json: tryParseJson(answer.body),
    };
  }
  return {
    config,
    sql,
    credits,
    pricing,
    auth,
    gifts,
    payments,
    /** Chain payments of a second process over the same database. */
    anotherProcess: () => new ChainPayments(paymentsOptions),
    outside,
    metrics,
    get: (path: string, headers: Record<string, string> = {}) => call('GET', path, headers),
    head: (path: string) => call('HEAD', path, {}),
    /** `from`: the address of the client. */
    post: (path: string, body?: string, headers: Record<string, string> = {}, from?: string) =>
      call('POST', path, headers, body, from),
    async give(address: string, amount: bigint) {
      const id = `given ${address} ${amount}`;
      await credits.credit({
        address,
        addressType: 'arweave',
        amount: winc(amount),
        reason: 'admin_credit',
        id,
      });
    },
    async close() {
      await server.app.close();
      if (given === undefined) await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function openTemporary(dataDir: string): Promise<Sql> {
  return openDatabase({
    databaseUrl: undefined,
    dataDir,
    name: 'ledger',
    migrations: paymentBenchMigrations,
  });
}

/** A database that can be switched off. */
function breakable(sql: Sql, outside: Outside): Sql {
  const check = (): void => {
    if (outside.databaseDown) throw new DatabaseUnavailable('switched off');
  };
  return {
    engine: sql.engine,
    forUpdate: sql.forUpdate,
    async all<T>(statement: string, ...values: SqlValue[]) {
      check();
      return sql.all<T>(statement, ...values);
    },
    async get<T>(statement: string, ...values: SqlValue[]) {
      check();
      return sql.get<T>(statement, ...values);
    },
    async run(statement: string, ...values: SqlValue[]) {
      check();
      return sql.run(statement, ...values);
    },
    async transaction<T>(work: (tx: SqlExecutor) => Promise<T>) {
      check();
      return sql.transaction(work);
    },
    stream: (statement, ...values) => sql.stream(statement, ...values),
    visible: () => sql.visible(),
    close: () => sql.close(),
  };
}
