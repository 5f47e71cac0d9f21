/**
 * What happens beside the import of blocks: looking into the mempool, fetching transactions that were missing,
 * forgetting what was never mined. Each on its own interval, none able to stop the others.
 */
import { LRUCache } from 'lru-cache';
import { isTxId } from '../../formats/base64url.ts';
import type { Logger } from '../../kernel/log.ts';
import type { NodePool } from '../chain/node-pool.ts';
import { dropPending } from '../chain-index/drop.ts';
import { selectIn } from '../chain-index/rows.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { UpstreamError } from '../errors.ts';
import type { Predicate } from '../filters/match.ts';
import type { BundleQueue } from '../unbundle/queue.ts';
import { fetchTransaction } from './fetch-block.ts';
import { entryOf, queueBundle } from './write-block.ts';

export interface SideWorkOptions {
  readonly index: SqlGatewayIndex;
  readonly nodes: NodePool;
  readonly queue: BundleQueue;
  readonly unbundles: Predicate;
  readonly log: Logger;
  /** undefined = the mempool is not watched. */
  readonly mempoolMs: number | undefined;
  readonly missingMs: number;
  readonly pendingTtlSeconds: number;
  readonly queued: () => void;
}

const missingPerRound = 20;
const expiryMs = 60_000;
/** Pending transactions looked at in one round. */
const mempoolPerRound = 500;

export class SideWork {
  readonly #options: SideWorkOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** Ids that were looked at and led to nothing; not asked for again for a while. */
  readonly #refused = new LRUCache<string, true>({ max: 10_000, ttl: 600_000 });

  constructor(options: SideWorkOptions) {
    this.#options = options;
  }

  start(): void {
    const { mempoolMs, missingMs } = this.#options;
    if (mempoolMs !== undefined) this.#every(mempoolMs, 'the mempool', () => this.watchMempool());
    this.#every(missingMs, 'missing transactions', () => this.fetchMissing());
    this.#every(expiryMs, 'old pending transactions', () => this.forgetOld());
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the gateway is stopping'));
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#running);
  }

  #every(ms: number, what: string, work: () => Promise<void>): void {
    let busy = false;
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      const round = work()
        .catch((error: unknown) => {
          if (error instanceof UpstreamError || this.#stopping.signal.aborted) return;
          this.#options.log.warn({ err: error }, `${what} could not be looked after`);
        })
        .finally(() => {
          busy = false;
          this.#running.delete(round);
        });
      this.#running.add(round);
    }, ms);
    timer.unref();
    this.#timers.push(timer);
  }

  async watchMempool(): Promise<void> {
    const { nodes, index } = this.#options;
    const { signal } = this.#stopping;
    const answer = await nodes.get('/tx/pending', { signal, retryOn: [], lane: 'import' });
    const listed: unknown = answer.status === 200 ? JSON.parse(answer.body.toString('utf8')) : [];
    if (!Array.isArray(listed)) return;
    const ids = listed
      .filter((id): id is string => typeof id === 'string' && isTxId(id) && !this.#refused.has(id))
      .slice(0, mempoolPerRound);
    const rows = await selectIn<{ id: Buffer }>(
      index.sql,
      'SELECT id FROM records WHERE id IN ({in})',
      ids.map((id) => Buffer.from(id, 'base64url')),
    );
    const known = new Set(rows.map((row) => row.id.toString('base64url')));
    for (const id of ids) {
      if (known.has(id)) continue;
      signal.throwIfAborted();
      const header = await fetchTransaction(nodes, id, 'unconfirmed_tx', { signal, lane: 'import' });
      if (header === undefined) {
        this.#refused.set(id, true);
        continue;
      }
      const prepared = await index.writer.prepare([entryOf(header, undefined)]);
      await index.sql.transaction((tx) => index.writer.put(tx, prepared));
    }
  }

  /** Transactions that their block lists and no node gave; tried again with growing pauses. */
  async fetchMissing(): Promise<void> {
    const { index, nodes, queue, unbundles } = this.#options;
    const { signal } = this.#stopping;
    const now = Math.floor(Date.now() / 1000);
    const due = await index.sql.all<{ id: Buffer; height: number; block_index: number; attempts: number }>(
      `SELECT id, height, block_index, attempts FROM missing_transactions WHERE next_try_at <= ?
       ORDER BY next_try_at LIMIT ?`,
      now,
      missingPerRound,
    );
    for (const row of due) {
      const header = await fetchTransaction(nodes, row.id.toString('base64url'), 'tx', {
        signal,
        lane: 'import',
      }).catch((error: unknown) => {
        if (error instanceof UpstreamError) return undefined;
        throw error;
      });
      if (header === undefined) {
        await index.sql.run(
          'UPDATE missing_transactions SET attempts = attempts + 1, next_try_at = ? WHERE id = ?',
          now + Math.min(3_600, 5 * 2 ** Math.min(row.attempts, 16)),
          row.id,
        );
        continue;
      }
      const prepared = await index.writer.prepare([
        entryOf(header, { height: row.height, blockIndex: row.block_index }),
      ]);
      const queued = await index.sql.transaction(async (tx) => {
        // A fork may have taken the block away since.
        const removed = await tx.run(
          'DELETE FROM missing_transactions WHERE id = ? AND height = ?',
          row.id,
          row.height,
        );
        if (removed === 0) return false;
        await index.writer.put(tx, prepared);
        return queueBundle(tx, queue, unbundles, header);
      });
      if (queued) this.#options.queued();
      while (await index.writer.reposition(index.sql));
    }
  }

  /** Counted from the chain's own time: while no block comes, nothing grows old. */
  async forgetOld(): Promise<void> {
    const { index, pendingTtlSeconds } = this.#options;
    const head = index.height < 0 ? undefined : await index.blockAt(index.height);
    if (head === undefined) return;
    const before = Math.min(head.timestamp, Math.floor(Date.now() / 1000)) - pendingTtlSeconds;
    if (before <= 0) return;
    while ((await dropPending(index.sql, before)) > 0) this.#stopping.signal.throwIfAborted();
  }
}
