/** The gateway as a surface: what it is made of, wired in the order in which one needs the other. */
import type { Config } from '../config/config.ts';
import type { FollowedBlocklist } from '../delivery/moderation/blocklist.ts';
import type { NameChange } from '../delivery/name-changes.ts';
import { createEvents } from '../events/part.ts';
import type { Fork } from '../fork/fork.ts';
import { createJob } from '../kernel/background/job.ts';
import { createClockWatch } from '../kernel/clock-watch.ts';
import type { Span } from '../kernel/http/byte-ranges.ts';
import { createHttpServer, type Request } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import { createSurface, type Part, type Surface, type SurfaceParts } from '../kernel/part.ts';
import { tlsKeysOf } from '../kernel/tls/tls-keys.ts';
import { fellows } from '../kernel/workers/fellows.ts';
import { NodePool } from '../outside/arweave/node-pool.ts';
import { readLimited } from '../outside/http.ts';
import { serverClocks } from '../outside/server-time.ts';
import { createScrubMetrics } from '../storage/scrub.ts';
import { databaseClock } from '../storage/sql/lease.ts';
import { databaseSettings, openDatabase } from '../storage/sql/open.ts';
import { addReadScopes } from '../storage/sql/read-scope.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { type AdminPart, createAdminPart } from './admin/part.ts';
import type { ByteSource } from './chain/byte-source.ts';
import { NodeChunks } from './chain/node-chunks.ts';
import { CompletenessReader } from './chain-index/completeness.ts';
import { SqlGatewayIndex } from './chain-index/sql-index.ts';
import { type ContentDeps, createContent, createContentPart, type GatewayContent } from './content/part.ts';
import { createReadableProbe } from './content/readable-probe.ts';
import { pendingTransactions } from './content/sources/pending.ts';
import { upstreamErrorOf } from './errors.ts';
import { createEventRoutes } from './events/part.ts';
import { chainSource } from './events/source.ts';
import { readFilters } from './filters/configured.ts';
import { canonicalFilter, type Filters } from './filters/filter.ts';
import { compileFilter } from './filters/match.ts';
import { createGraphqlPart } from './graphql/part.ts';
import { createHistoryPart } from './history/part.ts';
import { createSignaturePart } from './httpsig/part.ts';
import { OnDemandImport } from './import/on-demand.ts';
import { forgetOtherChain } from './import/other-chain.ts';
import { createWritersPart, type WritersPart } from './import/part.ts';
import { createMeterPart, type EgressPayee } from './metering/part.ts';
import { gatewayMigrations } from './migrations.ts';
import { gatewayPrefixes } from './paths.ts';
import { createIndexesPart } from './published-indexes/part.ts';
import { placeInRoot, subscribedContent } from './published-indexes/subscriber/content.ts';
import { openSubscribedBands } from './published-indexes/subscriber/installed.ts';
import { createGatewayRoutes } from './routes/gw.ts';
import { createChainReadsPart } from './routes/part.ts';
import { takeIn } from './routes/post.ts';
import { answerErrorsAsText, answerOtherMethods, refuseAsText } from './routes/text-errors.ts';
import { BundleQueue } from './unbundle/queue.ts';

export interface GatewayDeps extends Pick<ContentDeps, 'cache' | 'shared' | 'uploadUrl' | 'names'> {
  readonly log: Logger;
  /** Arweave nodes in order of preference: the configured ones or the local one. */
  readonly nodeUrls: readonly string[];
  /** For `/gw/info`. */
  readonly release: string;
  readonly adminKey: string;
  /** The index, with `gatewayMigrations`; absent: the one that is configured. It is closed with the gateway. */
  readonly sql?: Sql;
  /** Where ids are read that this network does not have; started before the gateway. */
  readonly fork?: Fork | undefined;
  /** Asked only where payments for bytes are switched on; undefined: nothing can be paid. */
  readonly egressPayee?: () => Promise<EgressPayee | undefined>;
  /** Of the local world: called, perhaps often, when the chain is another one than was indexed. A new start helps. */
  readonly onOtherChain?: (() => void) | undefined;
}

/** A gateway with what tests and measurements look at from within. */
export interface Gateway extends SurfaceParts {
  readonly index: SqlGatewayIndex;
  readonly nodes: NodePool;
  readonly queue: BundleQueue;
  readonly onDemand: OnDemandImport;
  readonly content: GatewayContent;
  readonly blocklist: FollowedBlocklist;
  readonly followers: { add(surface: string): void };
  readonly writers: Pick<WritersPart, 'caughtUp'>;
  readonly takeIn: GatewaySurface['takeIn'];
}

/** Beside those of followers of events. */
const usualConnections = 16_384;

