/**
 * Removes stable data items that were indexed before a time: rows that an analytical store has taken over. In small
 * transactions with room between them, so that imports and readers go on. Chain transactions, bundles, items that may
 * still move and cached content stay.
 */

import { setImmediate as turn } from 'node:timers/promises';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { traced } from '../../kernel/tracing/tracing.ts';
import { type Cursor, dropStableItems } from '../chain-index/drop.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { INGESTED_TERM } from '../chain-index/terms.ts';

export interface PruneRange {
  /** Unix seconds; what was indexed in that second stays. */
  readonly indexedBefore: number;
  readonly minHeight: number;
  readonly maxHeight: number;
}

export interface PruneStatus {
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

export class Pruning {
  readonly #index: SqlGatewayIndex;
  readonly #log: Logger;
  #status: PruneStatus = { status: 'not_started' };
  #running: Promise<number> | undefined;
  #stopped = false;

  constructor(index: SqlGatewayIndex, log: Logger) {
    this.#index = index;
    this.#log = log;
  }

  get status(): PruneStatus {
    return this.#status;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Answers how many items were removed. One at a time. */
  run(range: PruneRange): Promise<number> {
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

  /** Ends after the batch at hand. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running?.catch(() => undefined);
  }

  async #prune(asked: PruneRange): Promise<number> {
    const { sql, stableHeight } = this.#index;
    const range = { ...asked, maxHeight: Math.min(asked.maxHeight, stableHeight) };
    let status: PruneStatus & { examined: number; pruned: number } = {
      status: 'running',
      indexedAtThreshold: asked.indexedBefore,
      startHeight: range.minHeight,
      endHeight: range.maxHeight,
      examined: 0,
      pruned: 0,
    };
    this.#status = status;
    try {
      status = { ...status, candidates: await this.#candidates(asked.indexedBefore) };
      let after: Cursor | undefined = { pos: -1, tie: -1, record: -1 };
      while (after !== undefined) {
        if (this.#stopped) throw new Error('the gateway is stopping');
        const batch = await dropStableItems(sql, range, after);
        after = batch.next;
        if (batch.dropped > 0) this.#index.prunes += 1;
        status = {
          ...status,
          examined: status.examined + batch.looked,
          pruned: status.pruned + batch.dropped,
        };
        this.#status = status;
        await turn();
      }
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

  async #candidates(before: number): Promise<number> {
    const row = await this.#index.sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM postings WHERE term = ? AND pos < ?',
      INGESTED_TERM,
      before,
    );
    return row?.n ?? 0;
  }
}
