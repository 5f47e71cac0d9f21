/** Puts names together: prices for everybody, actions and card purchases where the service has a key to act with. */
import type { Credits } from '../credits/credits.ts';
import type { TopUpPage } from '../credits/lack.ts';
import type { RequestSignatures } from '../credits/signatures/request-signatures.ts';
import { maxNameLength } from '../formats/solana/name-rules.ts';
import { createJob } from '../kernel/background/job.ts';
import { WakeableTask } from '../kernel/background/wakeable-task.ts';
import type { App } from '../kernel/http/app.ts';
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { Part } from '../kernel/part.ts';
import type { CardPayments } from '../payments/card/card.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { NameChain } from '../registry/chain.ts';
import { createNameHistory } from '../registry/name-history.ts';
import type { NameRegistry } from '../registry/name-registry.ts';
import type { Sql } from '../storage/sql/sql.ts';
import type { ActionContext } from './actions/context.ts';
import { reconcileActions } from './actions/reconcile.ts';
import { sponsorTokens } from './actions/sponsor.ts';
import { CardPurchases } from './cards/purchases.ts';
import { createBuilders, Planner } from './chain/plan.ts';
import type { SolanaKey } from './chain/service-key.ts';
import { ChangedNames, type NameListener } from './changes.ts';
import { translateError } from './errors.ts';
import { Locks } from './locks.ts';
import { createNamesMetrics } from './metrics.ts';
import { tellLapsing } from './notices/leases.ts';
import { spawnLamports } from './prices/lamports.ts';
import { NamePrices } from './prices/prices.ts';
import { adminActionsRoute } from './routes/admin-actions.ts';
import { arnsActionRoutes } from './routes/arns-actions.ts';
import { arnsMyNamesRoute } from './routes/arns-my-names.ts';
import { arnsNamesRoutes } from './routes/arns-names.ts';
import { arnsPriceRoute } from './routes/arns-price.ts';
import { arnsPurchaseRoute } from './routes/arns-purchase.ts';
import { arnsQuoteRoute } from './routes/arns-quote.ts';
import { arnsWhereRoute } from './routes/arns-where.ts';
import type { NamesContext } from './routes/context.ts';
import { type NamesConfig, namesSettings } from './settings.ts';
import { type KnownGateway, NameWhere } from './where.ts';

