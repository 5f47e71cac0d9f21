/** The card part on a server of its own, with a real ledger, real prices and the local provider behind it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type Stripe from 'stripe';
import { readConfig } from '../../src/config/config.ts';
import type { Credits } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../../src/credits/migrations.ts';
import type { HttpServer } from '../../src/kernel/http/server.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import type { FaultSettings } from '../../src/localnet/card/faults.ts';
import { type ProviderForTest, startProvider } from '../../src/localnet/card/testing.ts';
import { createCardPart } from '../../src/payment/card/part.ts';
import type { PaymentLimitsConfig } from '../../src/payment/client-limits.ts';
import { createGifts, type Gifts } from '../../src/payment/gifts.ts';
import { paymentMigrations } from '../../src/payment/migrations.ts';
import type { CardObservation, CardPayments } from '../../src/payments/card/card.ts';
import { createCardPayments } from '../../src/payments/card/card-payments.ts';
import { cardMigrations } from '../../src/payments/card/migrations.ts';
import { returnsMigrations } from '../../src/payments/returns/migrations.ts';
import { failReturn } from '../../src/payments/returns/rows.ts';
import { x402Migrations } from '../../src/payments/x402/migrations.ts';
import { configuredFees } from '../../src/pricing/configured.ts';
import type { Pricing } from '../../src/pricing/pricing.ts';
import { staticRates } from '../../src/pricing/rates/table.ts';
import { createPricing } from '../../src/pricing/service.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import { isKnownToEveryone } from '../../src/wallets/local-wallets.ts';
import { eventually } from './eventually.ts';
import { serveParts } from './payment-parts.ts';

export const wallet = `${'w'.repeat(42)}A`;
const log = silentLog;
export const ledgerMigrations = [
  ...[...creditsMigrations, ...paymentMigrations, ...cardMigrations],
  ...[...x402Migrations, ...returnsMigrations],
];

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: TopUpAnswer;
}

export interface TopUpAnswer {
  readonly topUpQuote: Record<string, string | number>;
  readonly paymentSession: {
    readonly id: string;
    readonly client_secret: string | null;
    readonly url: string | null;
  };
  readonly adjustments: readonly Record<string, string>[];
  readonly fees: readonly Record<string, string>[];
}

export interface CardBench {
  readonly provider: ProviderForTest['provider'];
  readonly stripe: Stripe;
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pricing;
  readonly gifts: Gifts;
  readonly observations: CardObservation[];
  /** Moves the clock of the service and of the provider; `aheadMs` that of the service alone. */
  readonly clock: { offsetMs: number; aheadMs: number };
  readonly outside: { ratesDown: boolean };
  url: string;
  cards: CardPayments;
  topUp(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** A payment intent for the wallet, ready to be confirmed. */
  intent(amount?: number): Promise<{ quoteId: string; intentId: string }>;
  confirm(intentId: string, method?: string): Promise<void>;
  balance(address?: string): Promise<bigint>;
  faults(settings: Partial<FaultSettings>): Promise<void>;
  /** Waits until it holds; fails when it never does. */
  until(holds: () => Promise<boolean>): Promise<void>;
  /** Stops the service as a crash would, without telling the provider, and starts it again elsewhere. */
  restart(): Promise<void>;
  stopService(): Promise<void>;
}

export interface BenchOptions {
  readonly sql?: Sql;
  /** Where the service believes the provider to be. */
  readonly providerUrl?: string;
  readonly reconcileMs?: number;
  /** What a client may ask for; without it everything. */
  readonly limits?: PaymentLimitsConfig;
  /** Null where none is configured. */
  readonly appUrl?: string | null;
}

