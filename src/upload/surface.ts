/** Puts the parts of the upload surface together. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Credits } from '../credits/credits.ts';
import { lackHeaderNames, type TopUpPage } from '../credits/lack.ts';
import { type LedgerSoundness, ledgerHealth } from '../credits/ledger/soundness.ts';
import { type Blocklist, unionOf } from '../delivery/moderation/blocklist.ts';
import { createForgetEvents } from '../events/forget-events.ts';
import { createAdmin } from '../kernel/admin/admin.ts';
import type { Figures } from '../kernel/admin/routes/state.ts';
import { AtOnce } from '../kernel/background/at-once.ts';
import { within } from '../kernel/background/within.ts';
import { createClockWatch } from '../kernel/clock-watch.ts';
import { createHealth } from '../kernel/http/health.ts';
import { type App, createHttpServer, type HttpServer } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import { createSurface, type Part, type Surface } from '../kernel/part.ts';
import { tlsKeysOf } from '../kernel/tls/tls-keys.ts';
import { ArweaveNodes } from '../outside/arweave/nodes.ts';
import { serverClocks } from '../outside/server-time.ts';
import type { X402Payments } from '../payments/x402/x402.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { BlobStore } from '../storage/blobs/blobs.ts';
import { DiskSpace, type FreeBytes } from '../storage/disk-space.ts';
import { databaseClock } from '../storage/sql/lease.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { normalizeAddress } from '../wallets/address.ts';
import type { ArweaveKey } from '../wallets/arweave/rsa.ts';
import { Announcer } from './announcer/announcer.ts';
import type { GatewayPlace, ToldGateway } from './announcer/told-gateway.ts';
import { Bundler } from './bundler/bundler.ts';
import { createBundlingWatch } from './bundler/bundling-watch.ts';
import { anchorLife } from './bundler/confirm.ts';
import { LookBack } from './bundler/look-back.ts';
import { createWalletOfBefore } from './bundler/wallet-of-before.ts';
import { translateError } from './errors.ts';
import { PayloadHashes } from './hashing/payload-hash.ts';
import { type ChainHead, createChainHead } from './intake/chain-head.ts';
import { FreeTier } from './intake/free-tier.ts';
import { Intake } from './intake/intake.ts';
import { type Places, Receipts } from './intake/receipts.ts';
import { BlockedItems } from './items/refuse-blocked.ts';
import { storedBlobsPart } from './items/stored-blobs.ts';
import { createUploadMetrics, type UploadMetrics } from './metrics.ts';
import { Finalizer } from './multipart/finalizer.ts';
import { PartBudget } from './multipart/part-budget.ts';
import { RunningHashes } from './multipart/running-hashes.ts';
import { countBundles } from './reports/bundles.ts';
import { countItems } from './reports/items.ts';
import type { Circumstances } from './reports/why.ts';
import { accountBalanceRoutes } from './routes/account-balance.ts';
import { adminAnnouncementsRoute } from './routes/admin/announcements.ts';
import { adminBundlesRoutes } from './routes/admin/bundles.ts';
import { adminItemsRoutes } from './routes/admin/items.ts';
import { chunksRoutes } from './routes/chunks.ts';
import { dataItemRoutes } from './routes/data-item.ts';
import { infoRoutes } from './routes/info.ts';
import { operatorRoutes } from './routes/operator.ts';
import { priceRoutes } from './routes/price.ts';
import { txRoutes } from './routes/tx.ts';
import { txProofRoute } from './routes/tx-proof.ts';
import { txStatusRoutes } from './routes/tx-status.ts';
import { type X402UploadDeps, x402UploadRoutes } from './routes/x402-upload.ts';
import { BundleWatcher, countDamaged, hopelessTries, type WatchNews } from './watcher/watcher.ts';
import { UploadPayments } from './x402/upload-payment.ts';

export interface UploadDeps {
  readonly log: Logger;
  readonly version: string;
  /** What the operator's routes want. */
  readonly adminKey: string;
  /** The `ledger` database, with `uploadMigrations` among its migrations. */
  readonly sql: Sql;
  /** For this surface alone: what it deletes is gone. */
  readonly blobs: BlobStore;
  readonly credits: Credits;
  /** Whether the ledger can be trusted; absent: nobody looks. */
  readonly soundness?: LedgerSoundness;
  readonly pricing: Pricing;
  /** Absent: x402 payments are not taken. */
  readonly x402?: X402Payments;
  /** Pays for bundles, and signs nothing but their transactions. */
  readonly wallet: ArweaveKey;
  /** Signs receipts. */
  readonly receiptKey: ArweaveKey;
  /** Addresses of wallets that paid for bundles earlier. */
  readonly formerWallets?: readonly string[];
  /** Signs data that came unsigned with an x402 payment. */
  readonly dataKey: ArweaveKey;
  /** Deposit addresses by token, for `/info`. */
  readonly addresses: Readonly<Record<string, string>>;
  /** In order of preference. */
  readonly arweaveNodeUrls: readonly string[];
  /** The gateway that serves what is uploaded here: its public address for receipts, and where items are announced. */
  readonly gateway: {
    readonly publicUrl: string;
    readonly admin?: { readonly url: string; readonly key: string };
  };
  /** Others that are told of items too. */
  readonly otherGateways?: readonly GatewayPlace[];
  /** Called when chunks of a permanent bundle are found missing, and when they are there again. */
  readonly tellOfBundle?: (news: WatchNews) => void;
  /** What the gateway does not serve is not given back here either; absent: nothing is blocked. */
  readonly blocklist?: Blocklist | undefined;
  /** Told to wallets that cannot pay. */
  readonly topUpPage?: TopUpPage | undefined;
  /** Unix milliseconds. */
  readonly now?: () => number;
  /** Asks a file system for its free bytes; without it the system is asked. */
  readonly freeBytes?: FreeBytes;
}

