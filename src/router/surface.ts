/** Puts the parts of the router together and gives them a life. */
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { StartupError } from '../kernel/errors.ts';
import type { HttpServer } from '../kernel/http/server.ts';
import { makeToken, readOrCreateKey } from '../kernel/keys.ts';
import { Metrics } from '../kernel/metrics.ts';
import type { Surface } from '../kernel/part.ts';
import type { BlobCache } from '../storage/blobs/cache/cache.ts';
import { openBlobCache } from '../storage/blobs/open.ts';
import { createAdminServer } from './admin/server.ts';
import { Content } from './content/content.ts';
import { Fetch } from './content/fetch.ts';
import { KnownStore } from './content/known.ts';
import { Manifests } from './content/manifests.ts';
import { PassThrough } from './content/pass-through.ts';
import { Placements } from './content/placements.ts';
import { Serve } from './content/serve.ts';
import { Shelf } from './content/shelf.ts';
import { chainSets } from './gateways/chain-sets.ts';
import type { AttemptListener, GatewayLimits } from './gateways/gateway.ts';
import { GatewaySet } from './gateways/gateway-set.ts';
import { HedgedAsks } from './gateways/hedged-ask.ts';
import { Pings } from './gateways/pings.ts';
import type { RouterDeps } from './index.ts';
import { addGauges, createRouterMetrics } from './metrics.ts';
import { Blocklist } from './moderation/blocklist.ts';
import { NameResolver } from './names/resolver.ts';
import type { RouterParts } from './parts.ts';
import { ChainProxy } from './routes/chain.ts';
import { createRouterServer } from './server.ts';
import { type RouterSettings, routerSettings } from './settings.ts';
import { Telemetry } from './telemetry/telemetry.ts';

export interface RouterSurface extends Surface {
  /** The operator's page; undefined where it is off. */
  readonly adminUrl: string | undefined;
}

export function createRouterSurface(config: Config, deps: RouterDeps): RouterSurface {
  const settings = routerSettings(config, deps.localGatewayUrl);
  let running: RunningRouter | undefined;
  return {
    name: 'router',
    get url() {
      return running?.server.url ?? `http://${config.HOST}:${config.PORT}`;
    },
    get adminUrl() {
      return running?.admin?.url;
    },
    async start() {
      running = await buildRouter(settings, deps);
      await running.start();
    },
    async drain(timeoutMs) {
      return (await running?.drain(timeoutMs)) ?? true;
    },
    async stop() {
      await running?.stop();
    },
  };
}

interface RunningRouter {
  readonly server: HttpServer;
  readonly admin: HttpServer | undefined;
  start(): Promise<void>;
  drain(timeoutMs: number): Promise<boolean>;
  stop(): Promise<void>;
}

