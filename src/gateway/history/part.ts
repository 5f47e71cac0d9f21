/** The history as a part of the gateway: its connection, the job that moves items there, and what is wrong with them. */
import type { Config } from '../../config/config.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { createJob, type Job } from '../../kernel/background/job.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import { Lease } from '../../storage/sql/lease.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { History } from '../chain-index/history.ts';
import { ClickHouse } from './clickhouse.ts';
import { ClickHouseHistory } from './clickhouse-history.ts';
import { readExtent } from './extent.ts';
import { HistoryDamaged, Mover, type MoverOptions } from './mover.ts';
import type { Placement } from './tables.ts';

export interface HistoryDeps {
  readonly config: Config;
  readonly sql: Sql;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Called after items were taken out of SQL. */
  readonly onMoved: () => void;
  /** Heights that exports still need in SQL. */
  readonly leftOut: NonNullable<MoverOptions['leftOut']>;
}

const lookEveryMs = 5_000;
/** How long after everything was moved it is looked for more. */
const restMs = 5_000;
const leaseMs = 30_000;
const settleSeconds = 5;

/** undefined where no history is configured. */
export function createHistoryPart(
  deps: HistoryDeps,
): { readonly history: History; readonly part: Part } | undefined {
  const { config, sql, log, metrics } = deps;
  const { INDEX_HISTORY_URL: url, INDEX_HISTORY_PASSWORD: password } = config;
  if (url === undefined) return undefined;
  const placement = placementOf(config);
  const server = new ClickHouse({ url, password, timeoutMs: config.INDEX_HISTORY_TIMEOUT_MS });
  const moved = metrics.counter('history_items_moved_total', 'Data items moved from SQL to the history');
  const items = metrics.gauge('history_items', 'Data items in the history');
  const up = metrics.gauge('history_up', 'Whether the history answers');
  let silence: string | undefined;
  const mover = createMoverTask(
    new Mover({
      ...{ sql, server, placement, log },
      lease: new Lease(sql, { table: 'leases', name: 'history', leaseMs }),
      // What is written at this moment may be a little older when it is there.
      afterSeconds: Math.max(settleSeconds, config.INDEX_HISTORY_AFTER_SECONDS),
      batchItems: config.INDEX_HISTORY_BATCH,
      leftOut: deps.leftOut,
      onMoved(count) {
        moved.inc(count);
        deps.onMoved();
      },
    }),
    log,
  );
  const look = async () => {
    try {
      await server.select('SELECT 1');
      silence = undefined;
    } catch (error) {
      silence = `The history of the index does not answer: ${messageOf(reasonOf(error))}`;
    }
    up.set(silence === undefined ? 1 : 0);
    items.set((await readExtent(sql)).items);
  };
  const looking: Job = createJob({ name: 'look at the history', everyMs: lookEveryMs, log, run: look });
  const part: Part = {
    name: 'history',
    jobs: config.START_WRITERS ? [looking, mover.task] : [looking],
    start: look,
    stop: () => server.close(),
    problems: () => [silence, mover.trouble()].filter((problem) => problem !== undefined),
  };
  return { history: new ClickHouseHistory({ sql, server, cluster: placement.cluster }), part };
}

/** Names go into statements as they are. */
export function placementOf(config: Config): Placement {
  const { INDEX_HISTORY_CLUSTER: cluster, INDEX_HISTORY_REPLICA_PATH: path } = config;
  if (cluster !== '' && !/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(cluster)) {
    throw new StartupError('INDEX_HISTORY_CLUSTER must be a name of letters, digits and underscores');
  }
  if (path !== '' && !/^\/[A-Za-z0-9_/.{}-]{1,255}$/.test(path)) {
    throw new StartupError('INDEX_HISTORY_REPLICA_PATH must be a path such as /clickhouse/tables/turnpike');
  }
  return { cluster: cluster || undefined, replicaPath: path || undefined };
}

function createMoverTask(mover: Mover, log: Logger) {
  let trouble: string | undefined;
  const task: WakeableTask = new WakeableTask({
    name: 'move items to the history',
    async run() {
      while (!task.isStopped && (await mover.step(() => task.isStopped)));
      trouble = undefined;
      return restMs;
    },
    failed(error, failures) {
      // That the history does not answer is told by whoever looks at it.
      trouble = error instanceof HistoryDamaged ? error.message : undefined;
      log.warn({ err: error }, 'items could not be moved to the history');
      return backoffMs({ firstMs: 1_000, longestMs: 60_000 }, failures);
    },
  });
  return { task, trouble: () => trouble };
}

const reasonOf = (error: unknown): unknown => (error instanceof Error ? (error.cause ?? error) : error);
