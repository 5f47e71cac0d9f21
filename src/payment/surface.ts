/** The payment service ({payment_url}/v1, interface §4.1): its server, its parts and their routes. See README.md. */
import { Type } from 'typebox';
import type { Config } from '../config/config.ts';
import type { Credits } from '../credits/credits.ts';
import type { TopUpPage } from '../credits/lack.ts';
import { readLosses } from '../credits/ledger/accounts.ts';
import { LedgerSoundness, ledgerHealth } from '../credits/ledger/soundness.ts';
import type { RequestSignatures } from '../credits/signatures/request-signatures.ts';
import type { KeptName } from '../formats/admin-answers.ts';
import { createAdmin } from '../kernel/admin/admin.ts';
import type { Figures } from '../kernel/admin/routes/state.ts';
import { createJob } from '../kernel/background/job.ts';
import { createClockWatch } from '../kernel/clock-watch.ts';
import { type App, hideFromDocument } from '../kernel/http/app.ts';
import { createErrorMapper } from '../kernel/http/error-mapper.ts';
import { createHealth, type Health } from '../kernel/http/health.ts';
import { limitClients } from '../kernel/http/limit-clients.ts';
import { createHttpServer, type HttpServer } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import { createSurface, type Part, type Surface } from '../kernel/part.ts';
import { tlsKeysOf } from '../kernel/tls/tls-keys.ts';
import { serverClocks } from '../outside/server-time.ts';
import { acceptedTokens, type ChainWorld } from '../payments/chain/accepted-tokens.ts';
import type { AcceptedToken } from '../payments/chain/chain.ts';
import { unknownChainPayments } from '../payments/chain/unknown-payments.ts';
import type { OutsideSource } from '../payments/outside-records.ts';
import { Reconciler } from '../payments/reconciliation/reconciler.ts';
import { createCreditReturns, returnRules } from '../payments/returns/credit-returns.ts';
import { createWaysBack, type WaysWorld } from '../payments/returns/ways/ways.ts';
import type { Pricing } from '../pricing/pricing.ts';
import { parseToken } from '../pricing/tokens.ts';
import { databaseClock } from '../storage/sql/lease.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { readInteger } from '../storage/sql/typed-rows.ts';
import { normalizeAddress } from '../wallets/address.ts';
import { formsOfAddress } from '../wallets/address-forms.ts';
import { cacheMinute, paymentCors, sendJsonText } from './answers.ts';
import type { Authenticator } from './auth/request-wallet.ts';
import { Bookkeeping } from './bookkeeping.ts';
import { type ChainPart, createChainPart, excludedWallets } from './chain/part.ts';
import { paymentLimits } from './client-limits.ts';
import { defaultCountries } from './countries.ts';
import { tokenNotSupported } from './errors.ts';
import { createWalletEvents } from './events/part.ts';
import type { Gifts } from './gifts.ts';
import { type PaymentMetrics, paymentMetrics } from './metrics.ts';
import { createReturnsPart, returnMetrics } from './returns/part.ts';
import { answerFailures, translated } from './route-failures.ts';
import { accountRoute } from './routes/account.ts';
import { accountApprovalsRoutes, approvalsOfPair } from './routes/account-approvals.ts';
import { accountFreeRoute, type FreeBytes } from './routes/account-free.ts';
import { accountPaymentRoute } from './routes/account-payment.ts';
import { accountPaymentsRoute } from './routes/account-payments.ts';
import { returnTerms } from './routes/account-returns.ts';
import { accountUseRoutes } from './routes/account-use.ts';
import { adminLedgerRoutes } from './routes/admin/ledger.ts';
import { adminPaymentsRoutes } from './routes/admin/payments.ts';
import { adminReconcileRoutes } from './routes/admin/reconcile.ts';
import { accountBalanceRoutes, balanceRoutes } from './routes/balance.ts';
import { parseByteCount, priceRoutes } from './routes/price.ts';
import { ratesRoutes } from './routes/rates.ts';
import { redeemRoute } from './routes/redeem.ts';
import { infoRoutes, paymentGreeting, type ServiceInfo, watchRoutes } from './routes/service.ts';

