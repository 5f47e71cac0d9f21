/** What `debug` shows: how much is indexed, how far, how fresh, and what is wrong with it (interface §4.4). */
import type { GatewayDebug } from '../../formats/gateway-admin-answers.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { GatewayContext } from '../chain/context.ts';
import { firstPos, PENDING_POS } from '../chain-index/order.ts';
import { CHAIN_TERM, EVERY_TERM, INGESTED_TERM, termKinds } from '../chain-index/terms.ts';
import { readExtent } from '../history/extent.ts';
import type { BundleQueue } from '../unbundle/queue.ts';
import type { StorageHealth } from './health.ts';
import type { LiveBlocklist } from './moderation/live-blocklist.ts';
import type { RequestedTransactions } from './requested-transactions.ts';

/** Unknown values are -1, as scripts that read this expect. */
const unknown = -1;
const positionsPerBlock = firstPos(1);
const daySeconds = 86_400;
/** Blocks that the import may be behind before it is worth a word. */
const usuallyBehind = 10;

export interface DebugDeps extends Pick<GatewayContext, 'config' | 'index' | 'nodes'> {
  readonly queue: BundleQueue;
  readonly requested: RequestedTransactions;
  readonly blocklist: LiveBlocklist;
  readonly health: StorageHealth;
  /** What is wrong with the published indexes. */
  indexProblems(): readonly string[];
}