export interface NamesDeps {
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The `ledger` database, with `namesMigrations`. */
  readonly sql: Sql;
  readonly credits: Credits;
  /** Told to wallets that cannot pay. */
  readonly topUpPage?: TopUpPage;
  readonly pricing: Pricing;
  /** Also watches the server that the routes are added to. */
  readonly signatures: RequestSignatures;
  readonly chain: NameChain;
  readonly registry: NameRegistry;
  /** Without it names can be priced and looked up, not acted on. */
  readonly key: SolanaKey | undefined;
  /** Without it names cannot be bought by card. */
  readonly cards?: CardPayments;
  /** Gateways and routers of this operator, told of what is changed here. */
  readonly listeners?: readonly NameListener[];
  /** Gateways that are asked what they show, the operator's own first. */
  readonly gateways?: () => readonly KnownGateway[];
  /** How long a request waits for the chain to say what became of a transaction. */
  readonly deliveryTimeoutMs?: number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

export interface Names
  extends Required<Pick<Part, 'name' | 'routes' | 'adminRoutes' | 'jobs' | 'start' | 'stop' | 'problems'>> {
  /** Goes on now with everything that is unfinished, whatever its age. */
  reconcile(): Promise<void>;
  /** Resolves when no background work is left. */
  settled(): Promise<void>;
}

const defaultDeliveryTimeoutMs = 20_000;
const LEASE_NOTICES_EVERY_MS = 60_000;

export function createNames(config: NamesConfig, deps: NamesDeps): Names {
  const { log, sql, pricing, chain, registry, key, now = Date.now } = deps;
  const settings = namesSettings(config);
  const metrics = createNamesMetrics(deps.metrics, async () => Number((await registry.config()).totalNames));
  const background = new BackgroundWork(log);
  const prices = new NamePrices({
    registry,
    pricing,
    now,
    ...settings,
    actionMargin: config.ARNS_ACTION_MARGIN,
    microLamports: config.ARNS_UNIT_PRICE_MICROLAMPORTS,
    buyer: key?.address,
  });
  const where = new NameWhere({ registry, gateways: deps.gateways ?? (() => []), now });
  const changed = new ChangedNames({
    registry,
    listeners: deps.listeners ?? [],
    log,
    later: (work) => background.run(work),
    forget: (name) => where.forget(name),
  });
  const actions: ActionContext | undefined = key && {
    sql,
    credits: deps.credits,
    topUpPage: deps.topUpPage,
    prices,
    chain,
    registry,
    key,
    planner: new Planner(key, config.ARNS_UNIT_PRICE_MICROLAMPORTS),
    builders: createBuilders(registry, key.address),
    locks: new Locks(sql),
    settings: {
      lifeMs: config.ARNS_ACTION_TTL_MS,
      maxOpen: config.ARNS_MAX_OPEN_ACTIONS,
      defaultTarget: config.ARNS_DEFAULT_TARGET,
      timeoutMs: deps.deliveryTimeoutMs ?? defaultDeliveryTimeoutMs,
    },
    metrics,
    log,
    changed,
    later: (work) => background.run(work),
    now,
  };
  const cards =
    actions !== undefined && deps.cards !== undefined && config.ARNS_CARD_PAYMENTS === 'on'
      ? new CardPurchases(actions, deps.cards, pricing)
      : undefined;

  /** Of the key that pays for names, when it was last looked at. */
  let funds: SponsorFunds | undefined;

  async function reconcile(unchangedFor?: number): Promise<void> {
    if (actions === undefined) return;
    await actions.locks.sweep();
    await reconcileActions(actions, unchangedFor);
    await cards?.reconcile();
    funds = { lamports: await chain.balance(actions.key.address), tokens: await sponsorTokens(actions) };
    metrics.sponsor(funds.lamports, funds.tokens);
  }

  const reconciling = new WakeableTask({
    name: 'reconcile name actions',
    run: async () => {
      await reconcile();
      return config.ARNS_RECONCILE_MS;
    },
    failed: (error) => {
      log.warn({ err: error }, 'background work on names failed');
      return config.ARNS_RECONCILE_MS;
    },
  });
  const context: NamesContext = {
    sql,
    pricing,
    prices,
    signatures: deps.signatures,
    registry,
    history: createNameHistory(chain, registry.programs),
    where,
    now,
    actions,
    cards,
    appUrl: config.APP_URL,
  };
  return {
    name: 'names',
    routes: (scope) => void scope.register(async (app: App) => addRoutes(app, context)),
    adminRoutes: (app) => adminActionsRoute(app, sql, now),
    jobs: [reconciling, ...(actions === undefined ? [] : [leaseNotices(actions)])],
    async start() {
      background.run(() => logFunds(deps));
    },
    async stop() {
      await background.stop();
      await where.close();
      await actions?.locks.stop();
    },
    problems: () =>
      funds === undefined ? [] : lackOfFunds(funds, config.ARNS_UNIT_PRICE_MICROLAMPORTS, key?.address),
    reconcile: () => reconcile(0),
    async settled() {
      await reconciling.settled();
      await background.settled();
    },
  };
}

/** Tells owners of leases that end soon. */
const leaseNotices = (context: ActionContext) =>
  createJob({
    name: 'tell of leases that end',
    everyMs: LEASE_NOTICES_EVERY_MS,
    log: context.log,
    run: () => tellLapsing({ ...context, service: context.key.address }),
  });

function addRoutes(app: App, context: NamesContext): void {
  app.setErrorHandler((error) => {
    throw translateError(error);
  });
  arnsPriceRoute(app, context);
  arnsPurchaseRoute(app, context);
  arnsQuoteRoute(app, context);
  arnsMyNamesRoute(app, context);
  arnsNamesRoutes(app, context);
  arnsWhereRoute(app, context);
  arnsActionRoutes(app, context);
}

interface SponsorFunds {
  readonly lamports: bigint;
  readonly tokens: bigint;
}

/** A key that cannot make one more token sells nothing. */
function lackOfFunds(
  { lamports, tokens }: SponsorFunds,
  microLamports: number,
  address: string | undefined,
): string[] {
  const needed = spawnLamports('a'.repeat(maxNameLength), microLamports);
  return [
    ...(lamports < needed
      ? [`Names cannot be sold: ${address} has ${lamports} lamports, one name may take ${needed}.`]
      : []),
    ...(tokens === 0n ? [`Names cannot be sold: ${address} has no name tokens.`] : []),
  ];
}

/** Logs at the start which chain names are on and whether this service can pay for them. */
async function logFunds({ chain, registry, key, log }: NamesDeps): Promise<void> {
  const genesisHash = await chain.genesisHash();
  const { totalNames } = await registry.config();
  log.info(
    { genesisHash, program: registry.programs.arns, names: totalNames.toString() },
    'names are on this chain',
  );
  if (key === undefined) return;
  const [lamports, tokens] = await Promise.all([
    chain.balance(key.address),
    sponsorTokens({ chain, registry, key }),
  ]);
  const funds = { address: key.address, lamports: lamports.toString(), mARIO: tokens.toString() };
  if (lamports === 0n || tokens === 0n)
    log.warn(funds, 'the key that pays for names needs SOL and name tokens');
  else log.info(funds, 'the key that pays for names');
}

/** Work that a request begins and nobody waits for. It ends before the part stops. */
class BackgroundWork {
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();
  #stopped = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  run(work: () => Promise<void>): void {
    if (this.#stopped) return;
    const running: Promise<void> = work()
      .catch((error: unknown) => this.#log.warn({ err: error }, 'background work on names failed'))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.settled();
  }
}