export interface PaymentDeps {
  readonly log: Logger;
  /** The `ledger` database. */
  readonly sql: Sql;
  readonly credits: Credits;
  /** Whether the ledger can be trusted. */
  readonly soundness?: LedgerSoundness;
  readonly pricing: Pricing;
  readonly auth: Authenticator;
  /** Watches every route of the server, those of names too. */
  readonly signatures: RequestSignatures;
  readonly gifts: Gifts;
  /** Wallets that nothing is sold or given to; none unless given. */
  readonly refuses?: ((address: string) => boolean) | undefined;
  /** Told to wallets that lack credits. */
  readonly topUpPage?: TopUpPage | undefined;
  readonly chains: ChainWorld;
  /** What returns of unused credits are sent with; without it none are made here. */
  readonly waysBack?: Omit<WaysWorld, 'tokens' | keyof ChainWorld>;
  readonly version: string;
  /** What the operator's routes want. */
  readonly adminKey: string;
  /** What operators are told of names, which another room sells. */
  readonly names?: {
    keptNames(limit: number): Promise<readonly KeptName[]>;
    openActions(): Promise<number>;
  };
  /** Public addresses of gateways, the preferred first. */
  readonly gateways: readonly string[];
  /** Who knows what happened outside, beside the chains: asked when the ledger is reconciled with it. */
  readonly outside?: readonly OutsideSource[];
  /** Ways to pay beside chain transactions, and what else is sold on this server: names. */
  readonly parts?: readonly Part[];
  /** Bytes a wallet may still upload for nothing; without it what the configuration of uploads says. */
  readonly freeBytes?: FreeBytes;
  readonly metrics?: Metrics;
}

const BODY_LIMIT = 1024 * 1024;
const CONNECTIONS = 16_384;
const EXPIRE_APPROVALS_EVERY_MS = 60_000;
/** After a check that could not be made. */
const CHECK_AGAIN_EVERY_MS = 60_000;
/** The first run is the one that matters. */
const UNITE_EVERY_MS = 60_000;

export function createPaymentSurface(config: Config, deps: PaymentDeps): Surface {
  return createSurface('payment', () => {
    const metrics = deps.metrics ?? new Metrics('payment');
    const counters = paymentMetrics(metrics, deps.pricing, deps.credits);
    const tokens = acceptedTokens(config, deps.chains);
    const chain = createChainPart(config, { ...deps, tokens, metrics: counters });
    const server = createServer(config, deps, metrics);
    const { sql, credits, names } = deps;
    const books = new Bookkeeping({ sql, credits, keptNames: names?.keptNames });
    const parts: Part[] = [
      ...[chain, ...(deps.parts ?? []), ...returnsParts(config, deps, tokens, metrics)],
      ledgerPart(config, deps, books, counters),
      { name: 'prices', problems: () => deps.pricing.problems() },
      reconciliationPart(config, deps, tokens, chain),
      createClockWatch({
        ...{ metrics, log: deps.log },
        clocks: [...serverClocks(deps.chains.arweaveNodes, '/info'), databaseClock(sql)],
      }),
      ...createWalletEvents(config, { ...deps, metrics }),
    ];
    const { routes: adminRoutes, ...admin } = createAdmin({
      ...{ surface: 'payment', version: deps.version, config, key: deps.adminKey, log: deps.log },
      parts: () => parts,
      figures: () => paymentFigures(deps, books),
      translate: (error) => translated(error, {}),
    });
    // It has a prefix and a guard of its own: its routes are not among those of the parts below.
    parts.push({ name: 'admin', ...admin });
    const routes: PaymentRoutesDeps = {
      ...deps,
      metrics,
      chain,
      parts,
      countries: config.SUPPORTED_COUNTRIES.length > 0 ? config.SUPPORTED_COUNTRIES : defaultCountries,
      isPlayMoney: config.WORLD === 'local',
      proxies: config.TRUSTED_PROXY_COUNT,
      health: createHealth(config, () => parts),
      freeBytes:
        deps.freeBytes ?? (async (address) => configuredFreeBytes(config, await credits.namesOf(address))),
      info: () => ({
        version: deps.version,
        addresses: chain.payments.addresses,
        gateway: deps.gateways[0] ?? '',
        gateways: deps.gateways,
        freeUploadLimitBytes: config.FREE_UPLOAD_LIMIT,
        ...(config.RETURN_WINDOW_DAYS > 0 && { returns: returnTerms(returnRules(config)) }),
        boundSignatures: deps.signatures.requireBound ? 'required' : 'optional',
      }),
    };
    server.mount((app) => paymentRoutes(app, routes), ['/v1']);
    server.mount(adminRoutes, ['/v1']);
    server.mount((app) => rootRoutes(app, routes));
    return { server, parts };
  });
}

