/** An installation that sells names: processes that share a ledger and a key, on a Solana of several nodes. */
import { type Config, readConfig } from '../../../src/config/config.ts';
import { createCredits } from '../../../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../../../src/credits/migrations.ts';
import { RequestSignatures } from '../../../src/credits/signatures/request-signatures.ts';
import {
  aclPage,
  aclPageSize,
  antAddresses,
  maxAclPageEntries,
} from '../../../src/formats/solana/accounts-ant.ts';
import { rentExemptMinimum } from '../../../src/formats/solana/programs.ts';
import { createHealth } from '../../../src/kernel/http/health.ts';
import { createHttpServer } from '../../../src/kernel/http/server.ts';
import { Metrics } from '../../../src/kernel/metrics.ts';
import { createSurface, type Part } from '../../../src/kernel/part.ts';
import { type Keypair, keypairOf } from '../../../src/localnet/solana/genesis.ts';
import { namesMigrations } from '../../../src/names/migrations.ts';
import { createNames } from '../../../src/names/part.ts';
import { watchRoutes } from '../../../src/payment/routes/service.ts';
import { stripeWebhookRoute } from '../../../src/payment/routes/stripe-webhook.ts';
import { createCardPayments } from '../../../src/payments/card/card-payments.ts';
import { cardMigrations } from '../../../src/payments/card/migrations.ts';
import { configuredFees } from '../../../src/pricing/configured.ts';
import type { RateSource } from '../../../src/pricing/pricing.ts';
import { rateTable } from '../../../src/pricing/rates/table.ts';
import { createPricing } from '../../../src/pricing/service.ts';
import { createNameChain } from '../../../src/registry/chain.ts';
import { createNameRegistry } from '../../../src/registry/name-registry.ts';
import type { Migration, Sql } from '../../../src/storage/sql/sql.ts';
import { keyOf } from '../../support/names-bench.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { cardSettings, SimulatedCards } from '../cards.ts';
import { SimulatedDatabase } from '../database.ts';
import type { Network } from '../network.ts';
import type { Life } from '../process.ts';
import type { Server } from '../scenario.ts';
import type { SolanaNetwork } from '../solana.ts';
import { logOf } from '../uploads/installation.ts';
import type { World } from '../world.ts';

export interface NamesInstallation {
  readonly ledger: SimulatedDatabase;
  readonly cards: SimulatedCards;
  readonly service: Keypair;
  readonly processes: readonly (Server & { readonly url: string })[];
}

/** Actions of one payer that may wait for a signature. */
export const mostOpen = 4;
const firstPort = 4_000;
const serviceAddress = 'NameServiceNameServiceNameServiceNameServi0';

/**
 * Remembers every transaction that was ever made for an action, where rows keep the last one only, and how many actions of
 * each payer waited for a signature at once.
 */
const remembering: Migration = {
  id: 'simulation-memory',
  up: `
CREATE TABLE most_open (payer TEXT PRIMARY KEY, actions BIGINT NOT NULL);
CREATE TRIGGER opened AFTER INSERT ON arns_action BEGIN
  INSERT OR REPLACE INTO most_open (payer, actions) SELECT NEW.payer, MAX(
    COALESCE((SELECT actions FROM most_open WHERE payer = NEW.payer), 0),
    (SELECT COUNT(*) FROM arns_action
      WHERE payer = NEW.payer AND (status = 'awaiting' OR (status = 'reserved' AND owner_signs = 1))));
END;
CREATE TABLE made_transactions (nonce TEXT NOT NULL, kind TEXT NOT NULL, signature TEXT NOT NULL, PRIMARY KEY (kind, signature));
CREATE TRIGGER made_for_owner AFTER UPDATE OF signature ON arns_action WHEN NEW.signature IS NOT NULL BEGIN
  INSERT OR IGNORE INTO made_transactions (nonce, kind, signature) VALUES (NEW.nonce, 'owned', NEW.signature);
END;
CREATE TRIGGER made_for_card AFTER UPDATE OF service_signature ON arns_purchase WHEN NEW.service_signature IS NOT NULL BEGIN
  INSERT OR IGNORE INTO made_transactions (nonce, kind, signature) VALUES (NEW.nonce, NEW.stage, NEW.service_signature);
END;
CREATE TRIGGER made_by_service AFTER UPDATE OF service_signature ON arns_action WHEN NEW.service_signature IS NOT NULL BEGIN
  INSERT OR IGNORE INTO made_transactions (nonce, kind, signature) VALUES (NEW.nonce, 'service', NEW.service_signature);
END;`,
};

