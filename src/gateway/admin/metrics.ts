/** What operators watch beside requests and content: how far the import is behind, and how long the queues are. */
import type { Job } from '../../kernel/background/job.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { GatewayContext } from '../chain/context.ts';
import type { BundleQueue } from '../unbundle/queue.ts';
import type { LiveBlocklist } from './moderation/live-blocklist.ts';
import type { RequestedTransactions } from './requested-transactions.ts';

export interface AdminMetricsOptions extends Pick<GatewayContext, 'metrics' | 'log' | 'index' | 'nodes'> {
  readonly queue: BundleQueue;
  readonly requested: RequestedTransactions;
  readonly blocklist: LiveBlocklist;
}

/** Counting asks the database: not at every scrape. */
const countEveryMs = 15_000;

/** Registers the gauges; the job counts what is not known without asking. */
export function createAdminMetrics(options: AdminMetricsOptions): Job {
  const { metrics, index, nodes, queue, requested, blocklist, log } = options;
  const newest = () => Math.max(index.height, ...nodes.status.map(({ height }) => height));
  metrics.gauge('chain_import_lag_blocks', 'Blocks that the index is behind the newest node', [], () =>
    Math.max(0, newest() - index.height),
  );
  metrics.gauge(
    'last_stable_height',
    'Height up to which nothing moves any more',
    [],
    () => index.stableHeight,
  );
  metrics.leastGauge(
    'arweave_nodes_healthy',
    'Nodes that answer',
    () => nodes.status.filter((node) => node.healthy).length,
  );
  const blocked = metrics.gauge('content_blocks', 'What is not served', ['kind']);
  const queues = metrics.gauge('operator_queue_length', 'What an operator or the chain still owes', [
    'queue_name',
  ]);
  return new WakeableTask({
    name: 'count queues',
    async run() {
      const { ids, hashes, names } = blocklist.counts;
      blocked.set({ kind: 'id' }, ids);
      blocked.set({ kind: 'hash' }, hashes);
      blocked.set({ kind: 'name' }, names);
      queues.set({ queue_name: 'bundles' }, await queue.waiting());
      queues.set({ queue_name: 'asked_transactions' }, await requested.waiting());
      const missing = await index.sql.get<{ n: number }>('SELECT count(*) AS n FROM missing_transactions');
      queues.set({ queue_name: 'missing_transactions' }, missing?.n ?? 0);
      return countEveryMs;
    },
    failed(error) {
      log.warn({ err: error }, 'queues could not be counted');
      return countEveryMs;
    },
  });
}