export async function debugReport(deps: DebugDeps): Promise<GatewayDebug> {
  const { config, index, nodes, queue, requested, blocklist, health } = deps;
  const { sql, stableHeight, height } = index;
  const now = Math.floor(Date.now() / 1000);
  const blocks = await blockFigures(sql, stableHeight);
  const transactions = await transactionFigures(sql, stableHeight);
  const bundles = await bundleFigures(sql);
  const missingStableTxs = blocks.stableTxs - transactions.stable;
  const behind = Math.max(...nodes.status.map((node) => node.height), height) - height;
  return {
    db: {
      counts: {
        ...(await termCounts(sql)),
        stableTxs: transactions.stable,
        stableBlocks: blocks.stable,
        stableBlockTxs: blocks.stableTxs,
        missingStableBlocks: blocks.missing,
        missingStableTxs,
        missingTxs: transactions.missing,
        newBlocks: blocks.fresh,
        newTxs: transactions.fresh,
        bundleCount: bundles.count,
        bundleDataItems: bundles.items,
        matchedDataItems: bundles.matched,
        dataItems: transactions.items,
        nestedDataItems: bundles.nested,
        // Of those that matched: their records are gone, their places are kept, and they are read as before.
        prunedDataItems: bundles.pruned,
        keptPlaces: await countOf(sql, 'SELECT CAST(sum(items) AS BIGINT) AS n FROM place_counts'),
      },
      heights: { ...blocks.heights, ...(await itemHeights(sql, stableHeight)) },
      timestamps: { now, ...bundles.timestamps, ...(await itemTimestamps(sql, stableHeight)) },
      errors: [
        ...gaps(blocks, missingStableTxs),
        ...(nodes.status.length > 0 && !nodes.status.some((node) => node.healthy)
          ? ['No node answers.']
          : []),
        ...(await health.problems()),
        ...deps.indexProblems(),
      ],
      warnings: [
        ...bundleWarnings(bundles, now),
        ...(config.START_WRITERS && config.STOP_HEIGHT === undefined && behind > usuallyBehind
          ? [`The import is ${behind} blocks behind the chain.`]
          : []),
      ],
    },
    queues: {
      bundles: await queue.waiting(),
      askedTransactions: await requested.waiting(),
      missingTransactions: transactions.missing,
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

async function numberOf(sql: Sql, statement: string, ...values: (string | number)[]): Promise<number> {
  return (await sql.get<{ n: number | null }>(statement, ...values))?.n ?? unknown;
}

async function countOf(sql: Sql, statement: string, ...values: (string | number)[]): Promise<number> {
  return Math.max(0, await numberOf(sql, statement, ...values));
}

async function termCounts(sql: Sql) {
  return {
    wallets: await countOf(sql, 'SELECT count(*) AS n FROM terms WHERE kind = ?', termKinds.owner),
    tagNames: await countOf(
      sql,
      'SELECT count(DISTINCT name_start) AS n FROM terms WHERE name_start IS NOT NULL',
    ),
    tagValues: await countOf(sql, 'SELECT count(*) AS n FROM terms WHERE kind = ?', termKinds.tag),
  };
}

/** Blocks up to the stable height, and those above it that may still be replaced. */
async function blockFigures(sql: Sql, stableHeight: number) {
  const stable = await sql.get<Record<'n' | 'txs' | 'lowest' | 'highest', number | null>>(
    `SELECT count(*) AS n, CAST(sum(tx_count) AS BIGINT) AS txs, min(height) AS lowest, max(height) AS highest
     FROM blocks WHERE height <= ?`,
    stableHeight,
  );
  const fresh = await sql.get<Record<'n' | 'lowest' | 'highest', number | null>>(
    'SELECT count(*) AS n, min(height) AS lowest, max(height) AS highest FROM blocks WHERE height > ?',
    stableHeight,
  );
  const count = stable?.n ?? 0;
  const minStable = stable?.lowest ?? unknown;
  const maxStable = stable?.highest ?? unknown;
  return {
    stable: count,
    stableTxs: stable?.txs ?? 0,
    fresh: fresh?.n ?? 0,
    missing: maxStable === unknown ? 0 : maxStable - Math.max(minStable, 0) + 1 - count,
    heights: {
      minStable,
      maxStable,
      minNew: fresh?.lowest ?? unknown,
      maxNew: fresh?.highest ?? unknown,
    },
  };
}

type BlockFigures = Awaited<ReturnType<typeof blockFigures>>;

function gaps({ missing, heights }: BlockFigures, missingStableTxs: number): string[] {
  const where = `between heights ${heights.minStable} and ${heights.maxStable}`;
  return [
    ...(missing > 0 ? [`${missing} stable blocks are missing ${where}.`] : []),
    ...(missingStableTxs > 0
      ? [`${missingStableTxs} transactions of stable blocks ${where} are missing.`]
      : []),
  ];
}

/** Transactions of the chain, and the data items beside them. */
async function transactionFigures(sql: Sql, stableHeight: number) {
  const unstable = firstPos(stableHeight + 1);
  const inTerm = (term: number, from: number, to: number) =>
    countOf(
      sql,
      'SELECT count(*) AS n FROM postings WHERE term = ? AND pos >= ? AND pos < ?',
      term,
      from,
      to,
    );
  const records = await inTerm(EVERY_TERM, 0, Number.MAX_SAFE_INTEGER);
  const ofChain = await inTerm(CHAIN_TERM, 0, Number.MAX_SAFE_INTEGER);
  return {
    stable: await inTerm(CHAIN_TERM, 0, unstable),
    fresh: await inTerm(CHAIN_TERM, unstable, PENDING_POS),
    missing: await countOf(sql, 'SELECT count(*) AS n FROM missing_transactions'),
    items: records - ofChain + (await readExtent(sql)).items,
  };
}

/** Heights of the first and last data item, among those that are stable and those that are not yet. */
async function itemHeights(sql: Sql, stableHeight: number) {
  const unstable = firstPos(stableHeight + 1);
  const heightOf = async (from: number, to: number, order: 'ASC' | 'DESC'): Promise<number> => {
    const pos = await numberOf(
      sql,
      `SELECT pos AS n FROM postings WHERE term = ? AND pos >= ? AND pos < ? AND pos % 2 = 1
       ORDER BY pos ${order} LIMIT 1`,
      EVERY_TERM,
      from,
      to,
    );
    return pos === unknown ? unknown : Math.floor(pos / positionsPerBlock);
  };
  return {
    minStableDataItem: await heightOf(0, unstable, 'ASC'),
    maxStableDataItem: await heightOf(0, unstable, 'DESC'),
    minNewDataItem: await heightOf(unstable, PENDING_POS, 'ASC'),
    maxNewDataItem: await heightOf(unstable, PENDING_POS, 'DESC'),
  };
}

async function itemTimestamps(sql: Sql, stableHeight: number) {
  const lastIndexed = (where: string) =>
    numberOf(
      sql,
      `SELECT p.pos AS n FROM (SELECT pos, record FROM postings WHERE term = ? ORDER BY pos DESC LIMIT 20000) p
       JOIN records r ON r.record = p.record WHERE r.kind = 1 AND ${where} ORDER BY p.pos DESC LIMIT 1`,
      INGESTED_TERM,
      stableHeight,
    );
  return {
    maxNewDataItemIndexedAt: await lastIndexed('(r.height IS NULL OR r.height > ?)'),
    maxStableDataItemIndexedAt: await lastIndexed('r.height <= ?'),
  };
}

async function bundleFigures(sql: Sql) {
  const row = await sql.get<Record<string, number | null>>(
    `SELECT count(*) AS n, CAST(sum(data_item_count) AS BIGINT) AS items, CAST(sum(matched_count) AS BIGINT) AS matched,
       CAST(sum(pruned_count) AS BIGINT) AS pruned,
       CAST(sum(CASE WHEN depth > 0 THEN matched_count ELSE 0 END) AS BIGINT) AS nested,
       CAST(sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS BIGINT) AS failed,
       max(last_queued_at) AS queued, max(last_skipped_at) AS skipped, max(last_unbundled_at) AS unbundled,
       max(last_fully_indexed_at) AS indexed FROM bundles`,
  );
  return {
    count: row?.n ?? 0,
    items: row?.items ?? 0,
    matched: row?.matched ?? 0,
    pruned: row?.pruned ?? 0,
    nested: row?.nested ?? 0,
    failed: row?.failed ?? 0,
    timestamps: {
      maxBundleQueuedAt: row?.queued ?? unknown,
      maxBundleSkippedAt: row?.skipped ?? unknown,
      maxBundleUnbundledAt: row?.unbundled ?? unknown,
      maxBundleFullyIndexedAt: row?.indexed ?? unknown,
    },
  };
}

type BundleFigures = Awaited<ReturnType<typeof bundleFigures>>;

function bundleWarnings({ failed, timestamps }: BundleFigures, now: number): string[] {
  const lastFully = timestamps.maxBundleFullyIndexedAt;
  const isOld = lastFully !== unknown && now - lastFully > daySeconds;
  return [
    ...(isOld ? ['Last bundle fully indexed more than 24 hours ago.'] : []),
    ...(failed > 0 ? [`${failed} bundles could not be read and wait for an operator.`] : []),
  ];
}