/** What several parts use. */
interface Shared extends UploadDeps {
  readonly now: () => number;
  readonly nodes: ArweaveNodes;
  readonly disk: DiskSpace;
  readonly announcer: Announcer | undefined;
  readonly metrics: UploadMetrics;
}

export function createUploadSurface(config: Config, deps: UploadDeps): Surface {
  return createSurface('upload', () => {
    const { sql, log, gateway, now = Date.now } = deps;
    const metrics = new Metrics('upload');
    const disk = new DiskSpace({
      dataFolder: config.DATA_DIR,
      bodyFolder: config.BLOB_STORE_URL === undefined ? join(config.DATA_DIR, 'blobs') : undefined,
      minFreeBytes: config.MIN_FREE_DISK_BYTES,
      log,
      freeBytes: deps.freeBytes,
    });
    const uploadMetrics = createUploadMetrics(metrics, { disk });
    const { host } = new URL(gateway.publicUrl);
    const others = deps.otherGateways ?? [];
    const announcer =
      gateway.admin === undefined && others.length === 0
        ? undefined
        : new Announcer({
            ...{ sql, log, now, others, metrics: uploadMetrics },
            own: gateway.admin && { ...gateway.admin, host, hasData: true },
            maxWaiting: config.ANNOUNCE_MAX_WAITING,
          });
    const shared: Shared = {
      ...deps,
      now,
      nodes: new ArweaveNodes(deps.arweaveNodeUrls),
      disk,
      announcer,
      metrics: uploadMetrics,
    };
    const intake = intakePart(config, shared);
    const paid = deps.x402 && paidUploadsPart(config, shared, deps.x402, intake);
    const watcher = watcherPart(config, shared);
    const parts: Part[] = [
      { name: 'nodes', stop: () => shared.nodes.close() },
      { name: 'ledger', ...ledgerHealth(deps.soundness) },
      { name: 'prices', problems: () => deps.pricing.problems() },
      {
        name: 'disk',
        start: () => disk.start(),
        stop: () => disk.stop(),
        problems: () => (disk.isLow ? ['The disk is nearly full: nothing can be uploaded.'] : []),
      },
      ...(announcer === undefined
        ? []
        : [{ name: 'announcer', start: () => announcer.open(), jobs: [announcer] }]),
      intake,
      itemsPart(config, shared, intake, paid),
      ...(paid === undefined ? [] : [paid]),
      multipartPart(config, shared, intake, paid),
      bundlerPart(config, shared, intake),
      lookBackPart(config, shared),
      createWalletOfBefore({ sql, log, wallets: [deps.wallet.address, ...(deps.formerWallets ?? [])] }),
      createBundlingWatch({
        ...{ sql, log, metrics, now, nodes: shared.nodes, address: deps.wallet.address },
        maxWaitMs: config.BUNDLE_MAX_WAIT_MS,
        bundleBytes: config.BUNDLE_TARGET_BYTES,
      }),
      createClockWatch({
        ...{ metrics, log },
        clocks: [...serverClocks(deps.arweaveNodeUrls, '/info'), databaseClock(sql)],
      }),
      ...(watcher === undefined ? [] : [watcher]),
      { name: 'events', jobs: [createForgetEvents({ config, sql, log, now })] },
      storedBlobsPart({ config, blobs: deps.blobs, metrics, log }),
      {
        name: 'operator',
        routes: (app) =>
          operatorRoutes(
            app,
            metrics,
            createHealth(config, () => parts),
          ),
      },
    ];
    const admin = createAdmin({
      ...{ surface: 'upload', version: deps.version, config, key: deps.adminKey, log },
      parts: () => parts,
      figures: () => uploadFigures(shared, intake),
      translate: translateError,
    });
    // Not among those that the scopes below have routes of: it has a prefix of its own.
    const { routes: adminRoutes, ...adminPart } = admin;
    parts.push({
      name: 'admin',
      ...adminPart,
      adminRoutes: (app) => uploadAdminRoutes(app, config, shared, intake),
    });
    const server = createServer(config, log, metrics);
    server.mount(
      async (app) => {
        nameReasons(app);
        for (const part of parts) await part.routes?.(app);
      },
      ['/v1', ''],
    );
    server.mount(adminRoutes, ['/v1']);
    return { server, parts };
  });
}

