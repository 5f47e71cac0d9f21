/** The operator's side as a part of the gateway: under `/gw/admin` and below the alias prefixes. */
import { join } from 'node:path';
import { type Actor, AuditLog, fingerprintOf } from '../../kernel/audit-log.ts';
import { StartupError } from '../../kernel/errors.ts';
import { createErrorMapper } from '../../kernel/http/error-mapper.ts';
import { type App, type Guard, mount, mountGuarded, type Request } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import { sameSecret } from '../../kernel/same-secret.ts';
import { DatabaseUnavailable } from '../../storage/sql/sql.ts';
import type { GatewayContext } from '../chain/context.ts';
import { Exporter } from '../export/exporter.ts';
import type { OnDemandImport } from '../import/on-demand.ts';
import { gatewayPrefixes } from '../paths.ts';
import type { BundleQueue } from '../unbundle/queue.ts';
import type { DebugDeps } from './debug.ts';
import { databaseUnavailable, noSuchRoute, unauthorized } from './errors.ts';
import { StorageHealth } from './health.ts';
import { createAdminMetrics } from './metrics.ts';
import { BlockStore } from './moderation/block-store.ts';
import { Followers } from './moderation/followers.ts';
import { LiveBlocklist, type LiveBlocklistOptions } from './moderation/live-blocklist.ts';
import { Pruning } from './prune.ts';
import { RequestedTransactions } from './requested-transactions.ts';
import { auditRoutes } from './routes/audit.ts';
import { exportRoutes } from './routes/export-parquet.ts';
import { moderationRoutes } from './routes/moderation.ts';
import { queueRoutes } from './routes/queue.ts';
import { stateRoutes } from './routes/state.ts';
import { SharedJob } from './shared-job.ts';

const mapError = createErrorMapper((_status, message) => message);

export interface AdminDeps
  extends Pick<LiveBlocklistOptions, 'dropCopies' | 'locateElsewhere' | 'readStart'>,
    Pick<DebugDeps, 'indexProblems'>,
    Pick<GatewayContext, 'config' | 'log' | 'metrics' | 'index' | 'nodes'> {
  readonly queue: BundleQueue;
  readonly onDemand: OnDemandImport;
  readonly adminKey: string;
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
  const { dropCopies, locateElsewhere, readStart } = deps;
  const audit = new AuditLog(join(config.DATA_DIR, 'gateway-audit.jsonl'), 'gateway', log);
  const live = { store, index, audit, log, dropCopies, locateElsewhere, readStart };
  const blocklist = new LiveBlocklist(live);
  const followers = new Followers();
  const pruning = new Pruning(index, log);
  const exporter = new Exporter({ databaseUrl: config.DATABASE_URL, dataDir: config.DATA_DIR, log });
  const sharedJobs = {
    export: new SharedJob(index.sql, 'export', log),
    prune: new SharedJob(index.sql, 'prune', log),
  };
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
    stateRoutes(scope, debug, pruning, sharedJobs.prune);
    exportRoutes(scope, {
      exporter,
      job: sharedJobs.export,
      folder: config.PARQUET_EXPORT_DIR ?? join(config.DATA_DIR, 'parquet'),
      stableHeight: () => index.stableHeight,
    });
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
    jobs: [requested, counting],
    start: () => blocklist.start(),
    async stop() {
      await Promise.all([blocklist.stop(), pruning.stop(), exporter.stop()]);
    },
    problems: async () => [...(await health.problems()), ...audit.problems()],
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
