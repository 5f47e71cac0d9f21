/**
 * The durable queue of bundles: one row per bundle that was ever met, which is also the record of what happened
 * to it (interface §2, "Bundle status"). A row that is being worked on is held until a time; when its holder dies,
 * the time passes and someone else takes it.
 */
import { randomInt } from 'node:crypto';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { moveBundles } from '../chain-index/bundle-heights.ts';
import { canonicalFilter, type Filter } from '../filters/filter.ts';

export type BundleState = 'queued' | 'running' | 'unbundled' | 'skipped' | 'failed';

/** Lower comes first. */
export const ranks = { asked: 0, nested: 1, chain: 2 } as const;

export interface NewBundle {
  readonly id: Buffer;
  readonly root: Buffer;
  /** 0 for a chain transaction. */
  readonly depth: number;
  /** Of its root; null while that is not mined, or not known. */
  readonly height: number | null;
  readonly rank: number;
  /** Whether the unbundle filter lets it through; an operator's request always does. */
  readonly matches: boolean;
  readonly bypass: boolean;
  /** To be read again with all that is in it, though it was read under the same filters: records may be gone. */
  readonly again: boolean;
}

export interface Claimed {
  readonly id: Buffer;
  readonly root: Buffer;
  readonly depth: number;
  readonly bypass: number;
  readonly again: number;
  readonly retry_attempt_count: number;
}

export interface Unbundled {
  readonly itemCount: number;
  readonly matchedCount: number;
  readonly duplicatedCount: number;
  readonly invalidCount: number;
  /** What is odd about the bundle and cost none of its items. */
  readonly remark: string | undefined;
}

/** How long a bundle is held without a sign of life. */
export const holdSeconds = 20;
/** After so many failures a bundle waits for an operator. */
const maxRetries = 24;
const retryBackoff = { firstMs: 4_000, longestMs: 3_600_000 };
/** A pause may be half as long again. */
const longestWaitSeconds = (1.5 * retryBackoff.longestMs) / 1_000;

export interface BundleQueueOptions {
  readonly now?: () => number;
  /** Bundles were queued by others than the unbundler. */
  readonly onQueued?: () => void;
}

export class BundleQueue {
  readonly #sql: Sql;
  readonly #now: () => number;
  readonly #onQueued: () => void;
  readonly #idle = new Set<() => void>();
  #unbundleFilter = 0;
  #indexFilter = 0;

  constructor(sql: Sql, options: BundleQueueOptions = {}) {
    this.#sql = sql;
    this.#now = options.now ?? (() => Math.floor(Date.now() / 1000));
    this.#onQueued = options.onQueued ?? (() => {});
  }

  /** Called after the transaction that added bundles. */
  notify(): void {
    this.#onQueued();
    this.wake();
  }

  /** Idle workers of this process look at once. */
  wake(): void {
    for (const wake of [...this.#idle]) wake();
  }

  /** Resolves when somebody wakes the workers, or after `timeoutMs`. */
  async waitForWork(timeoutMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#idle.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      this.#idle.add(wake);
    });
  }

  /** Writes the filters down; rows refer to them by number. */
  async useFilters(unbundle: Filter, index: Filter): Promise<void> {
    this.#unbundleFilter = await this.#filterNumber(unbundle);
    this.#indexFilter = await this.#filterNumber(index);
  }

