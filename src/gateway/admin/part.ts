/** The operator's side as a part of the gateway: under `/gw/admin` and below the alias prefixes. */
import { join } from 'node:path';
import { createErrorMapper } from '../../kernel/http/error-mapper.ts';
import { type App, mount, mountGuarded } from '../../kernel/http/server.ts';
import { DatabaseUnavailable } from '../../storage/sql/sql.ts';
import type { CreatePart, GatewayContext } from '../context.ts';
import { Exporter } from '../export/index.ts';
import type { Writers } from '../import/part.ts';
import { gatewayPrefixes } from '../routes/gw.ts';
import { adminGuard, fingerprint } from './auth.ts';
import { databaseUnavailable } from './errors.ts';
import { Vitals } from './health.ts';
import { Figures } from './metrics.ts';
import { BlockStore } from './moderation/block-store.ts';
import type { LocateElsewhere } from './moderation/blocked-regions.ts';
import { LiveBlocklist } from './moderation/live-blocklist.ts';
import { Pruning } from './prune.ts';
import { AskedTransactions } from './requested-transactions.ts';
import { exportRoutes } from './routes/export-parquet.ts';
import { moderationRoutes } from './routes/moderation.ts';
import { queueRoutes } from './routes/queue.ts';
import { stateRoutes } from './routes/state.ts';
import { SharedJob } from './shared-job.ts';

const mapError = createErrorMapper((_status, message) => message);

export interface AdminPartDeps {
  readonly adminKey: string;
  readonly locateElsewhere?: LocateElsewhere;
}

export function createAdminPart(deps: AdminPartDeps): CreatePart {
  return (context) => {
    const { config, index, log } = context;
    const writers = requireWriters(context);
    const asked = new AskedTransactions({ index, writers, log });
    const store = new BlockStore(index.sql);
    const blocklist = new LiveBlocklist({
      store,
      index,
      log,
      dropCopies: (hashes) => context.dropCopies(hashes),
      locateElsewhere: deps.locateElsewhere,
    });
    context.blocklist = blocklist;
    const pruning = new Pruning(index, log);
    const exporter = new Exporter({ databaseUrl: config.DATABASE_URL, dataDir: config.DATA_DIR, log });
    const jobs = {
      export: new SharedJob(index.sql, 'export', log),
      prune: new SharedJob(index.sql, 'prune', log),
    };
    const vitals = new Vitals({
      sql: index.sql,
      dataDir: config.DATA_DIR,
      minFreeBytes: config.HEALTHCHECK_MIN_FREE_BYTES,
    });
    const figures = new Figures({ context, writers, asked, blocklist });
    const key = fingerprint(deps.adminKey);
    const guard = adminGuard(deps.adminKey);

    function routes(scope: App): void {
      scope.setErrorHandler((error, request, reply) =>
        mapError(error instanceof DatabaseUnavailable ? databaseUnavailable(error) : error, request, reply),
      );
      takeEmptyBodies(scope);
      // Who did what, and when. Announcements are the upload surface's daily traffic.
      scope.addHook('onResponse', async (request, reply) => {
        const route = request.routeOptions.url;
        const level = route?.endsWith('/queue-data-item') === true ? 'debug' : 'info';
        log[level]({ key, method: request.method, route, status: reply.statusCode }, 'admin call');
      });
      queueRoutes(scope, { context, writers, asked, maxBundles: config.BUNDLE_QUEUE_MAX });
      moderationRoutes(scope, {
        blocklist,
        store,
        asked,
        isKnown: async (id) => (await index.locate(id)) !== undefined,
      });
      stateRoutes(scope, { context, asked, blocklist, vitals }, pruning, jobs.prune);
      exportRoutes(scope, {
        exporter,
        job: jobs.export,
        folder: config.PARQUET_EXPORT_DIR ?? join(config.DATA_DIR, 'parquet'),
        stableHeight: () => index.stableHeight,
      });
    }

    return {
      name: 'admin',
      routes: (app) =>
        mount(
          app,
          (scope) => mountGuarded(scope, '/admin', guard, routes),
          gatewayPrefixes(config.GW_ALIAS_PREFIXES),
        ),
      reasons: () => vitals.reasons(),
      async start() {
        await blocklist.start();
        asked.start();
        figures.start();
      },
      async stop() {
        await Promise.all([asked.stop(), blocklist.stop(), pruning.stop(), exporter.stop(), figures.stop()]);
      },
    };
  };
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

function requireWriters(context: GatewayContext): Writers {
  if (context.writers === undefined) throw new Error('the writing side is made before the admin part');
  return context.writers;
}
