/** What writes the index: importer, side jobs, unbundler, their metrics and what is wrong with them. */
import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { createJob } from '../../kernel/background/job.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import { createPool } from '../../kernel/pool/pool.ts';
import type { ByteSource } from '../chain/byte-source.ts';
import type { GatewayContext } from '../chain/context.ts';
import { tellFinal } from '../chain-index/finality.ts';
import { SegmentBuilder } from '../chain-index/segment-builder.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { Filters } from '../filters/filter.ts';
import { compileFilter } from '../filters/match.ts';
import type { UnbundleTasks } from '../unbundle/read-bundle.ts';
import { Unbundler, type UnbundlerEvents } from '../unbundle/unbundler.ts';
import { ImportWatch } from './import-watch.ts';
import { Importer, type ImporterOptions } from './importer.ts';
import { createImportMetrics } from './metrics.ts';
import type { OnDemandImport } from './on-demand.ts';
import { judgeOutdatedBundles } from './outdated-bundles.ts';
import type { BundleIntake } from './queue-bundle.ts';
import { SideJobs } from './side-jobs.ts';

export interface WritersDeps extends Pick<GatewayContext, 'config' | 'log' | 'metrics' | 'index' | 'nodes'> {
  readonly filters: Filters;
  readonly intake: BundleIntake;
  readonly onDemand: Pick<OnDemandImport, 'fetch'>;
  /** Where the unbundler reads bundles. */
  readonly bytes: ByteSource;
  readonly onOtherChain: ImporterOptions['onOtherChain'];
}

const tasks = new URL(`../unbundle/tasks${extname(import.meta.filename)}`, import.meta.url);
const queueCountMs = 5_000;
/** Segments are made for about so long, then others have so much time. */
const segmentsWorkMs = 1_000;
const segmentsPauseMs = 3_000;

/** How often it is looked whether the index has caught up, and how long at most. */
const catchUpStepMs = 5;
const catchUpMs = 10_000;

export interface WritersPart extends Part {
  /** Resolves when the chain is indexed up to this block with the bundles in it, or is not in time. */
  caughtUp(head: { readonly height: number; readonly id: string }): Promise<void>;
}

export function createWritersPart(deps: WritersDeps): WritersPart {
  const { config, index, nodes, log, metrics, intake, filters } = deps;
  const { queue } = intake;
  const threads = config.WORKER_THREADS === 0 ? availableParallelism() : config.WORKER_THREADS;
  const pool = createPool<UnbundleTasks>({ module: tasks, size: threads, maxQueued: 1_024, log });
  const unbundling = createUnbundlerEvents(metrics);
  const unbundler = new Unbundler({
    index,
    queue,
    bytes: deps.bytes,
    pool,
    log,
    filters: { unbundle: intake.unbundles, index: compileFilter(filters.index) },
    workers: config.ANS104_UNBUNDLE_WORKERS,
    pollMs: config.EVENTS_POLL_MS,
    maxDepth: config.ANS104_MAX_NESTING,
    fetchTransaction: (id) => deps.onDemand.fetch(id),
    events: unbundling,
  });
  const shared = { ...intake, index, nodes, log };
  const onLoopback = nodes.status.every(({ url }) => /^https?:\/\/(localhost|127\.|\[::1\])/.test(url));
  const pollMs = config.GATEWAY_POLL_INTERVAL_MS || (onLoopback ? 250 : 5_000);
  const finality = createFinality(index, log);
  const importer = new Importer({
    ...shared,
    onBlock: () => finality.wake(),
    metrics: createImportMetrics(metrics),
    startHeight: config.START_HEIGHT,
    stopHeight: config.STOP_HEIGHT,
    pollMs,
    maxForkDepth: config.GATEWAY_MAX_FORK_DEPTH,
    onOtherChain: deps.onOtherChain,
  });
  const sideJobs = new SideJobs({
    ...shared,
    mempoolMs: config.ENABLE_MEMPOOL_WATCHER ? config.MEMPOOL_POLLING_INTERVAL_MS : undefined,
    missingMs: Math.min(5_000, 20 * pollMs),
    pendingTtlSeconds: config.GATEWAY_PENDING_TTL_SECONDS,
    isOurTurn: () => importer.isImporting,
  });
  const watch = new ImportWatch({
    ...{ index, nodes, log, metrics },
    imports: config.START_WRITERS,
    stopHeight: config.STOP_HEIGHT,
  });
  const stopping = new AbortController();
  const segments = createSegmentTask(index, log, () => importer.isImporting);
  const hasBlock = async (height: number, id: string) =>
    index.height >= height && (await index.blockAt(height))?.id === id;
  const queueLength = metrics.gauge('queue_length', 'Things that wait', ['queue_name']);
  const counting = createJob({
    name: 'count the bundle queue',
    everyMs: queueCountMs,
    log,
    run: async () => queueLength.set({ queue_name: 'bundles' }, await queue.waiting()),
  });

  return {
    name: 'writers',
    jobs: [
      watch.job,
      ...(config.START_WRITERS
        ? [importer, finality, sideJobs, unbundler, judgeOutdatedBundles(shared), counting, segments]
        : []),
    ],
    start: () => queue.useFilters(filters.unbundle, filters.index),
    stop: () => {
      stopping.abort();
      return pool.close();
    },
    async caughtUp({ height, id }) {
      const { START_WRITERS, START_HEIGHT, STOP_HEIGHT = height } = config;
      if (!START_WRITERS || height < START_HEIGHT || height > STOP_HEIGHT) return;
      importer.wake();
      const until = performance.now() + catchUpMs;
      while (importer.trouble === undefined && !stopping.signal.aborted && performance.now() < until) {
        if ((await hasBlock(height, id)) && !(await queue.isBusy())) return;
        await sleep(catchUpStepMs, undefined, { signal: stopping.signal }).catch(() => {});
      }
    },
    problems() {
      const found: string[] = [];
      if (importer.trouble !== undefined) found.push(importer.trouble);
      if (watch.problem !== undefined) found.push(watch.problem);
      const limit = config.MAX_EXPECTED_DATA_ITEM_INDEXING_INTERVAL_SECONDS;
      if (limit !== undefined && Date.now() / 1000 - unbundling.lastIndexedAt > limit) {
        found.push(`Last data item indexed more than ${limit} seconds ago.`);
      }
      return found;
    },
  };
}

