/**
 * Name registration ({service_url}/v1, interface §4.2): names are priced, bought, kept up and managed, paid by credits
 * or by card, on Solana. The service pays every fee and every name token; customers pay winc.
 *
 *   routes/    one file per route or small family
 *   prices/    what things cost, in tokens, lamports and winc
 *   actions/   the twelve actions from request to end
 *   cards/     purchases by card
 *   chain/     transactions: planning, signing, delivering
 *
 *   locks.ts        one at a time per name or token, across processes
 *   token-lists.ts  room in users' lists of tokens
 *
 * Mounted on the payment server as one of its doors. It may call credits, pricing, registry, wallets, formats, storage
 * and kernel.
 */
import type { Config } from '../config/config.ts';
import { type Credits, InsufficientCredits, parseAmount } from '../credits/credits.ts';
import type { RequestSignatures } from '../credits/signatures/request-signatures.ts';
import { antBuilder } from '../formats/solana/instructions-ant.ts';
import { arnsBuilder } from '../formats/solana/instructions-arns.ts';
import { isArweaveId } from '../formats/solana/name-rules.ts';
import { StartupError } from '../kernel/errors.ts';
import type { App } from '../kernel/http/app.ts';
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { CardPayments } from '../payments/card/card.ts';
import { OracleUnavailable, type Pricing, PromoCodeRefused } from '../pricing/pricing.ts';
import type { NameChain } from '../registry/chain.ts';
import { isChainFailure } from '../registry/errors.ts';
import type { NameRegistry } from '../registry/name-registry.ts';
import { DatabaseUnavailable, type Sql } from '../storage/sql/sql.ts';
import type { ActionContext } from './actions/context.ts';
import { sponsorTokens } from './actions/get-ready.ts';
import { reconcileActions } from './actions/reconcile.ts';
import { ActionStore } from './actions/store.ts';
import { Background } from './background.ts';
import { CardPurchases } from './cards/purchases.ts';
import { Planner } from './chain/plan.ts';
import type { Builders } from './chain/plan-purchase.ts';
import type { SolanaKey } from './chain/service-key.ts';
import {
  badRequest,
  chainUnavailable,
  databaseUnavailable,
  insufficientBalance,
  oracleUnavailable,
  stillBusy,
} from './errors.ts';
import { LockLost, Locks, LockTimeout } from './locks.ts';
import { createNamesMetrics } from './metrics.ts';
import type { NamesContext } from './names-context.ts';
import { NamePrices } from './prices/prices.ts';
import { arnsActionRoutes, keepBody } from './routes/arns-actions.ts';
import { arnsMyNamesRoute } from './routes/arns-my-names.ts';
import { arnsPriceRoute } from './routes/arns-price.ts';
import { arnsPurchaseRoute } from './routes/arns-purchase.ts';
import { arnsQuoteRoute } from './routes/arns-quote.ts';

export { makeSecretKey, parseSecretKey, type SolanaKey } from './chain/service-key.ts';
export { namesMigrations } from './schema.ts';

export type NamesConfig = Pick<
  Config,
  | 'ANT_SPAWN_WINC_SURCHARGE'
  | 'APP_URL'
  | 'ARNS_ACTION_FLOOR_WINC'
  | 'ARNS_ACTION_MARGIN'
  | 'ARNS_ACTION_TTL_MS'
  | 'ARNS_CARD_PAYMENTS'
  | 'ARNS_DEFAULT_TARGET'
  | 'ARNS_MAX_OPEN_ACTIONS'
  | 'ARNS_RECONCILE_MS'
  | 'ARNS_UNIT_PRICE_MICROLAMPORTS'
>;