function returnsParts(
  config: Config,
  { sql, credits, log, auth, signatures, chains, waysBack }: PaymentDeps,
  tokens: ReadonlyMap<string, AcceptedToken>,
  metrics: Metrics,
): Part[] {
  if (waysBack === undefined) return [];
  const { arweaveNodes, solanaRpcUrls = [], arioMint } = chains;
  const ways = createWaysBack(config, { ...waysBack, tokens, arweaveNodes, solanaRpcUrls, arioMint });
  const onMoved = returnMetrics(metrics, sql);
  const returns = createCreditReturns(returnRules(config), { sql, credits, log, ways, onMoved });
  return [createReturnsPart({ sql, returns, auth, signatures })];
}

/** What the outside knows and the ledger does not. */
function reconciliationPart(
  config: Config,
  { sql, log, outside = [] }: PaymentDeps,
  tokens: ReadonlyMap<string, AcceptedToken>,
  { payments }: ChainPart,
): Part {
  const excludedSenders = excludedWallets(config);
  const chains = unknownChainPayments({ sql, tokens, payments, excludedSenders });
  // First: what was sent to a wallet without an authorisation is a payment here, and only told by x402.
  const sources = [...chains, ...outside];
  const reconciler = new Reconciler({ sources, log });
  return {
    name: 'reconciliation',
    adminRoutes: (app) => adminReconcileRoutes(app, reconciler),
    stop: () => reconciler.stop(),
  };
}

/** What the ledger needs done from time to time. */
function ledgerPart(
  config: Config,
  { log, credits, sql, soundness = new LedgerSoundness() }: PaymentDeps,
  books: Bookkeeping,
  metrics: PaymentMetrics,
): Part {
  const showState = (drift: number): void => {
    metrics.ledgerDrift.set(soundness.unchecked === undefined ? drift : Number.NaN);
    metrics.ledgerUnchecked.set(soundness.unchecked === undefined ? 0 : 1);
  };
  const check = async (): Promise<void> => {
    let drift = Number.NaN;
    try {
      const found = await books.check();
      drift = Number(found.drift);
      soundness.checked();
      if (!found.ok)
        log.fatal({ drift: found.drift, problems: found.problems }, 'the ledger does not add up');
    } catch (error) {
      soundness.checkFailed(error);
      throw error;
    } finally {
      showState(drift);
    }
  };
  showState(0);
  const health = ledgerHealth(soundness);
  return {
    name: 'ledger',
    adminRoutes(app) {
      adminLedgerRoutes(app, books);
      adminPaymentsRoutes(app, sql, Date.now);
    },
    fatal: health.fatal,
    problems: () => [
      ...health.problems(),
      ...(books.checkState.last?.ok === false ? ['The ledger does not add up.'] : []),
    ],
    jobs: [
      createJob({
        name: 'expire approvals',
        everyMs: EXPIRE_APPROVALS_EVERY_MS,
        log,
        run: () => credits.expireApprovals(),
      }),
      createJob({
        name: 'unite accounts',
        everyMs: UNITE_EVERY_MS,
        log,
        run: () => credits.uniteStored(),
      }),
      createJob({
        name: 'check the ledger',
        everyMs: config.LEDGER_CHECK_INTERVAL_MS,
        log,
        run: check,
      }),
      createJob({
        name: 'check the ledger again',
        everyMs: Math.min(CHECK_AGAIN_EVERY_MS, config.LEDGER_CHECK_INTERVAL_MS),
        log,
        run: async () => (soundness.unchecked === undefined ? undefined : check()),
      }),
    ],
  };
}

async function paymentFigures({ sql, names }: PaymentDeps, books: Bookkeeping): Promise<Figures> {
  const open = await books.open();
  const count = async (where: string): Promise<number> =>
    readInteger((await sql.get(`SELECT COUNT(*) AS n FROM ${where}`))?.n);
  return {
    refundsOwed: open.refunds.length,
    refundsGivenUp: open.refunds.filter(({ givenUp }) => givenUp).length,
    x402Unclear: open.payments.length,
    returnsByHand: open.returns.length,
    cardEventsOpen: open.cardEvents.length,
    chainPaymentsPending: await count("payment_chain_transactions WHERE state = 'pending'"),
    chainPaymentsFailed: open.chainPayments.length,
    giftsWaiting: (await books.gifts()).length,
    lossesWinc: (await readLosses(sql)).toString(),
    ledgerOk: books.checkState.last?.ok ?? null,
    nameActionsOpen: (await names?.openActions()) ?? 0,
  };
}