/** What an operator asks of items and bundles. */
function uploadAdminRoutes(app: App, config: Config, shared: Shared, { head }: IntakePart): void {
  const { sql, credits, announcer, blocklist, now } = shared;
  const circumstances = (): Circumstances => ({
    now: now(),
    maxWaitMs: config.BUNDLE_MAX_WAIT_MS,
    confirmations: config.BUNDLE_CONFIRMATIONS,
    height: head.height,
  });
  adminBundlesRoutes(app, { sql, circumstances });
  adminItemsRoutes(app, {
    ...{ sql, credits, circumstances },
    isBlocked: (id) => blocklist?.blocksId(id) ?? false,
    announcer,
  });
  adminAnnouncementsRoute(app, { sql, announcer });
}

/** A node that does not answer keeps nobody waiting. */
const balanceWaitMs = 2_000;

async function uploadFigures(shared: Shared, { head }: IntakePart): Promise<Figures> {
  const { sql, nodes, wallet, disk, announcer, now } = shared;
  const [items, bundles, balance] = await Promise.all([
    countItems(sql),
    countBundles(sql, now()),
    within(balanceWaitMs, nodes.balance(wallet.address)).catch(() => undefined),
  ]);
  return {
    itemsWaiting: items.waiting,
    itemsPlanned: bundles.items,
    itemsFailed: items.failed,
    bundlesOpen: bundles.open,
    bundlesStuck: bundles.stuck,
    bundlesDamaged: await countDamaged(sql),
    announcementsWaiting: items.unannounced,
    gatewaysTold: announcer?.gateways.length ?? 0,
    gatewaysListening: announcer?.gateways.filter(({ isListening }) => isListening).length ?? 0,
    multipartOpen: items.sessions,
    chainHeight: head.height ?? null,
    walletAddress: wallet.address,
    walletWinston: balance?.toString() ?? null,
    diskFreeBytes: disk.freeBytes,
    diskIsLow: disk.isLow,
  };
}

/** The hosts that have an item's bytes, of which that of this service is one, and those that know the item. */
function placesOf(own: string, gateways: readonly ToldGateway[]): Places {
  const having = gateways.flatMap(({ host, hasData }) => (hasData ? [host] : []));
  return {
    dataCaches: [...new Set([own, ...having])],
    fastFinalityIndexes: gateways.map(({ host }) => host),
  };
}

interface IntakePart extends Part {
  readonly head: ChainHead;
  readonly intake: Intake;
  readonly hashes: PayloadHashes;
  readonly receipts: Receipts;
}