export interface NamesDeps {
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The `ledger` database, with `namesMigrations`. */
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pricing;
  /** Also watches the server that the routes are added to. */
  readonly signatures: RequestSignatures;
  readonly chain: NameChain;
  readonly registry: NameRegistry;
  /** Without it names can be priced and looked up, not acted on. */
  readonly key: SolanaKey | undefined;
  /** Without it names cannot be bought by card. */
  readonly cards?: CardPayments;
  /** How long a request waits for the chain to say what became of a transaction. */
  readonly patienceMs?: number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** A door of the payment server. */
export interface Names {
  readonly name: string;
  /** Adds the routes to the scope under `/v1`. */
  routes(scope: App): void;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Looks after everything unfinished now, whatever its age. */
  reconcile(): Promise<void>;
  /** Resolves when no work in the background is left. */
  settled(): Promise<void>;
}

const defaultPatienceMs = 20_000;

export function createNames(config: NamesConfig, deps: NamesDeps): Names {
  const { log, sql, credits, pricing, chain, registry, key, now = Date.now } = deps;
  if (!isArweaveId(config.ARNS_DEFAULT_TARGET)) {
    throw new StartupError('ARNS_DEFAULT_TARGET must be a transaction id of 43 characters');
  }
  const metrics = createNamesMetrics(deps.metrics);
  const background = new Background(log);
  const prices = new NamePrices(
    registry,
    pricing,
    {
      spawnSurcharge: amountOf(config, 'ANT_SPAWN_WINC_SURCHARGE'),
      actionFloor: amountOf(config, 'ARNS_ACTION_FLOOR_WINC') ?? 0n,
      actionMargin: config.ARNS_ACTION_MARGIN,
      microLamports: config.ARNS_UNIT_PRICE_MICROLAMPORTS,
      buyer: key?.address,
    },
    now,
  );
  const actions: ActionContext | undefined = key && {
    sql,
    store: new ActionStore(sql),
    credits,
    prices,
    chain,
    registry,
    key,
    planner: new Planner(key, config.ARNS_UNIT_PRICE_MICROLAMPORTS),
    builders: readOnce(() => readBuilders(registry, key)),
    locks: new Locks(sql),
    settings: {
      lifeMs: config.ARNS_ACTION_TTL_MS,
      maxOpen: config.ARNS_MAX_OPEN_ACTIONS,
      defaultTarget: config.ARNS_DEFAULT_TARGET,
      patienceMs: deps.patienceMs ?? defaultPatienceMs,
    },
    metrics,
    log,
    later: (work) => background.run(work),
    now,
  };
  const cards =
    actions !== undefined && deps.cards !== undefined && config.ARNS_CARD_PAYMENTS === 'on'
      ? new CardPurchases(actions, deps.cards, pricing)
      : undefined;
  const context: NamesContext = {
    sql,
    pricing,
    prices,
    registry,
    signatures: deps.signatures,
    actions,
    cards,
    appUrl: config.APP_URL,
  };

  async function lookAfter(unchangedFor?: number): Promise<void> {
    if (actions === undefined) return;
    await actions.locks.sweep();
    await reconcileActions(actions, unchangedFor);
    await cards?.reconcile();
    metrics.sponsor(await chain.balance(actions.key.address), await sponsorTokens(actions));
  }

  return {
    name: 'names',
    routes(scope) {
      scope.register(async (app: App) => {
        app.setErrorHandler((error) => {
          throw translated(error);
        });
        // Everything may be in the query: then a client may say JSON and send nothing.
        const parse = app.getDefaultJsonParser('error', 'error');
        app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
          keepBody(request, Buffer.from(body));
          if (body.length === 0) done(null, undefined);
          else parse(request, body.toString(), done);
        });
        arnsPriceRoute(app, context);
        arnsPurchaseRoute(app, context);
        arnsQuoteRoute(app, context);
        arnsMyNamesRoute(app, context);
        arnsActionRoutes(app, context);
      });
    },
    async start() {
      background.run(() => introduce(deps));
      background.every(config.ARNS_RECONCILE_MS, () => lookAfter());
    },
    async stop() {
      await background.stop();
      await actions?.locks.stop();
    },
    reconcile: () => lookAfter(0),
    settled: () => background.settled(),
  };
}

/** Says at the start which chain names are on and whether this service can pay for them. */
async function introduce({ chain, registry, key, log }: NamesDeps): Promise<void> {
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

/** What the rooms below throw, in the words of this surface. */
function translated(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return databaseUnavailable();
  if (error instanceof OracleUnavailable) return oracleUnavailable(error.retryAfter);
  if (isChainFailure(error)) return chainUnavailable(error);
  if (error instanceof LockTimeout || error instanceof LockLost) return stillBusy();
  if (error instanceof InsufficientCredits) return insufficientBalance(error.address);
  if (error instanceof PromoCodeRefused) return badRequest(error.message);
  return error;
}

async function readBuilders(registry: NameRegistry, key: SolanaKey): Promise<Builders> {
  const { treasury } = await registry.config();
  const { programs } = registry;
  return { programs, arns: arnsBuilder(programs, treasury), ant: antBuilder(programs), service: key.address };
}

/** Asks until it has an answer, then keeps it. */
function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined;
  return () => {
    kept ??= read().catch((error: unknown) => {
      kept = undefined;
      throw error;
    });
    return kept;
  };
}

function amountOf(
  config: NamesConfig,
  name: 'ANT_SPAWN_WINC_SURCHARGE' | 'ARNS_ACTION_FLOOR_WINC',
): bigint | undefined {
  const text = config[name];
  if (text === undefined || text === '') return undefined;
  const amount = parseAmount(text);
  if (amount === undefined) throw new StartupError(`${name} must be an amount of winc`);
  return amount;
}
