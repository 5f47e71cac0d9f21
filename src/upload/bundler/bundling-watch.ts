/** Whether anybody bundles, and whether the wallet can pay for it: looked at from outside the bundler, in every process. */
import { Type } from 'typebox';
import { createJob } from '../../kernel/background/job.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import type { ArweaveNodes } from '../../outside/arweave/nodes.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { integerOrNull, readInteger, rowReader } from '../../storage/sql/typed-rows.ts';
import { isNotHeldBack } from './after-restore.ts';

export interface BundlingWatchOptions {
  readonly sql: Sql;
  readonly nodes: Pick<ArweaveNodes, 'balance' | 'price'>;
  /** Of the wallet that pays. */
  readonly address: string;
  /** An item is planned after so long at the latest. */
  readonly maxWaitMs: number;
  /** What one full bundle is. */
  readonly bundleBytes: number;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly now: () => number;
  readonly everyMs?: number;
}

const usuallyEveryMs = 30_000;
/** Beyond the time that an item may wait. */
const graceMs = 5 * 60_000;

export function createBundlingWatch(options: BundlingWatchOptions): Part {
  const {
    sql,
    nodes,
    address,
    maxWaitMs,
    bundleBytes,
    metrics,
    log,
    now,
    everyMs = usuallyEveryMs,
  } = options;
  let idle: string | undefined;
  let unread: string | undefined;
  let dry: string | undefined;
  metrics.gauge('upload_nobody_bundles', 'Whether items wait that nobody bundles', [], () =>
    Number(idle !== undefined),
  );
  metrics.gauge(
    'upload_wallet_low',
    'Whether the wallet does not cover what waits and one more bundle',
    [],
    () => Number(dry !== undefined),
  );
  return {
    name: 'bundling',
    jobs: [
      createJob({
        name: 'watch the bundling',
        everyMs,
        // An operator who has forgotten to fill the wallet asks right after the start.
        atOnce: true,
        log,
        async run() {
          const { oldest, oldestMissed, bytes } = await waiting(sql);
          const late = (what: string, since: number | null): string | undefined => {
            const waitedMs = since === null ? 0 : now() - since;
            if (waitedMs <= maxWaitMs + graceMs) return undefined;
            return `${what}: an item has waited for ${Math.round(waitedMs / 60_000)} minutes.`;
          };
          idle = late('Nobody bundles', oldest);
          unread = late('Stored bytes are not found', oldestMissed);
          const [balance, needed] = await Promise.all([
            nodes.balance(address),
            nodes.price(bytes + bundleBytes),
          ]).catch(() => [undefined, undefined] as const);
          // What nodes do not tell now, they told a moment ago.
          if (balance === undefined || needed === undefined) return;
          const isDry = balance < needed;
          if (isDry && dry === undefined)
            log.error({ address, balance, needed }, 'the wallet runs dry: fill it');
          dry = isDry
            ? `Wallet runs dry: ${address} has ${balance} winston, what waits and one more bundle cost ${needed}.`
            : undefined;
        },
      }),
    ],
    problems: () => [idle, unread, dry].filter((problem) => problem !== undefined),
  };
}

const readItems = rowReader(
  'what waits',
  Type.Object({ oldest: integerOrNull, oldestMissed: integerOrNull, bytes: Type.Integer() }),
);

interface Waiting {
  /** When the oldest item came in that is in no bundle and could be. */
  readonly oldest: number | null;
  /** The same of those that were left out of one, because their bytes were not found. */
  readonly oldestMissed: number | null;
  /** How much is not paid for yet. */
  readonly bytes: number;
}

async function waiting(sql: Sql): Promise<Waiting> {
  const items = readItems(
    await sql.get(
      `SELECT MIN(CASE WHEN ${isNotHeldBack} AND misses = 0 THEN received_at END) AS oldest,
         MIN(CASE WHEN ${isNotHeldBack} AND misses > 0 THEN received_at END) AS "oldestMissed",
         CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes
       FROM upload_items WHERE state = 'new'`,
    ),
  );
  const bundles = await sql.get(
    "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM upload_bundles WHERE state = 'planned'",
  );
  return { ...items, bytes: items.bytes + readInteger(bundles?.bytes) };
}