function intakePart(config: Config, shared: Shared): IntakePart {
  const { sql, log, now, announcer, wallet } = shared;
  const { host } = new URL(shared.gateway.publicUrl);
  const head = createChainHead(shared.nodes, log, now);
  const hashes = new PayloadHashes(
    config.WORKER_THREADS === 0 ? availableParallelism() : config.WORKER_THREADS,
  );
  const receipts = new Receipts({
    key: shared.receiptKey,
    sql,
    caches: () => placesOf(host, announcer?.gateways.filter(({ isListening }) => isListening) ?? []),
  });
  const intake = new Intake({
    ...shared,
    hashes,
    receipts,
    head,
    freeTier: new FreeTier(config),
    blocked: new Set(config.BLOCK_LISTED_ADDRESSES.map((address) => normalizeAddress(address) ?? address)),
    maxItemBytes: config.MAX_DATA_ITEM_SIZE,
    approvalRules: {
      // As `/info` of this surface and of payment name the service.
      services: [wallet.address, ...(config.ARWEAVE_ADDRESS === undefined ? [] : [config.ARWEAVE_ADDRESS])],
      requireBound: config.REQUIRE_BOUND_SIGNATURES,
    },
    announce: announcer && (() => announcer.wake()),
  });
  return {
    name: 'intake',
    intake,
    head,
    hashes,
    receipts,
    start: () => head.refresh(),
    jobs: [head.refreshing, receipts],
    problems: () => head.problems(),
    stop: () => hashes.close(),
  };
}

function itemsPart(
  config: Config,
  shared: Shared,
  { intake, receipts }: IntakePart,
  paid?: PaidUploadsPart,
): Part {
  const { sql, blobs, pricing, wallet, receiptKey } = shared;
  return {
    name: 'items',
    routes(app) {
      priceRoutes(app, pricing);
      accountBalanceRoutes(app, shared.credits);
      infoRoutes(app, {
        gateway: new URL(shared.gateway.publicUrl).origin,
        addresses: { ...shared.addresses, arweave: wallet.address },
        receiptSigner: { address: receiptKey.address, public: receiptKey.modulus.toString('base64url') },
        freeUploadLimitBytes: config.FREE_UPLOAD_LIMIT,
        maxDataItemBytes: config.MAX_DATA_ITEM_SIZE,
        x402: paid !== undefined,
      });
      txRoutes(app, { intake, trustedProxies: config.TRUSTED_PROXY_COUNT, paid: paid?.uploads });
      const { host } = new URL(shared.gateway.publicUrl);
      txStatusRoutes(app, sql, ({ told }) => placesOf(host, shared.announcer?.toldOf(told) ?? []));
      const blocked = new BlockedItems(shared.blocklist ?? unionOf([]), blobs);
      txProofRoute(app, { sql, nodes: shared.nodes, blocked, receiptOf: (item) => receipts.of(item) });
      dataItemRoutes(app, { sql, blobs, blocked });
    },
  };
}

interface PaidUploadsPart extends Part {
  readonly uploads: X402UploadDeps;
}

function paidUploadsPart(
  config: Config,
  shared: Shared,
  x402: X402Payments,
  { intake, hashes }: IntakePart,
): PaidUploadsPart {
  const uploads: X402UploadDeps = {
    ...shared,
    intake,
    hashes,
    payments: new UploadPayments(x402, shared.pricing),
    maxItemBytes: config.MAX_DATA_ITEM_SIZE,
    trustedProxies: config.TRUSTED_PROXY_COUNT,
  };
  return { name: 'x402', uploads, routes: (app) => x402UploadRoutes(app, uploads) };
}

function multipartPart(
  config: Config,
  shared: Shared,
  { intake, hashes }: IntakePart,
  paid?: PaidUploadsPart,
): Part {
  const lifeMs = config.MULTIPART_EXPIRY_SECS * 1_000;
  const budget = new PartBudget(config.MULTIPART_MAX_BYTES_PER_IP ?? 4 * config.MAX_DATA_ITEM_SIZE);
  const running = new RunningHashes(shared);
  const sweepMs = 2 * config.BUNDLE_POLL_MS;
  const finalizer = new Finalizer({ ...shared, intake, hashes, running, sweepMs, lifeMs });
  return {
    name: 'multipart',
    jobs: [finalizer],
    routes: (app) =>
      chunksRoutes(app, {
        ...shared,
        budget,
        running,
        finalizer,
        maxItemBytes: config.MAX_DATA_ITEM_SIZE,
        trustedProxies: config.TRUSTED_PROXY_COUNT,
        maxOpenPerAddress: config.MULTIPART_MAX_OPEN_PER_IP,
        lifeMs,
        paid: paid?.uploads,
      }),
  };
}

