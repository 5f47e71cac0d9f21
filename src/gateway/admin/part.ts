/** The operator's side as a part of the gateway: under `/gw/admin` and below the alias prefixes. */
import { join } from 'node:path';
import type { NameChanges } from '../../delivery/name-changes.ts';
import type { IndexesState } from '../../formats/gateway-admin-answers.ts';
import { createAdmin } from '../../kernel/admin/admin.ts';
import type { Figures } from '../../kernel/admin/routes/state.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { type App, mount } from '../../kernel/http/server.ts';
import type { Part } from '../../kernel/part.ts';
import { databaseSettings } from '../../storage/sql/open.ts';
import { DatabaseUnavailable } from '../../storage/sql/sql.ts';
import type { GatewayContext } from '../chain/context.ts';
import { Exporter } from '../export/exporter.ts';
import { resolveOutput } from '../export/folder.ts';
import type { Heights } from '../export/grid.ts';
import { type GrowingDataset, heightsNeeded, type NeededHeights } from '../export/needed.ts';
import type { Filters } from '../filters/filter.ts';
import type { OnDemandImport } from '../import/on-demand.ts';
import { gatewayPrefixes } from '../paths.ts';
import type { BundleQueue } from '../unbundle/queue.ts';
import type { DebugDeps } from './debug.ts';
import { databaseUnavailable } from './errors.ts';
import { ExportSchedule } from './export-schedule.ts';
import { Exports } from './exports.ts';
import { StorageHealth } from './health.ts';
import { createAdminMetrics } from './metrics.ts';
import { BlockStore } from './moderation/block-store.ts';
import { Followers } from './moderation/followers.ts';
import { LiveBlocklist, type LiveBlocklistOptions } from './moderation/live-blocklist.ts';
import { Pruning } from './prune.ts';
import { RequestedTransactions } from './requested-transactions.ts';
import { exportRoutes } from './routes/export-parquet.ts';
import { indexesRoutes } from './routes/indexes.ts';
import { moderationRoutes } from './routes/moderation.ts';
import { nameChangesRoute } from './routes/name-changes.ts';
import { queueRoutes } from './routes/queue.ts';
import { stateRoutes } from './routes/state.ts';
import { whyRoute } from './routes/why.ts';
import { SharedJob } from './shared-job.ts';

export interface AdminDeps
  extends Pick<LiveBlocklistOptions, 'dropCopies' | 'locateElsewhere' | 'readPart'>,
    Pick<DebugDeps, 'indexProblems'>,
    Pick<GatewayContext, 'config' | 'log' | 'metrics' | 'index' | 'nodes'> {
  readonly filters: Filters;
  readonly queue: BundleQueue;
  readonly onDemand: OnDemandImport;
  readonly adminKey: string;
  /** What name services told. */
  readonly nameChanges: Pick<NameChanges, 'tell'>;
  /** What is published and followed. */
  indexesState(): Promise<IndexesState>;
  /** Who follows events. */
  eventFigures(): Figures;
  readonly release: string;
  /** All parts of the gateway, this one among them. */
  readonly parts: () => readonly Part[];
}

export interface AdminPart extends Part {
  /** What is not served. Loaded when the part has started. */
  readonly blocklist: LiveBlocklist;
  /** Who else obeys the list. */
  readonly followers: Followers;
  /** Which of these heights exports still need in the database. */
  neededByExports(range: Heights): Promise<NeededHeights>;
}

export function createAdminPart(deps: AdminDeps): AdminPart {
  const { config, index, nodes, log, queue, onDemand } = deps;
  const requested = new RequestedTransactions({ index, onDemand, log, pollMs: config.EVENTS_POLL_MS });
  const store = new BlockStore(index.sql);
  const { dropCopies, locateElsewhere, readPart } = deps;
  const admin = createAdmin({
    ...{
      surface: 'gateway',
      version: deps.release,
      config,
      key: deps.adminKey,
      log,
      parts: deps.parts,
      unaudited,
    },
    figures: () => figures(),
    translate: (error) => (error instanceof DatabaseUnavailable ? databaseUnavailable(error) : error),
  });
  const { audit, actor } = admin;
  const live = { store, index, audit, log, dropCopies, locateElsewhere, readPart };
  const blocklist = new LiveBlocklist(live);
  const followers = new Followers();
  const growing = scheduledDataset(config);
  const neededByExports = (range: Heights) => heightsNeeded(exportFolder(config), range, growing);
  const pruning = new Pruning(index, log, neededByExports);
  const exporter = new Exporter({
    databaseUrl: databaseSettings(config, 'gateway').databaseUrl,
    dataDir: config.DATA_DIR,
    log,
  });
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

  async function figures(): Promise<Figures> {
    const known = nodes.status;
    const { ids, hashes, names } = blocklist.counts;
    return {
      height: index.height,
      stableHeight: index.stableHeight,
      nodeHeight: Math.max(index.height, ...known.map(({ height }) => height)),
      nodes: known.length,
      nodesHealthy: known.filter(({ healthy }) => healthy).length,
      bundlesQueued: await queue.waiting(),
      askedTransactions: await requested.waiting(),
      ...{ blockedIds: ids, blockedHashes: hashes, blockedNames: names },
      ...deps.eventFigures(),
    };
  }

  function adminRoutes(scope: App): void {
    queueRoutes(scope, { index, queue, onDemand, requested, maxBundles: config.BUNDLE_QUEUE_MAX });
    moderationRoutes(scope, {
      blocklist,
      followers,
      store,
      requested,
      actor,
      isKnown: async (id) => (await index.locate(id)) !== undefined,
    });
    const { indexProblems } = deps;
    const debug = { config, index, nodes, queue, requested, blocklist, health, indexProblems };
    stateRoutes(scope, debug, pruning, pruneJob);
    whyRoute(scope, { config, index, nodes, filters: deps.filters, blocklist, store, readPart });
    indexesRoutes(scope, deps.indexesState);
    nameChangesRoute(scope, deps.nameChanges);
    exportRoutes(scope, exports, schedule);
  }

  return {
    name: 'admin',
    blocklist,
    followers,
    neededByExports,
    routes: (app) => mount(app, admin.routes, gatewayPrefixes(config.GW_ALIAS_PREFIXES)),
    adminRoutes,
    drain: admin.drain,
    jobs: [requested, counting, ...(schedule === undefined ? [] : [schedule])],
    start: () => blocklist.start(),
    async stop() {
      await Promise.all([admin.stop(), blocklist.stop(), pruning.stop(), exports.stop()]);
    },
    async problems() {
      const problems = await Promise.all([health.problems(), schedule?.problems() ?? [], admin.problems()]);
      return problems.flat();
    },
  };
}

/** Announcements are the upload surface's daily traffic; moderation tells the audit log itself what came of it. */
const unaudited = /\/(?:queue-data-item|(?:un)?block-(?:data|name))$/;

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