async function buildRouter(settings: RouterSettings, deps: RouterDeps): Promise<RunningRouter> {
  const { config } = settings;
  const { log } = deps;
  const metrics = new Metrics();
  const figures = createRouterMetrics(metrics);
  let draining = false;

  const telemetry = config.TELEMETRY_ENABLED
    ? new Telemetry({
        path: settings.telemetryPath,
        sampleSuccess: config.TELEMETRY_SAMPLE_SUCCESS,
        sampleErrors: config.TELEMETRY_SAMPLE_ERRORS,
        retentionDays: config.TELEMETRY_RETENTION_DAYS,
        log,
      })
    : undefined;
  const onAttempt: AttemptListener = (attempt) => {
    figures.attempt(attempt);
    telemetry?.attempt(attempt);
  };
  const limits: GatewayLimits = {
    failureThreshold: config.CIRCUIT_BREAKER_THRESHOLD,
    resetMs: config.CIRCUIT_BREAKER_RESET_MS,
    connections: config.HTTP_CONNECTIONS_PER_HOST,
    connectTimeoutMs: config.HTTP_CONNECT_TIMEOUT_MS,
    requestTimeoutMs: config.HTTP_REQUEST_TIMEOUT_MS,
    streamTimeoutMs: config.STREAM_TIMEOUT_MS,
  };
  const setOf = (routing: RouterSettings['routing'], verification: RouterSettings['verification']) =>
    new GatewaySet({
      routing,
      verification,
      strategy: config.ROUTING_STRATEGY,
      limits,
      onAttempt,
      log,
      refreshMs: config.NETWORK_GATEWAY_REFRESH_MS,
    });
  const gateways = setOf(settings.routing, settings.verification);
  const asks = new HedgedAsks(gateways, figures.hedged);
  const chain = chainSets(settings, setOf, gateways);
  const pings = config.PING_ENABLED
    ? new Pings(gateways, config.PING_INTERVAL_MS, config.PING_TIMEOUT_MS)
    : undefined;

  const known = new KnownStore(log);
  const cache = await openCache(settings, figures.corrupt.add.bind(figures.corrupt, 1));
  const blocklist = config.MODERATION_ENABLED ? new Blocklist(settings.blocklistPath, log) : undefined;
  const moderationToken = config.MODERATION_ENABLED
    ? (config.MODERATION_ADMIN_TOKEN ?? (await keptToken(settings, 'moderation-admin-token', deps)))
    : '';

  const names = new NameResolver({
    verifiers: () => gateways.verification,
    rules: { threshold: settings.consensusThreshold, unanimous: config.ARNS_REQUIRE_UNANIMITY },
    maxTtlMs: config.ARNS_CACHE_TTL_MS,
    log,
    onBallot: (gateway, agreed) => {
      telemetry?.consensus(gateway, agreed);
      if (!agreed) figures.disagreed(gateway);
    },
    onResolution: figures.resolution,
    keep: known,
  });
  const shelf = new Shelf({
    cache,
    maxItemBytes: Math.min(config.CONTENT_CACHE_MAX_ITEM_SIZE_BYTES, config.CONTENT_CACHE_MAX_SIZE_BYTES / 2),
    memoryBytes: cache === undefined ? 0 : config.CONTENT_MEMORY_CACHE_BYTES,
    log,
  });
  const passThrough = new PassThrough(asks, config.RETRY_ATTEMPTS);
  const placements = new Placements((id) => passThrough.openWhole(id, 'HEAD', () => false));
  const fetch = new Fetch({
    gateways,
    asks,
    known,
    shelf,
    placements,
    quorum: config.VERIFICATION_QUORUM,
    attempts: config.RETRY_ATTEMPTS,
    log,
    verified(gateway, method, ok) {
      figures.verified(method, ok);
      telemetry?.verification(gateway, ok ? 'success' : 'failed');
    },
  });
  const content = new Content({
    known,
    shelf,
    fetch,
    looked: (hit) => (hit ? figures.hits : figures.misses).add(),
  });
  const serve = new Serve({
    gateways,
    content,
    passThrough,
    placements,
    manifests: new Manifests(config.MAX_MANIFEST_BYTES),
    names,
    blocklist,
    telemetry,
    targetRules: {
      rootContent: settings.rootContent,
      restrictToRoot: config.RESTRICT_TO_ROOT_HOST,
      chainReads: config.ARWEAVE_API_ENABLED,
    },
    verification: config.VERIFICATION_ENABLED,
    defaultMode: config.DEFAULT_MODE,
    allowModeOverride: config.ALLOW_MODE_OVERRIDE,
    maxManifestBytes: config.MAX_MANIFEST_BYTES,
    stallTimeoutMs: config.STREAM_TIMEOUT_MS,
    onBlocked: figures.blocked,
    onHit: () => figures.hits.add(),
  });
  const parts: RouterParts = {
    settings,
    log,
    version: deps.version,
    startedAt: performance.now(),
    metrics,
    figures,
    gateways,
    names,
    content,
    known,
    cache,
    serve,
    telemetry,
    blocklist,
    draining: () => draining,
    moderationToken: () => moderationToken,
  };
  addGauges(parts);
  const server = createRouterServer(
    parts,
    new ChainProxy({ ...chain.asks(figures.hedged), ...proxyLimits(config) }),
  );

  const admin = config.ADMIN_UI_ENABLED
    ? createAdminServer(parts, config.ADMIN_TOKEN ?? (await keptToken(settings, 'router-admin-token', deps)))
    : undefined;

  return {
    server,
    admin,
    async start() {
      await blocklist?.start();
      await known.start(settings.cachePath);
      await telemetry?.start();
      await gateways.start();
      await chain.start();
      warnAboutTrust(parts);
      await server.listen();
      await admin?.listen();
      if (admin !== undefined) log.info({ url: admin.url }, "the router's admin page");
      pings?.start();
    },
    async drain(timeoutMs) {
      draining = true;
      const [finished] = await Promise.all([server.drain(timeoutMs), admin?.drain(0)]);
      return finished;
    },
    async stop() {
      draining = true;
      await server.close();
      await admin?.close();
      await pings?.stop();
      blocklist?.stop();
      await gateways.stop();
      await chain.stop();
      await telemetry?.stop();
      await known.stop();
      await content.settled();
      await cache?.close();
    },
  };
}

function proxyLimits(config: Config) {
  return { attempts: config.RETRY_ATTEMPTS, stallTimeoutMs: config.STREAM_TIMEOUT_MS };
}

async function openCache(settings: RouterSettings, onDamaged: () => void): Promise<BlobCache | undefined> {
  const { config, cachePath } = settings;
  if (!config.CONTENT_CACHE_ENABLED || !config.VERIFICATION_ENABLED) return undefined;
  return openBlobCache({
    folder: join(cachePath, 'blobs'),
    maxBytes: config.CONTENT_CACHE_MAX_SIZE_BYTES,
    maxBlobBytes: config.CONTENT_CACHE_MAX_ITEM_SIZE_BYTES,
    maxEntries: config.CONTENT_CACHE_MAX_ENTRIES,
    onDamaged,
  }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartupError(`the content cache cannot be opened (CONTENT_CACHE_PATH): ${reason}`);
  });
}

async function keptToken(settings: RouterSettings, name: string, { log }: RouterDeps): Promise<string> {
  const { path, text, made } = await readOrCreateKey(join(settings.config.DATA_DIR, 'keys'), name, makeToken);
  if (made) log.info({ path }, 'made a token');
  return text;
}

/** What the operator should know about how little is believed to whom. */
function warnAboutTrust({ settings, gateways, log }: RouterParts): void {
  const { config } = settings;
  const verifiers = gateways.verification.length;
  if (settings.consensusThreshold < config.ARNS_CONSENSUS_THRESHOLD) {
    log.warn('there is one verification gateway: its word on names is taken');
  } else if (verifiers < settings.consensusThreshold) {
    log.warn(
      { verifiers, threshold: settings.consensusThreshold },
      'fewer verification gateways than must agree on names: none can be resolved',
    );
  }
  if (!config.VERIFICATION_ENABLED) log.warn('verification is off: gateways are believed');
  else if (verifiers <= config.VERIFICATION_QUORUM) {
    log.info({ verifiers }, 'too few gateways to agree on hashes: content is proven by signatures');
  }
}