function bundlerPart(config: Config, shared: Shared, { hashes }: IntakePart): Part {
  const bundler = new Bundler({
    ...shared,
    hashes,
    concurrency: config.BUNDLE_CONCURRENCY,
    limits: {
      maxItems: config.BUNDLE_MAX_ITEMS,
      targetBytes: config.BUNDLE_TARGET_BYTES,
      maxWaitMs: config.BUNDLE_MAX_WAIT_MS,
    },
    confirmations: config.BUNDLE_CONFIRMATIONS,
    chunkConcurrency: config.BUNDLE_CHUNK_CONCURRENCY,
    retentionMs: config.UPLOAD_RETENTION_SECS * 1_000,
    pollMs: config.BUNDLE_POLL_MS,
    firstLookMs: config.BUNDLE_WATCH_SECS === 0 ? undefined : config.BUNDLE_WATCH_FIRST_SECS * 1_000,
  });
  return {
    name: 'bundler',
    jobs: [bundler],
    async problems() {
      const { stuck } = await countBundles(shared.sql, shared.now());
      return stuck === 0
        ? []
        : [`${stuck === 1 ? '1 bundle is' : `${stuck} bundles are`} stuck on the way to the chain.`];
    },
  };
}

/** For bundles that were posted between a backup and its restore. */
function lookBackPart(config: Config, shared: Shared): Part {
  const { gateway, wallet, formerWallets = [] } = shared;
  const lookBack = new LookBack({
    ...shared,
    pollMs: config.BUNDLE_POLL_MS,
    gatewayUrls: [...new Set([gateway.admin?.url ?? gateway.publicUrl, ...config.TRUSTED_GATEWAYS_URLS])],
    wallets: [wallet.address, ...formerWallets],
    // A local chain makes no blocks while nothing waits for one.
    blocksToWait: config.WORLD === 'local' ? 0 : anchorLife,
  });
  return { name: 'look-back', jobs: [lookBack], problems: () => lookBack.problems() };
}

/** Undefined where bundles are not watched. */
function watcherPart(config: Config, shared: Shared): Part | undefined {
  if (config.BUNDLE_WATCH_SECS === 0) return undefined;
  const { gateway, otherGateways = [] } = shared;
  const watcher = new BundleWatcher({
    ...shared,
    chunkConcurrency: config.BUNDLE_CHUNK_CONCURRENCY,
    posts: new AtOnce(config.BUNDLE_CHUNK_CONCURRENCY),
    times: {
      watchMs: config.BUNDLE_WATCH_SECS * 1_000,
      firstMs: config.BUNDLE_WATCH_FIRST_SECS * 1_000,
      longestMs: config.BUNDLE_WATCH_LONGEST_SECS * 1_000,
      perHour: config.BUNDLE_WATCH_PER_HOUR,
      samples: config.BUNDLE_WATCH_CHUNKS,
    },
    pollMs: 30 * config.BUNDLE_POLL_MS,
    gatewayUrls: [gateway.admin?.url ?? gateway.publicUrl, ...otherGateways.map(({ url }) => url)],
    tell: shared.tellOfBundle,
  });
  return {
    name: 'watcher',
    jobs: [watcher],
    async problems() {
      const hopeless = await countDamaged(shared.sql, hopelessTries);
      if (hopeless === 0) return [];
      const what = hopeless === 1 ? '1 permanent bundle is' : `${hopeless} permanent bundles are`;
      return [`${what} damaged on the chain and could not be mended.`];
    },
  };
}

function createServer(config: Config, log: Logger, metrics: Metrics): HttpServer {
  return createHttpServer({
    name: 'upload',
    title: 'Upload service',
    description: 'Takes signed data items, has them paid in credits, and brings them to the chain.',
    host: config.HOST,
    port: config.UPLOAD_PORT,
    portVariable: 'UPLOAD_PORT',
    tls: tlsKeysOf(config),
    log,
    metrics,
    trustedProxies: config.TRUSTED_PROXIES,
    // Uploads take as long as they take; a client that stops sending is cut off by the route.
    requestTimeoutMs: 0,
    cors: {
      methods: ['GET', 'HEAD', 'POST', 'OPTIONS'],
      exposeHeaders: [
        'x-payment-response',
        'x-payment-required',
        'payment-required',
        'payment-response',
        'retry-after',
        ...lackHeaderNames,
      ],
    },
  });
}

/** Older clients read a refusal from the reason phrase, so it says what the body says, in plain ASCII. */
function nameReasons(scope: App): void {
  scope.addHook('onSend', (_request, reply, payload, done) => {
    if (reply.statusCode >= 400 && typeof payload === 'string') {
      const said = /^(?:\{"error":)?"((?:[^"\\]|\\.)*)"/.exec(payload)?.[1];
      if (said) reply.raw.statusMessage = said.slice(0, 200).replace(/[^\x20-\x7e]|\\./g, '?');
    }
    done(null, payload);
  });
}
