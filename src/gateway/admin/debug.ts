/** What `debug` shows: how much is indexed, how far, how fresh, and what is wrong with it (interface §4.4). */
import type { GatewayContext } from '../chain/context.ts';
import { firstPos, PENDING_POS } from '../chain-index/order.ts';
import { CHAIN_TERM, EVERY_TERM, INGESTED_TERM, termKinds } from '../chain-index/terms.ts';
import type { BundleQueue } from '../unbundle/queue.ts';
import type { StorageHealth } from './health.ts';
import type { LiveBlocklist } from './moderation/live-blocklist.ts';
import type { RequestedTransactions } from './requested-transactions.ts';

/** Unknown values are -1, as scripts that read this expect. */
const unknown = -1;
const positionsPerBlock = firstPos(1);
const daySeconds = 86_400;

export interface DebugDeps extends Pick<GatewayContext, 'config' | 'index' | 'nodes'> {
  readonly queue: BundleQueue;
  readonly requested: RequestedTransactions;
  readonly blocklist: LiveBlocklist;
  readonly health: StorageHealth;
  /** What is wrong with the published indexes. */
  indexProblems(): readonly string[];
}

export async function debugReport(deps: DebugDeps): Promise<object> {
  const { config, index, nodes, queue, requested, blocklist, health } = deps;
  const { sql, stableHeight, height } = index;
  const number = async (statement: string, ...values: (string | number)[]): Promise<number> =>
    (await sql.get<{ n: number | null }>(statement, ...values))?.n ?? unknown;
  const count = async (statement: string, ...values: (string | number)[]): Promise<number> =>
    Math.max(0, await number(statement, ...values));
  const inTerm = (term: number, from: number, to: number) =>
    count('SELECT count(*) AS n FROM postings WHERE term = ? AND pos >= ? AND pos < ?', term, from, to);
  /** Height of the first or last data item between two positions. */
  const itemHeight = async (from: number, to: number, order: 'ASC' | 'DESC'): Promise<number> => {
    const pos = await number(
      `SELECT pos AS n FROM postings WHERE term = ? AND pos >= ? AND pos < ? AND pos % 2 = 1
       ORDER BY pos ${order} LIMIT 1`,
      EVERY_TERM,
      from,
      to,
    );
    return pos === unknown ? unknown : Math.floor(pos / positionsPerBlock);
  };
  const lastIndexed = (where: string, value: number) =>
    number(
      `SELECT p.pos AS n FROM (SELECT pos, record FROM postings WHERE term = ? ORDER BY pos DESC LIMIT 20000) p
       JOIN records r ON r.record = p.record WHERE r.kind = 1 AND ${where} ORDER BY p.pos DESC LIMIT 1`,
      INGESTED_TERM,
      value,
    );

  const unstable = firstPos(stableHeight + 1);
  const stableTxs = await inTerm(CHAIN_TERM, 0, unstable);
  const newTxs = await inTerm(CHAIN_TERM, unstable, PENDING_POS);
  const records = await inTerm(EVERY_TERM, 0, Number.MAX_SAFE_INTEGER);
  const chainRecords = await inTerm(CHAIN_TERM, 0, Number.MAX_SAFE_INTEGER);
  const blocks = await sql.get<Record<'n' | 'txs' | 'lowest' | 'highest', number | null>>(
    `SELECT count(*) AS n, CAST(sum(tx_count) AS BIGINT) AS txs, min(height) AS lowest, max(height) AS highest
     FROM blocks WHERE height <= ?`,
    stableHeight,
  );
  const fresh = await sql.get<Record<'n' | 'lowest' | 'highest', number | null>>(
    'SELECT count(*) AS n, min(height) AS lowest, max(height) AS highest FROM blocks WHERE height > ?',
    stableHeight,
  );
  const bundles = await sql.get<Record<string, number | null>>(
    `SELECT count(*) AS n, CAST(sum(data_item_count) AS BIGINT) AS items, CAST(sum(matched_count) AS BIGINT) AS matched,
       CAST(sum(pruned_count) AS BIGINT) AS pruned,
       CAST(sum(CASE WHEN depth > 0 THEN matched_count ELSE 0 END) AS BIGINT) AS nested,
       CAST(sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS BIGINT) AS failed,
       max(last_queued_at) AS queued, max(last_skipped_at) AS skipped, max(last_unbundled_at) AS unbundled,
       max(last_fully_indexed_at) AS indexed FROM bundles`,
  );
  const stableBlocks = blocks?.n ?? 0;
  const stableBlockTxs = blocks?.txs ?? 0;
  const minStable = blocks?.lowest ?? unknown;
  const maxStable = blocks?.highest ?? unknown;
  const missingStableBlocks =
    maxStable === unknown ? 0 : maxStable - Math.max(minStable, 0) + 1 - stableBlocks;
  const missingStableTxs = stableBlockTxs - stableTxs;
  const missingTxs = await count('SELECT count(*) AS n FROM missing_transactions');
  const now = Math.floor(Date.now() / 1000);

  const errors: string[] = [];
  const warnings: string[] = [];
  if (missingStableBlocks > 0) {
    errors.push(
      `${missingStableBlocks} stable blocks are missing between heights ${minStable} and ${maxStable}.`,
    );
  }
  if (missingStableTxs > 0) {
    errors.push(
      `${missingStableTxs} transactions of stable blocks between heights ${minStable} and ${maxStable} are missing.`,
    );
  }
  const lastFully = bundles?.indexed ?? undefined;
  if (lastFully !== undefined && now - lastFully > daySeconds) {
    warnings.push('Last bundle fully indexed more than 24 hours ago.');
  }
  const failed = bundles?.failed ?? 0;
  if (failed > 0) warnings.push(`${failed} bundles could not be read and wait for an operator.`);
  const heads = nodes.status.map((node) => node.height);
  const behind = Math.max(...heads, height) - height;
  if (config.START_WRITERS && config.STOP_HEIGHT === undefined && behind > 10) {
    warnings.push(`The import is ${behind} blocks behind the chain.`);
  }
  if (nodes.status.length > 0 && !nodes.status.some((node) => node.healthy)) {
    errors.push('No node answers.');
  }
  errors.push(...(await health.problems()), ...deps.indexProblems());

  return {
    db: {
      counts: {
        wallets: await count('SELECT count(*) AS n FROM terms WHERE kind = ?', termKinds.owner),
        tagNames: await count(
          'SELECT count(DISTINCT name_start) AS n FROM terms WHERE name_start IS NOT NULL',
        ),
        tagValues: await count('SELECT count(*) AS n FROM terms WHERE kind = ?', termKinds.tag),
        stableTxs,
        stableBlocks,
        stableBlockTxs,
        missingStableBlocks,
        missingStableTxs,
        missingTxs,
        newBlocks: fresh?.n ?? 0,
        newTxs,
        bundleCount: bundles?.n ?? 0,
        bundleDataItems: bundles?.items ?? 0,
        matchedDataItems: bundles?.matched ?? 0,
        dataItems: records - chainRecords,
        nestedDataItems: bundles?.nested ?? 0,
        // Of those that matched: their records are gone, their places are kept, and they are read as before.
        prunedDataItems: bundles?.pruned ?? 0,
        keptPlaces: await count('SELECT CAST(sum(items) AS BIGINT) AS n FROM place_counts'),
      },
      heights: {
        minStable,
        maxStable,
        minNew: fresh?.lowest ?? unknown,
        maxNew: fresh?.highest ?? unknown,
        minStableDataItem: await itemHeight(0, unstable, 'ASC'),
        maxStableDataItem: await itemHeight(0, unstable, 'DESC'),
        minNewDataItem: await itemHeight(unstable, PENDING_POS, 'ASC'),
        maxNewDataItem: await itemHeight(unstable, PENDING_POS, 'DESC'),
      },
      timestamps: {
        now,
        maxBundleQueuedAt: bundles?.queued ?? unknown,
        maxBundleSkippedAt: bundles?.skipped ?? unknown,
        maxBundleUnbundledAt: bundles?.unbundled ?? unknown,
        maxBundleFullyIndexedAt: lastFully ?? unknown,
        maxNewDataItemIndexedAt: await lastIndexed('(r.height IS NULL OR r.height > ?)', stableHeight),
        maxStableDataItemIndexedAt: await lastIndexed('r.height <= ?', stableHeight),
      },
      errors,
      warnings,
    },
    queues: {
      bundles: await queue.waiting(),
      askedTransactions: await requested.waiting(),
      missingTransactions: missingTxs,
    },
    chain: { height, stableHeight, behind, nodes: nodes.status },
    blocks: blocklist.counts,
    config: {
      engine: sql.engine,
      startWriters: config.START_WRITERS,
      unbundleFilter: config.ANS104_UNBUNDLE_FILTER,
      indexFilter: config.ANS104_INDEX_FILTER,
    },
  };
}