export function createNamesInstallation(
  world: World,
  network: Network,
  solana: SolanaNetwork,
  random: SeededRandom,
): NamesInstallation {
  const ledger = new SimulatedDatabase(world, 'names ledger', [
    ...creditsMigrations,
    ...cardMigrations,
    ...namesMigrations,
    remembering,
  ]);
  const cards = new SimulatedCards(world);
  const service = keypairOf(random.bytes(32));
  const urls = solana.nodes.map(({ url }) => url);
  const processes = Array.from({ length: 1 + random.below(3) }, (_, index) => {
    const port = firstPort + index;
    // Each has its own order: what one node shows, another process may not see yet.
    const turned = [...urls.slice(index % urls.length), ...urls.slice(0, index % urls.length)];
    return {
      process: world.process(`names-${index + 1}`),
      url: `http://127.0.0.1:${port}`,
      program: (life: Life) => serve(life, port, turned, ledger.open(), service, solana),
    };
  });
  cards.balance(world, network, processes);
  return { ledger, cards, service, processes };
}

/** What the program makes of names, by credits and by card. */
async function serve(
  life: Life,
  port: number,
  urls: readonly string[],
  sql: Sql,
  service: Keypair,
  { programs }: SolanaNetwork,
): Promise<void> {
  const config = readConfig({
    ARNS_MAX_OPEN_ACTIONS: String(mostOpen),
    STRIPE_RECONCILE_INTERVAL_MS: '900000',
  });
  const log = logOf(life);
  const metrics = new Metrics();
  const credits = createCredits({ sql });
  const chain = createNameChain({ urls, timeoutMs: config.SOLANA_RPC_TIMEOUT_MS });
  const signatures = new RequestSignatures({ sql, service: serviceAddress });
  const pricing = pricingOf(config, sql, credits.hasPaid, changingRates(life.world, config));
  const cards = createCardPayments({ ...config, ...cardSettings }, { sql, pricing, log });
  const names = createNames(config, {
    ...{ log, metrics, sql, credits, pricing, cards },
    signatures,
    chain,
    registry: createNameRegistry(chain, programs),
    key: keyOf(service),
  });
  const server = createHttpServer({
    name: 'payment',
    title: 'Names',
    host: '127.0.0.1',
    port,
    portVariable: 'PAYMENT_PORT',
    log,
    metrics,
    admit: signatures.admit,
    docs: false,
  });
  signatures.watch(server.app);
  server.mount(
    (app) => {
      names.routes(app);
      stripeWebhookRoute(app, cards);
    },
    ['/v1'],
  );
  const card: Part = { name: 'card', start: () => cards.start(), stop: () => cards.stop() };
  const parts = [names, card];
  server.mount((app) =>
    watchRoutes(
      app,
      metrics,
      createHealth(config, () => parts),
    ),
  );
  await createSurface('payment', () => ({ server, parts })).start();
}

/** Tokens cost something else each hour. */
function changingRates(world: World, { STATIC_RATES: usual }: Config): RateSource {
  return {
    async fetch() {
      const now = Date.now();
      const factor = 0.7 + 0.6 * world.random(`rates of hour ${Math.floor(now / 3_600_000)}`).fraction();
      const prices = Object.entries(usual).map(([token, rates]) => {
        const changed = Object.entries(rates).map(([currency, rate]) => [currency, Number(rate) * factor]);
        return [token, Object.fromEntries(changed)];
      });
      return rateTable(Object.fromEntries(prices), now);
    },
  };
}

const pricingOf = (
  config: Config,
  sql: Sql,
  hasPaid: ReturnType<typeof createCredits>['hasPaid'],
  rates: RateSource,
) =>
  createPricing({
    sql,
    hasPaid,
    rates,
    network: { fetch: async () => 12_345_678_901_234n },
    ratesFreshMs: 60_000,
    ratesUsableMs: 10 ** 12,
    networkFreshMs: 900_000,
    networkUsableMs: 10 ** 12,
    catalogueFreshMs: 5_000,
    usdPerItem: config.USD_PRICE_PER_DATA_ITEM,
    fees: configuredFees(config.PAYMENT_FEE_NAME, config.PAYMENT_FEE_MULTIPLIER, config.KYVE_FEE_MULTIPLIER),
    tokensWithoutFees: config.TOKENS_WITHOUT_FEES,
  });

/** A service that has sold for long: of the page of its list that is written to, so many places are left. */
export function fillServiceList(solana: SolanaNetwork, service: Keypair, places: number): void {
  const address = antAddresses(solana.programs.ant).aclPage(service.address, 0n).address;
  const account = solana.ledger.accounts.get(address);
  const page = aclPage.decode(account.data);
  const count = maxAclPageEntries - places;
  const entries = Array.from({ length: count }, (_, index) => {
    const seed = Buffer.alloc(32);
    seed.writeUInt32LE(index);
    return { asset: keypairOf(seed).address, role: 'controller' as const };
  });
  const size = aclPageSize(count);
  const data = aclPage.encode({ ...page, entries }, size);
  solana.write(new Map([[address, { ...account, data, lamports: rentExemptMinimum(size) }]]));
}
