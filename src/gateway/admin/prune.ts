/**
 * Removes the records of stable data items that were indexed before a time: rows that an analytical store has taken over.
 * In small transactions with room between them, so that imports and readers go on. Chain transactions, bundles, items
 * that may still move and cached content stay, and so does where the items lie: they are read as before.
 */

import { setImmediate as turn } from 'node:timers/promises';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { traced } from '../../kernel/tracing/tracing.ts';
import {
  type Cursor,
  fromTheBeginning,
  pruneStableItems,
  type StableRange,
  stableItems,
} from '../chain-index/drop.ts';
import { isPackingDue, packNext } from '../chain-index/places.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { INGESTED_TERM } from '../chain-index/terms.ts';
import type { Heights } from '../export/grid.ts';
import type { NeededHeights } from '../export/needed.ts';

/** What exports still need, where that is anything. */
interface PruneWarning {
  /** In words: heights that were left alone, and datasets that can no longer be written again. */
  readonly warning?: string;
  readonly leftOutHeights?: readonly Heights[];
}

/** What a prune would remove. Heights and times (Unix seconds) are left out where it is nothing. */
export interface PrunePreview extends PruneWarning {
  readonly count: number;
  readonly minHeight?: number;
  readonly maxHeight?: number;
  readonly firstIndexedAt?: number;
  readonly lastIndexedAt?: number;
}

export interface PruneStatus extends PruneWarning {
  readonly status: 'not_started' | 'running' | 'completed' | 'errored';
  readonly indexedAtThreshold?: number;
  readonly startHeight?: number;
  readonly endHeight?: number;
  /** Records that were looked at, and those of them that were removed. */
  readonly examined?: number;
  readonly pruned?: number;
  /** Records that may have to be looked at, as counted in the beginning. */
  readonly candidates?: number;
  readonly endTime?: string;
  readonly error?: string;
}

interface AllowedPrune {
  readonly range: StableRange;
  /** What to say once so many items are gone. */
  readonly warn: (pruned: number) => PruneWarning;
}

/** Which of these heights exports still need. */
type Needed = (range: Heights) => Promise<NeededHeights>;

/** Records that a preview reads at once: a few milliseconds of SQLite. */
const previewBatch = 1_024;

export class Pruning {
  readonly #index: SqlGatewayIndex;
  readonly #log: Logger;
  readonly #needed: Needed;
  #status: PruneStatus = { status: 'not_started' };
  #running: Promise<number> | undefined;
  #stopped = false;

  constructor(index: SqlGatewayIndex, log: Logger, needed: Needed) {
    this.#index = index;
    this.#log = log;
    this.#needed = needed;
  }

