/** The writing side of the gateway as a part: importer, side work, unbundler, their metrics and health reasons. */
import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { createPool } from '../../kernel/pool/pool.ts';
import type { Lane } from '../chain/pace.ts';
import type { GatewayContext, GatewayPart } from '../context.ts';
import type { Filter } from '../filters/filter.ts';
import { BundleQueue, ranks } from '../unbundle/queue.ts';
import type { UnbundleTasks } from '../unbundle/read-bundle.ts';
import { Unbundler } from '../unbundle/unbundler.ts';
import { fetchTransaction } from './fetch-block.ts';
import { Importer } from './importer.ts';
import { createImportMetrics } from './metrics.ts';
import { Reconsider } from './reconsider.ts';
import { SideWork } from './side-work.ts';
import { entryOf } from './write-block.ts';

/** What operators may ask of the writing side. */
export interface Writers {
  /** Queues a bundle for an operator: filters are passed by, unless asked otherwise. Answers whether it is queued. */
  queueBundle(id: string, bypassFilter: boolean): Promise<boolean>;
  /** Makes a transaction known now, and queues it when it is a bundle that the filter lets through. */
  queueTransaction(id: string, lane?: Lane): Promise<boolean>;
  readonly queue: BundleQueue;
}

const tasks = new URL(`../unbundle/tasks${extname(import.meta.filename)}`, import.meta.url);

export function createWriters(
  context: GatewayContext,
  filters: { readonly unbundle: Filter; readonly index: Filter },
): GatewayPart {
  const { config, index, nodes, log, metrics } = context;
  const queue = new BundleQueue(index.sql);
  const threads = config.WORKER_THREADS === 0 ? availableParallelism() : config.WORKER_THREADS;
  const pool = createPool<UnbundleTasks>({ module: tasks, size: threads, maxQueued: 1_024, log });

  const counters = {
    bundles: metrics.counter('bundles_unbundled_total', 'Bundles read'),
    failures: metrics.counter('bundles_failed_total', 'Attempts to read a bundle that failed'),
    queued: metrics.counter('bundles_queued_total', 'Times that bundles were queued'),
    items: metrics.counter('data_items_indexed_total', 'Data items indexed'),
    itemBytes: metrics.counter('data_item_bytes_indexed_total', 'Payload bytes of data items indexed'),
    read: metrics.counter('data_items_unbundled_total', 'Data items read from bundles'),
    invalid: metrics.counter('data_items_invalid_total', 'Data items that were broken or wrongly signed'),
  };
  const lastIndexed = metrics.gauge(
    'data_item_last_indexed_timestamp_seconds',
    'When the last data item was indexed',
  );
  let lastIndexedAt = Math.floor(Date.now() / 1000);

  /** Makes a transaction known that the importer has not met (yet). */
  async function makeKnown(id: string, lane: Lane = 'import'): Promise<boolean> {
    const header =
      (await fetchTransaction(nodes, id, 'tx', { lane })) ??
      (await fetchTransaction(nodes, id, 'unconfirmed_tx', { lane }));
    if (header === undefined) return false;
    const prepared = await index.writer.prepare([entryOf(header, undefined)]);
    await index.sql.transaction((tx) => index.writer.put(tx, prepared));
    return true;
  }

  /** Once for all who ask for it at the same time. */
  const meeting = new Map<string, Promise<boolean>>();
  function meet(id: string, lane: Lane | undefined): Promise<boolean> {
    let known = meeting.get(id);
    if (known === undefined) {
      known = makeKnown(id, lane).finally(() => meeting.delete(id));
      meeting.set(id, known);
    }
    return known;
  }

  const unbundler = new Unbundler({
    index,
    queue,
    bytes: () => context.bytes,
    pool,
    log,
    filters,
    workers: config.ANS104_UNBUNDLE_WORKERS,
    maxDepth: config.ANS104_MAX_NESTING,
    fetchTransaction: (id) => makeKnown(id),
    events: {
      items(count, bytes) {
        counters.items.inc(count);
        counters.itemBytes.inc(bytes);
        lastIndexedAt = Math.floor(Date.now() / 1000);
        lastIndexed.set(lastIndexedAt);
      },
      unbundled(result) {
        counters.bundles.inc();
        counters.read.inc(result.itemCount);
        counters.invalid.inc(result.invalidCount);
      },
      failed: () => counters.failures.inc(),
    },
  });
  const queueLength = metrics.gauge('queue_length', 'Things that wait', ['queue_name']);
  let counting: NodeJS.Timeout | undefined;
  const countQueue = () => {
    queue.waiting().then(
      (waiting) => queueLength.set({ queue_name: 'bundles' }, waiting),
      (error: unknown) => log.debug({ err: error }, 'the bundle queue could not be counted'),
    );
  };
  const queued = () => {
    counters.queued.inc();
    unbundler.wake();
  };
  const shared = { index, nodes, queue, log, unbundles: unbundler.matches, queued };
  const onLoopback = nodes.status.every(({ url }) => /^https?:\/\/(localhost|127\.|\[::1\])/.test(url));
  const pollMs = config.GATEWAY_POLL_INTERVAL_MS || (onLoopback ? 250 : 5_000);
  const importer = new Importer({
    ...shared,
    metrics: createImportMetrics(metrics),
    startHeight: config.START_HEIGHT,
    stopHeight: config.STOP_HEIGHT,
    pollMs,
    maxForkDepth: config.GATEWAY_MAX_FORK_DEPTH,
  });
  const sideWork = new SideWork({
    ...shared,
    mempoolMs: config.ENABLE_MEMPOOL_WATCHER ? config.MEMPOOL_POLLING_INTERVAL_MS : undefined,
    missingMs: Math.min(5_000, 20 * pollMs),
    pendingTtlSeconds: config.GATEWAY_PENDING_TTL_SECONDS,
  });
  const reconsider = new Reconsider({ ...shared });

  const writers: Writers = {
    queue,
    async queueBundle(id, bypassFilter) {
      if (!bypassFilter) return writers.queueTransaction(id);
      const bytes = Buffer.from(id, 'base64url');
      const located = await index.locate(id);
      const root = located?.placement?.root;
      const added = await index.sql.transaction((tx) =>
        queue.add(tx, {
          id: bytes,
          root: root === undefined ? bytes : Buffer.from(root, 'base64url'),
          depth: root === undefined ? 0 : 1,
          rank: ranks.asked,
          matches: true,
          bypass: true,
        }),
      );
      if (added) queued();
      return added;
    },
    async queueTransaction(id, lane) {
      if ((await index.locate(id)) === undefined && !(await meet(id, lane))) return false;
      const added = await reconsider.one(id, ranks.asked);
      if (added) queued();
      return added;
    },
  };

  context.writers = writers;
  return {
    name: 'writers',
    async start() {
      await queue.useFilters(filters.unbundle, filters.index);
      if (!config.START_WRITERS) return;
      importer.start();
      sideWork.start();
      unbundler.start();
      reconsider.start();
      counting = setInterval(countQueue, 5_000).unref();
    },
    async stop() {
      clearInterval(counting);
      await Promise.all([importer.stop(), sideWork.stop(), unbundler.stop(), reconsider.stop()]);
      await pool.close();
    },
    reasons() {
      const found: string[] = [];
      if (importer.trouble !== undefined) found.push(importer.trouble);
      const limit = config.MAX_EXPECTED_DATA_ITEM_INDEXING_INTERVAL_SECONDS;
      if (limit !== undefined && Date.now() / 1000 - lastIndexedAt > limit) {
        found.push(`Last data item indexed more than ${limit} seconds ago.`);
      }
      return found;
    },
  };
}
