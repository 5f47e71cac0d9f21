/** Makes the router of its parts. */
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { type FollowedBlocklist, unionOf } from '../delivery/moderation/blocklist.ts';
import { type NameChange, NameChanges } from '../delivery/name-changes.ts';
import { isTxId } from '../formats/base64url.ts';
import { AuditLog } from '../kernel/audit-log.ts';
import { type App, createHttpServer, type HttpServer } from '../kernel/http/server.ts';
import { makeToken, readOrCreateKey } from '../kernel/keys.ts';
import type { Logger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import { createSurface, type Part, type Surface, type SurfaceParts } from '../kernel/part.ts';
import { tlsKeysOf } from '../kernel/tls/tls-keys.ts';
import { fellows } from '../kernel/workers/fellows.ts';
import type { BlobCache } from '../storage/blobs/cache/cache.ts';
import { createScrubMetrics } from '../storage/scrub.ts';
import { databaseSettings } from '../storage/sql/open.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { type AdminPart, createAdminPart } from './admin/part.ts';
import { locateItem } from './content/locate-item.ts';
import { type ContentDeps, type ContentPart, createContentPart } from './content/part.ts';
import { ProvenStore } from './content/proven-store.ts';
import { type RouterDatabases, routerDatabases } from './database.ts';
import { pathOf, refusal } from './errors.ts';
import { createGatewaysPart } from './gateways/part.ts';
import { addGauges, createRouterMetrics } from './metrics.ts';
import type { Moderation } from './moderation/block-content.ts';
import { Blocklist } from './moderation/blocklist.ts';
import { PlaceFinder } from './moderation/place-finder.ts';
import { NameResolver } from './names/resolver.ts';
import { ChainProxy } from './routes/chain.ts';
import { contentRoutes } from './routes/content.ts';
import { guardRoutes, healthRoutes, type RouterHealth } from './routes/health.ts';
import { infoRoutes, metricsRoute, type Reached, routerInfo } from './routes/info.ts';
import { moderationRoutes } from './routes/moderation.ts';
import { nameChangesRoute } from './routes/name-changes.ts';
import { statsRoutes } from './routes/stats.ts';
import { type RouterSettings, routerSettings } from './settings.ts';
import { createTelemetry } from './telemetry/telemetry.ts';
import { routerToken } from './tokens.ts';

export interface RouterDeps {
  readonly log: Logger;
  readonly version: string;
  /** The gateway of this stack, used where no other is configured; asked when the router starts. */
  readonly localGatewayUrl: () => string | undefined;
  /** A gateway's list that is obeyed beside the router's own; asked when the router starts. */
  readonly followed?: () => FollowedBlocklist | undefined;
  /** With `routerMigrations`; absent: those that are configured. */
  readonly databases?: RouterDatabases;
  /** Where proven content is kept, closed with the router; absent: the folder that is configured. */
  readonly cache?: BlobCache;
}

export interface RouterSurface extends Surface {
  /** The operator's page; undefined where it is off. */
  readonly adminUrl: string | undefined;
  /** For a name service of this process: what was remembered of these names is asked for again. */
  namesChanged(changes: readonly NameChange[]): Promise<void>;
  /** Origins of the gateways that it knows; `foreign` are those of a list that others make. */
  gateways(): readonly KnownGateway[];
}

export interface KnownGateway {
  readonly origin: string;
  readonly foreign: boolean;
}

export function createRouterSurface(config: Config, deps: RouterDeps): RouterSurface {
  const settings = routerSettings(config, deps.localGatewayUrl);
  let made: Router | undefined;
  const surface = createSurface('router', async () => {
    made = await makeRouter(settings, deps);
    return made;
  });
  return {
    ...surface,
    get url() {
      return surface.url;
    },
    get adminUrl() {
      return made?.admin?.url;
    },
    async namesChanged(changes) {
      await made?.nameChanges.tell(changes);
    },
    gateways: () => made?.gateways() ?? [],
  };
}

interface Router extends SurfaceParts {
  readonly admin: AdminPart | undefined;
  readonly nameChanges: NameChanges;
  readonly gateways: RouterSurface['gateways'];
}

async function makeRouter(settings: RouterSettings, deps: RouterDeps): Promise<Router> {
  const databases = deps.databases ?? routerDatabases(settings, deps.log);
  const sql = await databases.own();
  try {
    return await wireRouter(settings, deps, databases, sql);
  } catch (error) {
    await sql.close();
    throw error;
  }
}

async function wireRouter(
  settings: RouterSettings,
  deps: RouterDeps,
  databases: RouterDatabases,
  sql: Sql,
): Promise<Router> {
  const { log, version } = deps;
  const { config } = settings;
  const registry = new Metrics('router');
  const isOwn = ownGateways(config, deps.localGatewayUrl);
  const metrics = createRouterMetrics(registry, config.ROUTING_STRATEGY);
  const telemetry = createTelemetry(config, databases.telemetry, log);
  const gateways = createGatewaysPart({
    config,
    routing: settings.routing,
    verification: settings.verification,
    onAttempt(attempt) {
      metrics.attempt(attempt);
      telemetry?.attempt(attempt);
    },
    onFirstPick: metrics.firstPick,
    onHedge: metrics.hedge,
    isOwn,
    log,
  });
  const proven = new ProvenStore(databases.proven, log);
  const names = new NameResolver({
    verifiers: () => gateways.gateways.verification,
    rules: { threshold: settings.consensusThreshold, unanimous: config.ARNS_REQUIRE_UNANIMITY },
    isOwn,
    maxTtlMs: config.ARNS_CACHE_TTL_MS,
    log,
    onBallot: (gateway, agreed) => {
      telemetry?.consensus(gateway, agreed);
      if (!agreed) metrics.disagreed(gateway);
    },
    onResolution: metrics.resolution,
    keep: proven,
  });
  const audit = new AuditLog(`${settings.blocklistPath}.audit.jsonl`, 'router', log);
  const path = settings.blocklistPath;
  const blocklist = config.MODERATION_ENABLED
    ? new Blocklist({ path, folder: await folderName(config), sql, audit, log })
    : undefined;
  const followed = deps.followed?.();
  const all = unionOf([blocklist, followed].filter((list) => list !== undefined));
  const places = blocklist && new PlaceFinder(blocklist, (id) => locateItem(gateways.gateways, id), log);
  const scrubs = createScrubMetrics(registry, 'router_');
  const shared = { settings, gateways, telemetry, metrics, log };
  const kept = { proven, cache: deps.cache };
  const content = await createContentPart({ ...shared, ...kept, scrubs, names, blocklist: all });
  const nameChanges = new NameChanges({
    sql,
    log,
    names: { forget: (change) => names.changed(change) },
    isShared: fellows() !== undefined || databaseSettings(config, 'router').databaseUrl !== undefined,
  });
  if (blocklist !== undefined) {
    blocklist.onOthers = (ids) => {
      for (const id of ids.filter(isTxId)) void content.content.purge(id).catch(() => {});
    };
  }
  const moderation = blocklist &&
    places && {
      blocklist,
      all,
      places,
      audit,
      token: await routerToken(config, 'MODERATION_ADMIN_TOKEN', log),
      names,
      content: content.content,
      log,
    };
  let isDraining = false;
  /** Starts once the gateways are known. */
  const readiness: Part = {
    name: 'readiness',
    start: async () => warnOfTrust(settings, gateways.gateways.verification.length, log),
    drain: async () => {
      isDraining = true;
      return true;
    },
  };
  const health: RouterHealth = {
    version,
    startedAt: performance.now(),
    isDraining: () => isDraining,
    problems: () =>
      [gateways, telemetry, proven, blocklist, followed, audit, content].flatMap(
        (part) => part?.problems() ?? [],
      ),
    gateways: gateways.gateways,
    consensusThreshold: settings.consensusThreshold,
  };
  const disk = content.disk;
  addGauges(metrics, { health, names, disk, blocklist, telemetry });
  const parts = { ...shared, registry, health, content, moderation, nameChanges };
  const admin = config.ADMIN_UI_ENABLED
    ? createAdminPart({
        ...parts,
        gateways: gateways.gateways,
        names,
        content: content.content,
        audit,
        disk,
        token: await routerToken(config, 'ADMIN_TOKEN', log),
      })
    : undefined;
  const database: Part = { name: 'database', jobs: nameChanges.jobs, stop: () => sql.close() };
  const started = [database, blocklist, proven, content, telemetry, gateways, places, readiness, admin];
  return {
    server: createServer(parts),
    parts: started.filter((part) => part !== undefined),
    admin,
    nameChanges,
    gateways: () => gateways.gateways.all.map(({ origin, isForeign }) => ({ origin, foreign: isForeign })),
  };
}

interface ServerParts extends Pick<ContentDeps, 'settings' | 'gateways' | 'telemetry' | 'metrics' | 'log'> {
  readonly registry: Metrics;
  readonly health: RouterHealth;
  readonly content: ContentPart;
  readonly moderation: Moderation | undefined;
  readonly nameChanges: NameChanges;
}

/** The public server: content on every host, management on the root host. */
function createServer(parts: ServerParts): HttpServer {
  const { settings, log, registry, metrics, health, telemetry, moderation } = parts;
  const { config, rootContent, baseDomain } = settings;
  const { gateways } = parts.gateways;
  const server = createHttpServer({
    name: 'router',
    title: 'Content router',
    description: 'Serves permanent content by id and name from several gateways, verified and cached.',
    version: health.version,
    host: config.HOST,
    port: config.PORT,
    portVariable: 'PORT',
    tls: tlsKeysOf(config),
    log,
    metrics: registry,
    trustedProxies: config.TRUSTED_PROXIES,
    bodyLimit: 64 * 1024,
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    cors: { methods: ['GET', 'HEAD', 'OPTIONS'], exposeHeaders: ['*'] },
    errorBody: (_status, message, request) => refusal(message, request?.url),
    notFound: (request) => ({ error: 'Not Found', path: pathOf(request.url) }),
    // A site at the root host has all paths but the router's own.
    docs: rootContent === undefined,
  });
  const chain = new ChainProxy({
    ...parts.gateways.chain,
    attempts: config.RETRY_ATTEMPTS,
    stallTimeoutMs: config.STREAM_TIMEOUT_MS,
    contentGateways: parts.gateways.asks,
    refusals: parts.content.refusals,
    refuseData: (id, span) => parts.content.serve.refuseData(id, span),
  });
  const info = (reached: Reached) => routerInfo(settings, health, parts.content.disk !== undefined, reached);
  // First, so that hosts of names and ids never reach a route of the router's.
  const count = contentRoutes(server.app, {
    config,
    baseDomain,
    registry,
    metrics,
    serve: parts.content.serve,
    chain,
    info,
    isDraining: health.isDraining,
    log,
  });
  const limited = (app: App) => app.addHook('onRequest', async (request, reply) => count(request, reply));
  const own = ['/router', ...config.ROUTER_ALIAS_PREFIXES.map((prefix) => `/${prefix}`)];
  server.mount((app) => {
    healthRoutes(app, health);
    metricsRoute(app, registry);
  }, own);
  server.mount((app) => {
    limited(app);
    infoRoutes(app, info);
    const routerId = config.TELEMETRY_ROUTER_ID;
    statsRoutes(app, { telemetry, gateways, log, router: { routerId, version: health.version, baseDomain } });
    moderationRoutes(app, moderation, config.TRUSTED_PROXY_COUNT);
    if (moderation !== undefined) {
      nameChangesRoute(app, parts.nameChanges, moderation.token, config.TRUSTED_PROXY_COUNT);
    }
  }, own);
  server.mount(
    (app) => guardRoutes(app, health),
    ['/gw', ...config.GW_ALIAS_PREFIXES.map((one) => `/${one}`)],
  );
  if (rootContent === undefined && config.ARWEAVE_API_ENABLED) {
    server.mount((app) => {
      limited(app);
      chain.graphqlRoutes(app);
    });
  }
  return server;
}

/** A data folder keeps its name wherever it is moved. */
async function folderName(config: Config): Promise<string> {
  return (await readOrCreateKey(join(config.DATA_DIR, 'keys'), 'router-folder', makeToken)).text;
}

/** The gateway of this stack and the one that is followed: what they refuse, nobody else is asked for. */
function ownGateways(
  { MODERATION_FOLLOW_URL: followed }: Config,
  localGatewayUrl: () => string | undefined,
): (origin: string) => boolean {
  return (origin) =>
    [localGatewayUrl(), followed].some((url) => url !== undefined && new URL(url).origin === origin);
}

/** Tells the operator how little is believed to whom. */
function warnOfTrust({ config, consensusThreshold }: RouterSettings, verifiers: number, log: Logger): void {
  if (consensusThreshold < config.ARNS_CONSENSUS_THRESHOLD) {
    log.warn('there is one verification gateway: its word on names is taken');
  } else if (verifiers < consensusThreshold) {
    log.warn(
      { verifiers, threshold: consensusThreshold },
      'fewer verification gateways than must agree on names: none can be resolved',
    );
  }
  if (!config.VERIFICATION_ENABLED) log.warn('verification is off: gateways are believed');
  else if (verifiers <= config.VERIFICATION_QUORUM) {
    log.info({ verifiers }, 'too few gateways to agree on hashes: content is proven by signatures');
  }
}
