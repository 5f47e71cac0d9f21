/**
 * The local card provider: the part of Stripe's API that is used here, on loopback, so that the official
 * client works against it unchanged and the code that sells credits is the same at home and in production.
 * Secrets are made on first start.
 */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { createJob } from '../../kernel/background/job.ts';
import { greetPeople } from '../../kernel/http/page/greeting.ts';
import { type App, createHttpServer, mountGuarded } from '../../kernel/http/server.ts';
import { readOrCreateKey } from '../../kernel/keys.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { createSurface, type Part, type Surface } from '../../kernel/part.ts';
import { type TlsConfig, tlsKeysOf } from '../../kernel/tls/tls-keys.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { sayLocal } from '../sign.ts';
import {
  apiGuard,
  changeByVisitor,
  forgetOldAnswers,
  merchantGuard,
  type Provider,
  type ProviderKeys,
  unknownPath,
} from './api.ts';
import { Deliveries } from './deliveries.ts';
import { Faults } from './faults.ts';
import { migrations } from './migrations.ts';
import { balanceRoutes } from './routes/balance.ts';
import { chargeRoutes } from './routes/charges.ts';
import { checkoutPageRoutes } from './routes/checkout-page.ts';
import { checkoutSessionRoutes } from './routes/checkout-sessions.ts';
import { customerRoutes, paymentMethodRoutes } from './routes/customers.ts';
import { paymentIntentRoutes } from './routes/payment-intents.ts';
import { productRoutes } from './routes/products.ts';
import { testControlRoutes } from './routes/test-controls.ts';
import { webhookEndpointRoutes } from './routes/webhook-endpoints.ts';
import { expireDueSessions } from './sessions.ts';
import { randomLetters } from './store.ts';

export interface LocalCardProviderDeps {
  readonly log: Logger;
  /** Unix milliseconds; the clock unless a test stands in for it. */
  readonly now?: () => number;
  /** Instead of the file and the keys in the data folder. */
  readonly store?: { readonly sql: Sql; readonly keys: ProviderKeys };
}

/** What the payment surface is given exactly as it would be given Stripe's; known once started. */
export interface LocalCardProvider extends Surface {
  /** For STRIPE_SECRET_KEY. */
  readonly secretKey: string;
  /** For STRIPE_PUBLISHABLE_KEY: what a browser may confirm a payment intent with. */
  readonly publishableKey: string;
  /** For STRIPE_WEBHOOK_SECRET. */
  readonly webhookSecret: string;
  /** Where webhooks go, `{payment_url}/v1/stripe-webhook`; kept, and events that wait go there too. */
  deliverTo(url: string): Promise<void>;
}

const sweepIntervalMs = 5_000;

export function createLocalCardProvider(
  config: Pick<Config, 'LOCAL_NETWORK_HOST' | 'LOCAL_CARD_PORT' | 'DATA_DIR'> & TlsConfig,
  deps: LocalCardProviderDeps,
): LocalCardProvider {
  const { log, now = Date.now } = deps;
  let running: { readonly keys: ProviderKeys; readonly deliveries: Deliveries } | undefined;
  const live = () => {
    if (running === undefined) throw new Error('the card provider has not started');
    return running;
  };

  const surface = createSurface('card provider', async () => {
    const { keys, sql } = deps.store ?? (await openStore(config.DATA_DIR));
    const faults = new Faults();
    const deliveries = new Deliveries({ sql, secret: keys.webhookSecret, faults, log, now });
    running = { keys, deliveries };
    const server = createHttpServer({
      name: 'card',
      title: 'Local card provider',
      host: config.LOCAL_NETWORK_HOST,
      hostVariable: 'LOCAL_NETWORK_HOST',
      port: config.LOCAL_CARD_PORT,
      portVariable: 'LOCAL_CARD_PORT',
      tls: tlsKeysOf(config),
      log,
      metrics: new Metrics(),
      bodyLimit: 256 * 1024,
      errorBody: (_status, message) => ({ error: { type: 'invalid_request_error', message } }),
      notFound: (request) => unknownPath(request).body,
    });
    const provider: Provider = { sql, keys, deliveries, faults, url: () => server.url, now };
    providerRoutes(server.app, provider);
    const objects: Part = {
      name: 'objects',
      async start() {
        await sweepOld(provider);
        await deliveries.forgetOld();
      },
      jobs: [
        createJob({ name: 'sweep', everyMs: sweepIntervalMs, log, run: () => sweepOld(provider) }),
        deliveries,
      ],
      stop: () => sql.close(),
    };
    return { server, parts: [objects] };
  });

  return {
    ...surface,
    get url() {
      return surface.url;
    },
    get secretKey() {
      return live().keys.secretKey;
    },
    get publishableKey() {
      return live().keys.publishableKey;
    },
    get webhookSecret() {
      return live().keys.webhookSecret;
    },
    deliverTo: async (url) => live().deliveries.deliverTo(url),
  };
}

function providerRoutes(app: App, provider: Provider): void {
  sayLocal(app, 'local card provider');
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, body),
  );
  mountGuarded(app, '/v1', apiGuard(provider.keys), (api) => {
    paymentIntentRoutes(api, provider);
    checkoutSessionRoutes(api, provider);
    chargeRoutes(api, provider);
    customerRoutes(api, provider);
    paymentMethodRoutes(api, provider);
    productRoutes(api, provider);
    balanceRoutes(api, provider);
    webhookEndpointRoutes(api, provider);
  });
  mountGuarded(app, '/test', merchantGuard(provider.keys), (test) => testControlRoutes(test, provider));
  checkoutPageRoutes(app, provider);
  greetPeople(app, () => ({
    title: 'Local card provider',
    about:
      "Takes test cards in place of Stripe, with Stripe's own interface: sessions, payments, refunds, disputes and webhooks.",
    badge: 'Local network: no real card is charged',
    links: [{ path: '/api-docs', what: 'every route, to read' }],
    next: { text: 'Pages to pay on come from the payment server; 4242 4242 4242 4242 is a card that pays.' },
  }));
}

async function sweepOld(provider: Provider): Promise<void> {
  const expired = await provider.sql.transaction(async (tx) => {
    const change = changeByVisitor(provider, tx);
    await forgetOldAnswers(tx, change.now);
    return expireDueSessions(change);
  });
  if (expired > 0) provider.deliveries.wake();
}

async function openStore(folder: string): Promise<NonNullable<LocalCardProviderDeps['store']>> {
  const keys = await readKeys(join(folder, 'keys'));
  return { keys, sql: await openSqliteFile(join(folder, 'localnet', 'card.db'), migrations) };
}

async function readKeys(folder: string): Promise<ProviderKeys> {
  const key = async (name: string, prefix: string, length: number) =>
    (await readOrCreateKey(folder, `local-card-${name}`, () => `${prefix}${randomLetters(length)}`)).text;
  return {
    secretKey: await key('secret-key', 'sk_test_', 48),
    publishableKey: await key('publishable-key', 'pk_test_', 48),
    webhookSecret: await key('webhook-secret', 'whsec_', 32),
  };
}
