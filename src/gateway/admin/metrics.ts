/** What operators watch beside requests and content: how far the import is behind, and how long the queues are. */
import type { GatewayContext } from '../context.ts';
import type { Writers } from '../import/part.ts';
import type { LiveBlocklist } from './moderation/live-blocklist.ts';
import type { AskedTransactions } from './requested-transactions.ts';

export interface FiguresOptions {
  readonly context: GatewayContext;
  readonly writers: Writers;
  readonly asked: AskedTransactions;
  readonly blocklist: LiveBlocklist;
}

/** Counting asks the database: not at every scrape. */
const everyMs = 15_000;

export class Figures {
  readonly #count: () => Promise<void>;
  readonly #warn: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor({ context, writers, asked, blocklist }: FiguresOptions) {
    const { metrics, index, nodes, log } = context;
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
    metrics.gauge(
      'arweave_nodes_healthy',
      'Nodes that answer',
      [],
      () => nodes.status.filter((node) => node.healthy).length,
    );
    const blocked = metrics.gauge('content_blocks', 'What is not served', ['kind']);
    const queues = metrics.gauge('operator_queue_length', 'What an operator or the chain still owes', [
      'queue_name',
    ]);
    this.#warn = (error) => log.warn({ err: error }, 'queues could not be counted');
    this.#count = async () => {
      const { ids, hashes, names } = blocklist.counts;
      blocked.set({ kind: 'id' }, ids);
      blocked.set({ kind: 'hash' }, hashes);
      blocked.set({ kind: 'name' }, names);
      queues.set({ queue_name: 'bundles' }, await writers.queue.waiting());
      queues.set({ queue_name: 'asked_transactions' }, await asked.waiting());
      const missing = await index.sql.get<{ n: number }>('SELECT count(*) AS n FROM missing_transactions');
      queues.set({ queue_name: 'missing_transactions' }, missing?.n ?? 0);
    };
  }

  start(): void {
    const look = () => {
      this.#running ??= this.#count()
        .catch(this.#warn)
        .finally(() => {
          this.#running = undefined;
        });
    };
    look();
    this.#timer = setInterval(look, everyMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}