  async #filterNumber(filter: Filter): Promise<number> {
    const text = canonicalFilter(filter);
    const read = () => this.#sql.get<{ filter: number }>('SELECT filter FROM filters WHERE text = ?', text);
    // A start writes nothing that is there: it is made on a full disk too.
    const known = await read();
    if (known !== undefined) return known.filter;
    await this.#sql.run('INSERT INTO filters (text) VALUES (?) ON CONFLICT (text) DO NOTHING', text);
    const row = await read();
    if (row === undefined) throw new Error('a filter was not stored');
    return row.filter;
  }

  /**
   * Puts a bundle in the queue, or notes that it is skipped. A bundle that was read already under the same filters
   * stays as it is, unless an operator asks for it, or for a bundle that it lies in; answers whether it is queued now.
   */
  async add(tx: SqlExecutor, bundle: NewBundle): Promise<boolean> {
    const now = this.#now();
    const queued = bundle.matches || bundle.bypass;
    const state: BundleState = queued ? 'queued' : 'skipped';
    const added = await tx.get<{ import_attempt_count: number }>(
      `INSERT INTO bundles (id, root, depth, height, format, state, priority, bypass, again, next_try_at, unbundle_filter,
         index_filter, first_queued_at, last_queued_at, first_skipped_at, last_skipped_at, import_attempt_count,
         retry_attempt_count)
       VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0)
       ON CONFLICT (id) DO UPDATE SET
         height = excluded.height, state = excluded.state, priority = excluded.priority, bypass = excluded.bypass, again = excluded.again,
         next_try_at = excluded.next_try_at, holder = NULL,
         previous_unbundle_filter = CASE WHEN bundles.unbundle_filter <> excluded.unbundle_filter
           THEN bundles.unbundle_filter ELSE bundles.previous_unbundle_filter END,
         previous_index_filter = CASE WHEN bundles.index_filter <> excluded.index_filter
           THEN bundles.index_filter ELSE bundles.previous_index_filter END,
         unbundle_filter = excluded.unbundle_filter, index_filter = excluded.index_filter,
         first_queued_at = coalesce(bundles.first_queued_at, excluded.first_queued_at),
         last_queued_at = coalesce(excluded.last_queued_at, bundles.last_queued_at),
         first_skipped_at = coalesce(bundles.first_skipped_at, excluded.first_skipped_at),
         last_skipped_at = coalesce(excluded.last_skipped_at, bundles.last_skipped_at),
         last_fully_indexed_at = NULL, broken = 0,
         import_attempt_count = bundles.import_attempt_count + 1
       WHERE excluded.bypass = 1 OR (excluded.again = 1 AND excluded.state = 'queued') OR bundles.unbundle_filter <> excluded.unbundle_filter
         OR bundles.index_filter <> excluded.index_filter
       RETURNING import_attempt_count`,
      bundle.id,
      bundle.root,
      bundle.depth,
      bundle.height,
      state,
      bundle.rank,
      bundle.bypass ? 1 : 0,
      bundle.again ? 1 : 0,
      now,
      this.#unbundleFilter,
      this.#indexFilter,
      queued ? now : null,
      queued ? now : null,
      queued ? null : now,
      queued ? null : now,
    );
    // Known before: a fork may have brought it, and those in it, to another height.
    if (added?.import_attempt_count !== 1 && bundle.depth === 0)
      await moveBundles(tx, bundle.id, bundle.height);
    return queued && added !== undefined;
  }

  /** Takes the next bundle that is due; undefined when there is none. */
  async claim(holder: string): Promise<Claimed | undefined> {
    const now = this.#now();
    const bounds = dueBounds(now, longestWaitSeconds);
    // Every process looks every second: a look that finds nothing must not take the write lock.
    const due = await this.#sql.get(
      `SELECT 1 AS due FROM bundles WHERE state IN ('queued', 'running') AND ${isDue('next_try_at')} LIMIT 1`,
      ...bounds,
    );
    if (due === undefined) return undefined;
    return this.#sql.transaction((tx) =>
      tx.get<Claimed>(
        `UPDATE bundles SET state = 'running', holder = ?, next_try_at = ?
         WHERE state IN ('queued', 'running') AND ${isDue('next_try_at')} AND id = (
           SELECT id FROM bundles WHERE state IN ('queued', 'running') AND ${isDue('next_try_at')}
           ORDER BY priority, next_try_at LIMIT 1)
         RETURNING id, root, depth, bypass, again, retry_attempt_count`,
        holder,
        now + holdSeconds,
        ...bounds,
        ...bounds,
      ),
    );
  }

  /** A sign of life; false when the bundle was taken away meanwhile. */
  async hold(id: Buffer, holder: string): Promise<boolean> {
    const held = await this.#sql.run(
      "UPDATE bundles SET next_try_at = ? WHERE id = ? AND holder = ? AND state = 'running'",
      this.#now() + holdSeconds,
      id,
      holder,
    );
    return held > 0;
  }

  /** All items that matched are written. */
  async finish(id: Buffer, holder: string, result: Unbundled): Promise<void> {
    const now = this.#now();
    await this.#sql.run(
      `UPDATE bundles SET state = 'unbundled', holder = NULL, bypass = 0, again = 0, pruned_count = 0, last_error = NULL,
         data_item_count = ?, matched_count = ?, duplicated_count = ?, invalid_count = ?, remark = ?,
         first_unbundled_at = coalesce(first_unbundled_at, ?), last_unbundled_at = ?,
         first_fully_indexed_at = coalesce(first_fully_indexed_at, ?), last_fully_indexed_at = ?
       WHERE id = ? AND holder = ?`,
      result.itemCount,
      result.matchedCount,
      result.duplicatedCount,
      result.invalidCount,
      result.remark ?? null,
      now,
      now,
      now,
      now,
      id,
      holder,
    );
  }

  /** The bundle could not be read: try later, or give it up when that makes no sense. */
  async fail(claimed: Claimed, holder: string, error: string, mayRetry: boolean): Promise<void> {
    const now = this.#now();
    const retries = claimed.retry_attempt_count + 1;
    const again = mayRetry && retries <= maxRetries;
    const delay = backoffMs(retryBackoff, retries) / 1_000;
    await this.#sql.run(
      `UPDATE bundles SET state = ?, holder = NULL, next_try_at = ?, last_error = ?, retry_attempt_count = ?, broken = ?,
         first_retried_at = coalesce(first_retried_at, CAST(? AS BIGINT)),
         last_retried_at = coalesce(CAST(? AS BIGINT), last_retried_at)
       WHERE id = ? AND holder = ?`,
      again ? 'queued' : 'failed',
      now + delay + randomInt(Math.max(1, Math.floor(delay / 2))),
      error.slice(0, 500),
      retries,
      mayRetry ? 0 : 1,
      now,
      now,
      claimed.id,
      holder,
    );
  }

  /** Bundles read or skipped under other filters than today's, for another look. */
  async outdated(limit: number): Promise<{ id: Buffer; root: Buffer; depth: number }[]> {
    return this.#sql.all(
      `SELECT id, root, depth FROM bundles
       WHERE state IN ('skipped', 'unbundled') AND (unbundle_filter <> ? OR index_filter <> ?) LIMIT ?`,
      this.#unbundleFilter,
      this.#indexFilter,
      limit,
    );
  }

  /** Whether a bundle is being read or could be at once; one that failed and waits for its next try is not. */
  async isBusy(): Promise<boolean> {
    const row = await this.#sql.get(
      `SELECT 1 AS busy FROM bundles
       WHERE state = 'running' OR (state = 'queued' AND ${isDue('next_try_at')}) LIMIT 1`,
      ...dueBounds(this.#now(), longestWaitSeconds),
    );
    return row !== undefined;
  }

  async waiting(): Promise<number> {
    const row = await this.#sql.get<{ n: number }>(
      "SELECT count(*) AS n FROM bundles WHERE state = 'queued'",
    );
    return row?.n ?? 0;
  }
}
