/**
 * The card and x402 parts in a process of their own, to be killed. Told in one JSON argument where everything is;
 * prints its address when it answers.
 */
import { readConfig } from '../../src/config/config.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../../src/credits/migrations.ts';
import { RequestSignatures } from '../../src/credits/signatures/request-signatures.ts';
import { createLogger } from '../../src/kernel/log.ts';
import { createAuthenticator } from '../../src/payment/auth/request-wallet.ts';
import { createCardPart } from '../../src/payment/card/part.ts';
import { createGifts } from '../../src/payment/gifts.ts';
import { paymentMigrations } from '../../src/payment/migrations.ts';
import { createX402Part } from '../../src/payment/x402/part.ts';
import { createCardPayments } from '../../src/payments/card/card-payments.ts';
import { cardMigrations } from '../../src/payments/card/migrations.ts';
import { x402Migrations } from '../../src/payments/x402/migrations.ts';
import { createX402Payments } from '../../src/payments/x402/x402-payments.ts';
import { configuredFees } from '../../src/pricing/configured.ts';
import { staticRates } from '../../src/pricing/rates/table.ts';
import { createPricing } from '../../src/pricing/service.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { serveParts } from './payment-parts.ts';

export interface PaymentProcessOptions {
  readonly dataDir: string;
  readonly card: { readonly url: string; readonly secretKey: string; readonly webhookSecret: string };
  readonly x402: {
    readonly url: string;
    readonly payTo: string;
    readonly rpcUrls: Readonly<Record<string, string>>;
  };
}

export const ledgerMigrations = [
  ...creditsMigrations,
  ...paymentMigrations,
  ...cardMigrations,
  ...x402Migrations,
];

if (process.argv[1] === import.meta.filename) {
  const options: PaymentProcessOptions = JSON.parse(process.argv[2] ?? '');
  const config = readConfig({
    STRIPE_API_URL: options.card.url,
    STRIPE_RECONCILE_INTERVAL_MS: '1000',
  });
  const log = createLogger({ name: 'payment', level: 'error', format: 'json' });
  const sql = await openDatabase({
    databaseUrl: undefined,
    dataDir: options.dataDir,
    name: 'ledger',
    migrations: ledgerMigrations,
  });
  const credits = createCredits({ sql });
  const pricing = createPricing({
    sql,
    hasPaid: credits.hasPaid,
    rates: staticRates(config.STATIC_RATES),
    network: { fetch: async () => 12_345_678_901_234n },
    ratesFreshMs: 60_000,
    ratesUsableMs: 60_000,
    networkFreshMs: 60_000,
    networkUsableMs: 60_000,
    catalogueFreshMs: 5_000,
    usdPerItem: config.USD_PRICE_PER_DATA_ITEM,
    fees: configuredFees(config.PAYMENT_FEE_NAME, config.PAYMENT_FEE_MULTIPLIER, config.KYVE_FEE_MULTIPLIER),
    tokensWithoutFees: config.TOKENS_WITHOUT_FEES,
  });
  const cards = createCardPayments(
    {
      ...config,
      STRIPE_SECRET_KEY: options.card.secretKey,
      STRIPE_WEBHOOK_SECRET: options.card.webhookSecret,
    },
    { sql, pricing, log },
  );
  const x402 = createX402Payments(
    {
      ...config,
      X402_FACILITATOR_URL: options.x402.url,
      X402_PAYMENT_ADDRESS: options.x402.payTo,
      X402_RPC_URLS: options.x402.rpcUrls,
    },
    { sql, credits, pricing, log },
  );
  const gifts = createGifts({ sql, credits });
  const auth = createAuthenticator({
    jwtSecret: 'test',
    signatures: new RequestSignatures({ sql, service: 'test' }),
  });
  const parts = [
    createCardPart({ cards, credits, pricing, gifts, appUrl: undefined }),
    createX402Part({ x402, credits, pricing, auth }),
  ];
  const server = await serveParts(parts, log);
  console.log(JSON.stringify({ url: server.url }));
}