export async function openCardBench(t: TestContext, options: BenchOptions = {}): Promise<CardBench> {
  const clock = { offsetMs: 0, aheadMs: 0 };
  const providerNow = () => Date.now() + clock.offsetMs;
  const now = () => providerNow() + clock.aheadMs;
  const outside = { ratesDown: false };
  let stopService = async (): Promise<void> => {};
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-card-part-'));
  const sql =
    options.sql ??
    (await openDatabase({
      databaseUrl: undefined,
      dataDir: folder,
      name: 'ledger',
      migrations: ledgerMigrations,
    }));
  t.after(async () => {
    await stopService();
    if (options.sql === undefined) await sql.close();
    await rm(folder, { recursive: true, force: true });
  });
  const { provider, stripe } = await startProvider(t, { now: providerNow });
  const config = readConfig({
    STRIPE_API_URL: options.providerUrl ?? provider.url,
    STRIPE_RECONCILE_INTERVAL_MS: String(options.reconcileMs ?? 3_600_000),
  });
  const credits = createCredits({ sql, now });
  const gifts = createGifts({ sql, credits, now });
  const rates = staticRates(config.STATIC_RATES);
  const pricing = createPricing({
    sql,
    hasPaid: credits.hasPaid,
    rates: { fetch: () => (outside.ratesDown ? Promise.reject(new Error('down')) : rates.fetch()) },
    network: { fetch: async () => 12_345_678_901_234n },
    ratesFreshMs: 0,
    ratesUsableMs: 0,
    networkFreshMs: 900_000,
    networkUsableMs: 3_600_000,
    catalogueFreshMs: 0,
    usdPerItem: config.USD_PRICE_PER_DATA_ITEM,
    fees: configuredFees(config.PAYMENT_FEE_NAME, config.PAYMENT_FEE_MULTIPLIER, config.KYVE_FEE_MULTIPLIER),
    tokensWithoutFees: config.TOKENS_WITHOUT_FEES,
    now,
  });
  const observations: CardObservation[] = [];

  async function startService(): Promise<{ server: HttpServer; cards: CardPayments }> {
    const cards = createCardPayments(
      {
        ...config,
        STRIPE_SECRET_KEY: provider.secretKey,
        STRIPE_WEBHOOK_SECRET: provider.webhookSecret,
      },
      {
        ...{ sql, pricing, log, now, observe: (observation) => observations.push(observation) },
        returnFailedIn: (tx, id) => failReturn(tx, credits, id, 'the refund failed', now()),
      },
    );
    const part = createCardPart({
      cards,
      credits,
      pricing,
      gifts,
      appUrl: options.appUrl === null ? undefined : (options.appUrl ?? 'https://app.example/done'),
      refuses: isKnownToEveryone,
    });
    const server = await serveParts([part], log, options.limits);
    await provider.deliverTo(`${server.url}/v1/stripe-webhook`);
    stopService = async () => {
      await server.close();
      await part.stop?.();
    };
    return { server, cards };
  }

  const first = await startService();
  // What it asks the provider at its start comes before the test's own payments, which it would hear of by that.
  await first.cards.settled();
  const bench: CardBench = {
    provider,
    stripe,
    sql,
    credits,
    pricing,
    gifts,
    observations,
    clock,
    outside,
    url: first.server.url,
    cards: first.cards,
    async topUp(path, headers = {}) {
      const answer = await fetch(`${bench.url}/v1/top-up/${path}`, { headers });
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) };
    },
    async intent(amount = 1_000) {
      const { body, status, text } = await bench.topUp(`payment-intent/${wallet}/usd/${amount}`);
      if (status !== 200) throw new Error(text);
      return { quoteId: String(body.topUpQuote.topUpQuoteId), intentId: body.paymentSession.id };
    },
    async confirm(intentId, method = 'pm_card_visa') {
      await stripe.paymentIntents.confirm(intentId, { payment_method: method });
    },
    balance: async (address = wallet) => (await credits.balance(address))?.winc ?? 0n,
    async faults(settings) {
      await fetch(`${provider.url}/test/webhooks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${provider.secretKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(settings),
      });
    },
    async until(holds) {
      await eventually('what the test waits for', holds);
    },
    async restart() {
      await stopService();
      const again = await startService();
      bench.url = again.server.url;
      bench.cards = again.cards;
    },
    stopService: () => stopService(),
  };
  return bench;
}