export interface GatewaySurface extends Surface {
  /** For a surface of this process that obeys what is blocked here; undefined until the gateway was started. */
  blocklistFor(follower: string): FollowedBlocklist | undefined;
  /** For a node of this process: resolves when its chain is indexed up to this block, or is not in time. */
  readonly caughtUp: WritersPart['caughtUp'];
  /** Makes a transaction known that the node accepted, by its JSON: it is pending. */
  takeIn(transaction: unknown): Promise<void>;
  /** For a name service of this process: what was remembered of these names is asked for again. */
  namesChanged(changes: readonly NameChange[]): Promise<void>;
}

export function createGatewaySurface(config: Config, deps: GatewayDeps): GatewaySurface {
  let made: Gateway | undefined;
  const surface = createSurface('gateway', async () => {
    made = await createGateway(config, deps);
    return made;
  });
  return {
    ...surface,
    get url() {
      return surface.url;
    },
    blocklistFor(follower) {
      made?.followers.add(follower);
      return made?.blocklist;
    },
    async caughtUp(head) {
      await made?.writers.caughtUp(head);
    },
    async takeIn(transaction) {
      await made?.takeIn(transaction);
    },
    async namesChanged(changes) {
      await made?.content.nameChanges.tell(changes);
    },
  };
}

export async function createGateway(config: Config, deps: GatewayDeps): Promise<Gateway> {
  const filters = readFilters(config);
  const takesPayments = config.ENABLE_RATE_LIMITER && config.EGRESS_PAYMENTS;
  const payee = takesPayments ? await deps.egressPayee?.() : undefined;
  const sql =
    deps.sql ??
    (await openDatabase({
      ...databaseSettings(config, 'gateway'),
      dataDir: config.DATA_DIR,
      name: 'gateway',
      migrations: gatewayMigrations,
      log: deps.log,
      byIndexOnly: true,
    }));
  try {
    return wireGateway(config, deps, { filters, payee, sql });
  } catch (error) {
    await sql.close();
    throw error;
  }
}

interface Opened {
  readonly filters: Filters;
  readonly payee: EgressPayee | undefined;
  readonly sql: Sql;
}