/** Tells of what no fork reaches any more, when a block made it so. */
function createFinality(index: SqlGatewayIndex, log: Logger): WakeableTask {
  const task: WakeableTask = new WakeableTask({
    name: 'tell what is final',
    async run() {
      while (!task.isStopped && (await tellFinal(index.sql, index.writer)));
      return undefined;
    },
    failed(error, failures) {
      log.warn({ err: error }, 'what is final could not be told');
      return backoffMs({ firstMs: 1_000, longestMs: 60_000 }, failures);
    },
  });
  return task;
}

/** Makes segments of what was indexed, in a part of the time: until then the postings answer. */
function createSegmentTask(index: SqlGatewayIndex, log: Logger, isOurTurn: () => boolean): WakeableTask {
  const builder = new SegmentBuilder(index.sql);
  const task: WakeableTask = new WakeableTask({
    name: 'make segments of the index',
    async run() {
      const until = performance.now() + segmentsWorkMs;
      while (isOurTurn() && !task.isStopped && performance.now() < until && (await builder.round()));
      return segmentsPauseMs;
    },
    failed(error, failures) {
      log.warn({ err: error }, 'segments of the index could not be made');
      return backoffMs({ firstMs: segmentsPauseMs, longestMs: 60_000 }, failures);
    },
  });
  return task;
}

/** Counts what the unbundler does. `lastIndexedAt`, in Unix seconds, begins with the process. */
function createUnbundlerEvents(metrics: Metrics): UnbundlerEvents & { readonly lastIndexedAt: number } {
  const bundles = metrics.counter('bundles_unbundled_total', 'Bundles read');
  const failures = metrics.counter('bundles_failed_total', 'Attempts to read a bundle that failed');
  const items = metrics.counter('data_items_indexed_total', 'Data items indexed');
  const itemBytes = metrics.counter('data_item_bytes_indexed_total', 'Payload bytes of data items indexed');
  const read = metrics.counter('data_items_unbundled_total', 'Data items read from bundles');
  const invalid = metrics.counter(
    'data_items_invalid_total',
    'Data items that were broken or wrongly signed',
  );
  const lastIndexed = metrics.gauge(
    'data_item_last_indexed_timestamp_seconds',
    'When the last data item was indexed',
  );
  let lastIndexedAt = Math.floor(Date.now() / 1000);
  return {
    get lastIndexedAt() {
      return lastIndexedAt;
    },
    items(count, bytes) {
      items.inc(count);
      itemBytes.inc(bytes);
      lastIndexedAt = Math.floor(Date.now() / 1000);
      lastIndexed.set(lastIndexedAt);
    },
    unbundled(result) {
      bundles.inc();
      read.inc(result.itemCount);
      invalid.inc(result.invalidCount);
    },
    failed: () => failures.inc(),
  };
}
