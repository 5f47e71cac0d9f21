/** The operator's side as a part of the gateway: under `/gw/admin` and below the alias prefixes. */
import { join } from 'node:path';
import { type Actor, AuditLog, fingerprintOf } from '../../kernel/audit-log.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { createErrorMapper } from '../../kernel/http/error-mapper.ts';
import { type App, type Guard, mount, mountGuarded, type Request } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import { sameSecret } from '../../kernel/same-secret.ts';
import { DatabaseUnavailable } from '../../storage/sql/sql.ts';
import type { GatewayContext } from '../chain/context.ts';
import { Exporter } from '../export/exporter.ts';
import { resolveOutput } from '../export/folder.ts';
import { type GrowingDataset, heightsNeeded } from '../export/needed.ts';
import type { OnDemandImport } from '../import/on-demand.ts';
import { gatewayPrefixes } from '../paths.ts';
import type { IndexesState } from '../published-indexes/state.ts';
import type { BundleQueue } from '../unbundle/queue.ts';
import type { DebugDeps } from './debug.ts';
import { databaseUnavailable, noSuchRoute, unauthorized } from './errors.ts';
import { ExportSchedule } from './export-schedule.ts';
import { Exports } from './exports.ts';
import { StorageHealth } from './health.ts';
import { createAdminMetrics } from './metrics.ts';
import { BlockStore } from './moderation/block-store.ts';
import { Followers } from './moderation/followers.ts';
import { LiveBlocklist, type LiveBlocklistOptions } from './moderation/live-blocklist.ts';
import { Pruning } from './prune.ts';
import { RequestedTransactions } from './requested-transactions.ts';
import { auditRoutes } from './routes/audit.ts';
import { exportRoutes } from './routes/export-parquet.ts';
import { indexesRoutes } from './routes/indexes.ts';
import { moderationRoutes } from './routes/moderation.ts';
import { queueRoutes } from './routes/queue.ts';
import { stateRoutes } from './routes/state.ts';
import { SharedJob } from './shared-job.ts';

const mapError = createErrorMapper((_status, message) => message);

export interface AdminDeps
  extends Pick<LiveBlocklistOptions, 'dropCopies' | 'locateElsewhere' | 'readPart'>,
    Pick<DebugDeps, 'indexProblems'>,
    Pick<GatewayContext, 'config' | 'log' | 'metrics' | 'index' | 'nodes'> {
  readonly queue: BundleQueue;
  readonly onDemand: OnDemandImport;
  readonly adminKey: string;
  /** What is published and followed. */
  indexesState(): Promise<IndexesState>;
}

export interface AdminPart extends Part {
  /** What is not served. Loaded when the part has started. */
  readonly blocklist: LiveBlocklist;
  /** Who else obeys the list. */
  readonly followers: Followers;
}

export function createAdminPart(deps: AdminDeps): AdminPart {
  const { config, index, nodes, log, queue, onDemand } = deps;
  const requested = new RequestedTransactions({ index, onDemand, log });
  const store = new BlockStore(index.sql);
  const { dropCopies, locateElsewhere, readPart } = deps;
  const audit = new AuditLog(join(config.DATA_DIR, 'gateway-audit.jsonl'), 'gateway', log);
  const live = { store, index, audit, log, dropCopies, locateElsewhere, readPart };
  const blocklist = new LiveBlocklist(live);
  const followers = new Followers();
  const growing = scheduledDataset(config);
  const pruning = new Pruning(index, log, (range) => heightsNeeded(exportFolder(config), range, growing));
  const exporter = new Exporter({ databaseUrl: config.DATABASE_URL, dataDir: config.DATA_DIR, log });
  const pruneJob = new SharedJob(index.sql, 'prune', log);
  const exports = new Exports({
    exporter,
    job: new SharedJob(index.sql, 'export', log),
    folder: exportFolder(config),
    stableHeight: () => index.stableHeight,
    metrics: deps.metrics,
  });
  const schedule = createSchedule(deps, exports);
  const health = new StorageHealth({
    sql: index.sql,
    dataDir: config.DATA_DIR,
    minFreeBytes: config.HEALTHCHECK_MIN_FREE_BYTES,
  });
  const counting = createAdminMetrics({ ...deps, requested, blocklist });
  const who = fingerprintOf(deps.adminKey);
  const actor = (request: Request): Actor => ({ who, via: 'api', from: request.ip });
  const guard = adminGuard(deps.adminKey);

  function routes(scope: App): void {
    scope.setErrorHandler((error, request, reply) =>
      mapError(error instanceof DatabaseUnavailable ? databaseUnavailable(error) : error, request, reply),
    );
    takeEmptyBodies(scope);
    auditCalls(scope, audit, actor, log);
    queueRoutes(scope, { index, queue, onDemand, requested, maxBundles: config.BUNDLE_QUEUE_MAX });
    moderationRoutes(scope, {
      blocklist,
      followers,
      store,
      requested,
      actor,
      isKnown: async (id) => (await index.locate(id)) !== undefined,
    });
    auditRoutes(scope, audit);
    const { indexProblems } = deps;
    const debug = { config, index, nodes, queue, requested, blocklist, health, indexProblems };
    stateRoutes(scope, debug, pruning, pruneJob);
    indexesRoutes(scope, deps.indexesState);
    exportRoutes(scope, exports, schedule);
  }

  return {
    name: 'admin',
    blocklist,
    followers,
    routes: (app) =>
      mount(
        app,
        (scope) => mountGuarded(scope, '/admin', guard, routes),
        gatewayPrefixes(config.GW_ALIAS_PREFIXES),
      ),
    jobs: [requested, counting, ...(schedule === undefined ? [] : [schedule])],
    start: () => blocklist.start(),
    async stop() {
      await Promise.all([blocklist.stop(), pruning.stop(), exports.stop()]);
    },
    async problems() {
      const problems = await Promise.all([health.problems(), schedule?.problems() ?? [], audit.problems()]);
      return problems.flat();
    },
  };
}