/** Small items of everyone, or all items of listed wallets, are free without a limit per wallet. */
function configuredFreeBytes(config: Config, names: readonly string[]): null | 0 {
  const known = new Set(names.flatMap((name) => [name, ...formsOfAddress(name)]));
  const listed = config.ALLOW_LISTED_ADDRESSES.some((one) => known.has(normalizeAddress(one) ?? one));
  return config.FREE_UPLOAD_LIMIT > 0 || listed ? null : 0;
}

function createServer(config: Config, deps: PaymentDeps, metrics: Metrics): HttpServer {
  const { signatures } = deps;
  const mapError = createErrorMapper((_status, message) => message);
  const server = createHttpServer({
    name: 'payment',
    title: 'Payment and names',
    description: 'Storage credits: prices, top-ups, balances, sharing; names bought with them.',
    version: deps.version,
    host: config.HOST,
    port: config.PAYMENT_PORT,
    portVariable: 'PAYMENT_PORT',
    tls: tlsKeysOf(config),
    log: deps.log,
    metrics,
    bodyLimit: BODY_LIMIT,
    // Each reader of events keeps a connection; the others have theirs beside them.
    maxConnections: CONNECTIONS + config.EVENTS_MAX_READERS,
    trustedProxies: config.TRUSTED_PROXIES,
    cors: paymentCors,
    admit: signatures.admit,
    refusal: (error, request, reply) => {
      signatures.spendShown(request).then(
        () => mapError(error, request, reply),
        (failure: unknown) => mapError(translated(failure, {}), request, reply),
      );
    },
  });
  signatures.watch(server.app);
  limitClients(server.app, 'payment', paymentLimits(config), config.TRUSTED_PROXY_COUNT);
  return server;
}

export interface PaymentRoutesDeps
  extends Pick<PaymentDeps, 'sql' | 'credits' | 'pricing' | 'auth' | 'gifts' | 'refuses' | 'topUpPage'>,
    Required<Pick<PaymentDeps, 'parts' | 'freeBytes' | 'metrics'>> {
  /** The part whose routes are also answered at the root. */
  readonly chain: Pick<ChainPart, 'routes' | 'payments'>;
  /** How many proxies of ours are in front. */
  readonly proxies: number;
  readonly countries: readonly string[];
  readonly info: () => ServiceInfo;
  readonly isPlayMoney: boolean;
  readonly health: Health;
}

/** Everything under `/v1`. */
export async function paymentRoutes(app: App, deps: PaymentRoutesDeps): Promise<void> {
  answerFailures(app);
  priceRoutes(app, deps);
  ratesRoutes(app, deps);
  balanceRoutes(app, deps);
  accountRoute(app, deps);
  accountApprovalsRoutes(app, deps.credits);
  accountPaymentsRoute(app, deps);
  accountPaymentRoute(app, deps);
  accountUseRoutes(app, deps);
  accountFreeRoute(app, deps.freeBytes);
  redeemRoute(app, deps);
  infoRoutes(app, deps.info);
  watchRoutes(app, deps.metrics, deps.health);
  for (const part of deps.parts) await part.routes?.(app);
}

/** Aliases at the root, kept out of the OpenAPI document. */
export async function rootRoutes(app: App, deps: PaymentRoutesDeps): Promise<void> {
  hideFromDocument(app);
  answerFailures(app);
  infoRoutes(app, deps.info, (request) => paymentGreeting(request, deps.isPlayMoney));
  watchRoutes(app, deps.metrics, deps.health);
  accountBalanceRoutes(app, deps);
  approvalsOfPair(app, deps.credits, '/account/approval');
  await deps.chain.routes(app);
  app.get(
    '/price/:token/:byteCount',
    { schema: { params: Type.Object({ token: Type.String(), byteCount: Type.String() }) } },
    async ({ params }, reply) => {
      if (params.token !== 'bytes' && parseToken(params.token) === undefined) throw tokenNotSupported();
      const quote = await deps.pricing.quoteBytes(parseByteCount(params.byteCount));
      sendJsonText(reply, quote.winc.toString(), cacheMinute);
    },
  );
}