function wireGateway(config: Config, deps: GatewayDeps, { filters, payee, sql }: Opened): Gateway {
  const { log } = deps;
  const isShared = fellows() !== undefined || databaseSettings(config, 'gateway').databaseUrl !== undefined;
  const fork = deps.fork?.chain;
  const metrics = new Metrics('gateway');
  const moved = createHistoryPart({
    ...{ config, sql, log, metrics },
    onMoved() {
      index.prunes += 1;
    },
    leftOut: async (range) => (await admin.neededByExports(range)).leftOut,
  });
  const index: SqlGatewayIndex = new SqlGatewayIndex(
    sql,
    undefined,
    () => events.feed.wake(),
    moved?.history,
  );
  const events = createEvents({ config, sql, source: chainSource(index), log, metrics });
  const nodes = new NodePool({
    urls: deps.nodeUrls,
    log,
    timeoutMs: config.GATEWAY_NODE_TIMEOUT_MS,
    requestsPerSecond: config.GATEWAY_NODE_REQUESTS_PER_SECOND,
    toError: upstreamErrorOf,
  });
  const chunks = new NodeChunks(nodes);
  const common = { config, log, metrics, index, nodes, chunks, scrubs: createScrubMetrics(metrics) };

  const queued = metrics.counter('bundles_queued_total', 'Times that bundles were queued');
  const queue = new BundleQueue(sql, { onQueued: () => queued.inc() });
  const intake = { queue, unbundles: compileFilter(filters.unbundle) };
  const onDemand = new OnDemandImport({ index, nodes, ...intake });
  const bands = openSubscribedBands(config.DATA_DIR);
  // The content reads from sources and makes ids known; the unbundler and the block list work on the content; what is
  // served of it asks the block list and the meter.
  const content = createContent({
    ...common,
    cache: deps.cache,
    shared: deps.shared,
    uploadUrl: deps.uploadUrl,
    names: deps.names,
    fork,
    sources: [
      pendingTransactions(nodes),
      subscribedContent({ index, chunks, bands, makeKnown: (id) => onDemand.queueTransaction(id) }),
    ],
    isShared,
    makeKnown: (id) => onDemand.queueTransaction(id, 'lookup'),
  });
  const { bytes, dropCopies, contentHash, keepInline } = content;
  const { onOtherChain } = deps;
  const writers = createWritersPart({ ...common, filters, intake, onDemand, bytes, onOtherChain });
  const meterPart = createMeterPart({ ...common, sql, payee, isShared });
  const { meter } = meterPart;
  const indexes = createIndexesPart({ ...common, sql, meter, subscribed: bands });
  const admin: AdminPart = createAdminPart({
    ...common,
    filters,
    queue,
    onDemand,
    adminKey: deps.adminKey,
    release: deps.release,
    parts: () => parts,
    nameChanges: content.nameChanges,
    dropCopies,
    locateElsewhere: (id) => placeInRoot(bands, id),
    readPart: (id, part) => readPart(bytes, id, part),
    indexProblems: () => indexes.problems(),
    indexesState: () => indexes.state(),
    eventFigures: () => {
      const { held, failing, behind } = events.hooks.deliverer.figures;
      return {
        eventReaders: events.limits.count,
        ...{ webhooks: held, webhooksFailing: failing, webhooksBehind: behind },
      };
    },
  });
  const { blocklist, followers } = admin;
  const contentPart = createContentPart({ config, content, blocklist, meter });
  const signatures = createSignaturePart(common);
  const completeness = new CompletenessReader(sql, {
    indexesAllItems: canonicalFilter(filters.index) === canonicalFilter({ always: true }),
  });
  const gatewayRoutes = createGatewayRoutes({
    ...common,
    completeness,
    filters,
    release: deps.release,
    info: () => ({ ...meterPart.info, ...signatures.info(), ...indexes.info() }),
    parts: () => parts,
    peers: content.peers,
    apex: contentPart.apex,
  });
  const parts: readonly Part[] = [
    createIndexPart(index, log, config.EVENTS_POLL_MS),
    {
      name: 'nodes',
      start: () => nodes.start(),
      stop: () => nodes.stop(),
      problems: () =>
        nodes.status.length > 0 && !nodes.status.some(({ healthy }) => healthy) ? ['No node answers.'] : [],
    },
    ...(config.WORLD === 'local' ? [createOneChainPart(index, nodes, log)] : []),
    createChainReadsPart({ ...common, meter, blocklist, bytes, contentHash, keepInline, fork }),
    ...events.parts,
    createEventRoutes({ config, events }),
    createGraphqlPart({ ...common, meter, completeness, fork, events }),
    writers,
    ...(moved === undefined ? [] : [moved.part]),
    // Before the content, which answers for its hosts before any route is looked up.
    signatures,
    contentPart,
    createReadableProbe({ index, bytes, metrics, log }),
    createClockWatch({ clocks: [...serverClocks(deps.nodeUrls, '/info'), databaseClock(sql)], metrics, log }),
    indexes,
    meterPart,
    admin,
    gatewayRoutes,
  ];
  const taking = (json: unknown) => takeIn({ index, blocklist, keepInline }, json);
  const server = createHttpServer({
    name: 'gateway',
    title: 'Gateway',
    description: 'Chain reads, content, GraphQL (interface §4.4).',
    host: config.HOST,
    port: config.GATEWAY_PORT,
    portVariable: 'GATEWAY_PORT',
    tls: tlsKeysOf(config),
    // Who follows events holds a connection for as long as it likes.
    maxConnections: usualConnections + config.EVENTS_MAX_READERS,
    log,
    metrics,
    refusal: refuseAsText,
    // Signatures are made in a hook of the framework.
    answerFirst: config.HTTPSIG_ENABLED ? undefined : contentPart.answerFirst,
    trustedProxies: config.TRUSTED_PROXIES,
    cors: { methods: ['GET', 'HEAD', 'POST', 'OPTIONS'], exposeHeaders: ['*'] },
  });
  server.mount(async (app) => {
    if (config.DATABASE_READ_URLS.length > 0) addReadScopes(app, readsIndex(config));
    answerErrorsAsText(app);
    for (const part of parts) await part.routes?.(app);
    answerOtherMethods(app);
  });
  return {
    server,
    parts,
    index,
    nodes,
    queue,
    onDemand,
    content,
    blocklist,
    followers,
    writers,
    takeIn: taking,
  };
}

/** Readers of the chain and of content, whom a standby may answer. Operators and followers of events see what is so now. */
function readsIndex(config: Config): (request: Request) => boolean {
  const current = gatewayPrefixes(config.GW_ALIAS_PREFIXES).map((prefix) => `${prefix}/`);
  return ({ method, url, headers }) => {
    if (method === 'POST') return /^\/graphql(?:\?|$)/.test(url);
    if (method !== 'GET' && method !== 'HEAD') return false;
    return headers.upgrade === undefined && !current.some((prefix) => url.startsWith(prefix));
  };
}

/** A part of content, or less where the content ends before. */
async function readPart(source: ByteSource, id: string, part: Span) {
  const opened = await source.stream(id, part);
  return opened && { bytes: await readLimited(opened.stream, part.end - part.start), size: opened.size };
}

/** Of the local world only: the index is of the chain that the nodes have. */
const createOneChainPart = (index: SqlGatewayIndex, nodes: NodePool, log: Logger): Part => ({
  name: 'one chain',
  async start() {
    await forgetOtherChain(index.sql, nodes, log);
    await index.refresh();
  },
});

/** The database, and what this process remembers of it; `everyMs`: what other processes imported is noticed. */
function createIndexPart(index: SqlGatewayIndex, log: Logger, everyMs: number): Part {
  const refresh = () => index.refresh();
  return {
    name: 'index',
    jobs: [createJob({ name: 'refresh the index', everyMs, log, run: refresh })],
    start: refresh,
    stop: () => index.sql.close(),
  };
}