/** Announcements are the upload surface's daily traffic; moderation tells the audit log itself what came of it. */
const unaudited = /\/(?:queue-data-item|(?:un)?block-(?:data|name))$/;

/** Who did what, with what, and what came of it. A read is logged; what may change something is in the audit log. */
function auditCalls(scope: App, audit: AuditLog, actor: (request: Request) => Actor, log: Logger): void {
  scope.addHook('onSend', async (request, reply) => {
    const { method, routeOptions } = request;
    const route = routeOptions.url ?? '';
    const { statusCode: status } = reply;
    // Without the key nothing was done; strangers do not fill the log of what was.
    if (status === 401) return;
    const call = { ...actor(request), action: route.slice(route.lastIndexOf('/admin/') + '/admin/'.length) };
    if (method === 'GET' || method === 'HEAD' || status === 404 || unaudited.test(route)) {
      log.debug({ ...call, method, status }, 'operator call');
    } else await audit.record({ ...call, given: request.body, result: `answered ${status}` });
  });
}

function exportFolder({ PARQUET_EXPORT_DIR, DATA_DIR }: AdminDeps['config']): string {
  return PARQUET_EXPORT_DIR ?? join(DATA_DIR, 'parquet');
}

/** Undefined where nothing is exported by itself. */
function scheduledDataset(config: AdminDeps['config']): GrowingDataset | undefined {
  if (config.PARQUET_EXPORT_INTERVAL_MINUTES === 0) return undefined;
  const { START_HEIGHT, PARQUET_EXPORT_INTERVAL_PARTITION_SIZE: size } = config;
  // Heights that are never imported need no partitions.
  return { outputDir: config.PARQUET_EXPORT_INTERVAL_DIR, startHeight: START_HEIGHT - (START_HEIGHT % size) };
}

/** Undefined where nothing is exported by itself. */
function createSchedule({ config, index, log }: AdminDeps, exports: Exports): ExportSchedule | undefined {
  const dataset = scheduledDataset(config);
  if (dataset === undefined) return undefined;
  try {
    resolveOutput(exportFolder(config), dataset.outputDir);
  } catch (error) {
    throw new StartupError(`PARQUET_EXPORT_INTERVAL_DIR: ${messageOf(error)}`);
  }
  return new ExportSchedule({
    ...{ sql: index.sql, log, exports },
    everyMs: config.PARQUET_EXPORT_INTERVAL_MINUTES * 60_000,
    request: {
      ...dataset,
      heightPartitionSize: config.PARQUET_EXPORT_INTERVAL_PARTITION_SIZE,
      maxFileRows: config.PARQUET_EXPORT_INTERVAL_MAX_FILE_ROWS,
      ...{ skipL1Transactions: false, skipL1Tags: false },
    },
  });
}

/** No body at all and an empty one are the same: the route says what is missing. */
function takeEmptyBodies(scope: App): void {
  const parse = scope.getDefaultJsonParser('error', 'error');
  scope.removeContentTypeParser('application/json');
  scope.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else parse(request, body, done);
  });
}

/**
 * The admin key: `Authorization: Bearer <key>` and nothing else, compared in constant time (interface §5). It is
 * asked before a path is looked at, so that without it nothing can be learnt, not even which routes there are. Also
 * keeps the answers out of caches.
 */
function adminGuard(key: string): Guard {
  if (key === '') throw new StartupError('the admin key is empty: set ADMIN_API_KEY or ADMIN_API_KEY_FILE');
  const expected = `Bearer ${key}`;
  return {
    check(request, reply) {
      reply.header('cache-control', 'no-store');
      if (!sameSecret(request.headers.authorization ?? '', expected)) throw unauthorized();
    },
    noSuchRoute,
  };
}