  get status(): PruneStatus {
    return this.#status;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Answers how many items were removed. One at a time. */
  run(range: StableRange): Promise<number> {
    if (this.#running !== undefined) throw new Error('a prune is running');
    this.#running = traced(
      'prune stable data items',
      () => ({}),
      async (span) => {
        const pruned = await this.#prune(range);
        span?.setAttributes({ 'turnpike.pruned': pruned });
        return pruned;
      },
    ).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** What `run` would remove now; changes nothing. */
  async preview(asked: StableRange): Promise<PrunePreview> {
    const { range, warn } = await this.#allowed(asked);
    let found: PrunePreview = { count: 0 };
    let after: Cursor | undefined = fromTheBeginning;
    while (after !== undefined) {
      if (this.#stopped) throw new Error('the gateway is stopping');
      const page = await stableItems(this.#index.sql, range, after, previewBatch);
      for (const { height, indexed_at } of page.items) {
        found = {
          count: found.count + 1,
          minHeight: Math.min(found.minHeight ?? height, height),
          maxHeight: Math.max(found.maxHeight ?? height, height),
          firstIndexedAt: Math.min(found.firstIndexedAt ?? indexed_at, indexed_at),
          lastIndexedAt: Math.max(found.lastIndexedAt ?? indexed_at, indexed_at),
        };
      }
      after = page.next;
      await turn();
    }
    return { ...found, ...warn(found.count) };
  }

  /** Above the stable height a fork may still move a bundle with its items; and exports need some heights yet. */
  async #allowed(asked: StableRange): Promise<AllowedPrune> {
    const maxHeight = Math.min(asked.maxHeight, this.#index.stableHeight);
    const { leftOut, endangered } = await this.#needed({ from: asked.minHeight, to: maxHeight });
    const warn = (pruned: number): PruneWarning => {
      const words = leftOut.length === 0 ? [] : [leftOutWords(leftOut)];
      if (pruned > 0) words.push(...endangered.map(endangeredWords));
      return {
        ...(words.length > 0 && { warning: words.join(' ') }),
        ...(leftOut.length > 0 && { leftOutHeights: leftOut }),
      };
    };
    return { range: { ...asked, maxHeight, leftOut }, warn };
  }

  /** Ends after the batch at hand. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running?.catch(() => undefined);
  }

  async #prune(asked: StableRange): Promise<number> {
    const { sql } = this.#index;
    let status: PruneStatus & { examined: number; pruned: number } = {
      status: 'running',
      indexedAtThreshold: asked.indexedBefore,
      startHeight: asked.minHeight,
      endHeight: Math.min(asked.maxHeight, this.#index.stableHeight),
      examined: 0,
      pruned: 0,
    };
    this.#status = status;
    try {
      const { range, warn } = await this.#allowed(asked);
      status = { ...status, endHeight: range.maxHeight, ...warn(0) };
      this.#status = status;
      status = { ...status, candidates: await this.#candidates(asked.indexedBefore) };
      let after: Cursor | undefined = fromTheBeginning;
      while (after !== undefined) {
        if (this.#stopped) throw new Error('the gateway is stopping');
        const batch: Awaited<ReturnType<typeof pruneStableItems>> = await pruneStableItems(
          sql,
          range,
          after,
          Math.floor(Date.now() / 1000),
        );
        after = batch.next;
        if (batch.pruned > 0) this.#index.prunes += 1;
        status = {
          ...status,
          examined: status.examined + batch.looked,
          pruned: status.pruned + batch.pruned,
          ...warn(status.pruned + batch.pruned),
        };
        this.#status = status;
        await turn();
      }
      if (await isPackingDue(sql)) await this.#pack();
      this.#status = { ...status, status: 'completed', endTime: new Date().toISOString() };
      this.#log.info({ ...range, pruned: status.pruned }, 'stable data items pruned');
      return status.pruned;
    } catch (error) {
      const words = messageOf(error);
      this.#status = { ...status, status: 'errored', error: words, endTime: new Date().toISOString() };
      this.#log.warn({ err: error, ...status }, 'pruning ended early; what was removed stays removed');
      throw error;
    }
  }

  /** What a stop leaves outside of the blocks is read all the same, and moved by the next prune. */
  async #pack(): Promise<void> {
    while (!this.#stopped && (await packNext(this.#index.sql)) > 0) await turn();
  }

  async #candidates(before: number): Promise<number> {
    const row = await this.#index.sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM postings WHERE term = ? AND pos < ?',
      INGESTED_TERM,
      before,
    );
    return row?.n ?? 0;
  }
}

function leftOutWords(heights: readonly Heights[]): string {
  return `The scheduled Parquet export has heights ${inWords(heights)} in no complete partition yet: they are left out.`;
}

function endangeredWords({ dataset, heights }: NeededHeights['endangered'][number]): string {
  return (
    `The Parquet dataset ${dataset} has heights ${inWords(heights)} in a partition that is not complete: once items ` +
    'of them are pruned, that partition cannot be exported again.'
  );
}

const maxRangesInWords = 5;

function inWords(heights: readonly Heights[]): string {
  const shown = heights.slice(0, maxRangesInWords).map(({ from, to }) => `${from}-${to}`);
  return `${shown.join(', ')}${heights.length > shown.length ? ' and more' : ''}`;
}
