/**
 * Jobs beside the import of blocks: reading the mempool, fetching transactions that were missing, dropping what was
 * never mined. Each has its own interval, and none can hold up the others.
 */
import { LRUCache } from 'lru-cache';
import { isTxId } from '../../formats/base64url.ts';
import { atMost } from '../../kernel/at-most.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { createJob, type Job } from '../../kernel/background/job.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import type { Logger } from '../../kernel/log.ts';
import type { NodePool } from '../../outside/arweave/node-pool.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import { selectIn } from '../../storage/sql/many-rows.ts';
import { dropPending } from '../chain-index/drop.ts';
import type { Header } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { minedOf, type PlaceRow, placeColumns } from '../chain-index/writer.ts';
import { UpstreamError } from '../errors.ts';
import { fetchTransaction } from './fetch-block.ts';
import { indexHeader } from './pending.ts';
import { type BundleIntake, queueBundle, readTransaction } from './queue-bundle.ts';
import { entryOf } from './write-block.ts';

export interface SideJobsOptions extends BundleIntake {
  readonly index: SqlGatewayIndex;
  readonly nodes: NodePool;
  readonly log: Logger;
  /** undefined = the mempool is not watched. */
  readonly mempoolMs: number | undefined;
  readonly missingMs: number;
  readonly pendingTtlSeconds: number;
  /** Of the processes that share a database one does them. */
  readonly isOurTurn: () => boolean;
}

interface MissingRow extends PlaceRow {
  readonly id: Buffer;
  readonly height: number;
  readonly attempts: number;
}

const missingPerRound = 20;
const missingBackoff = { firstMs: 5_000, longestMs: 3_600_000 };
const expiryMs = 60_000;
/** Pending transactions fetched in one round. */
const mempoolPerRound = 500;

export class SideJobs implements Job {
  readonly #options: SideJobsOptions;
  readonly #jobs: readonly Job[];
  readonly #stopping = new AbortController();
  /** Ids of the mempool that no node gave a right transaction for; not asked for again for a while. */
  readonly #refused = new LRUCache<string, true>({ ...atMost(10_000), ttl: 600_000 });

  constructor(options: SideJobsOptions) {
    this.#options = options;
    this.#jobs = [
      this.#job('read the mempool', options.mempoolMs ?? 0, () => this.#readMempool()),
      this.#job('fetch missing transactions', options.missingMs, () => this.#fetchMissing()),
      this.#job('drop old pending transactions', expiryMs, () => this.#dropOld()),
    ];
  }

  start(): void {
    for (const job of this.#jobs) job.start();
  }

  reports(): readonly RunReport[] {
    return this.#jobs.flatMap((job) => job.reports());
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the gateway is stopping'));
    await Promise.all(this.#jobs.map((job) => job.stop()));
  }

  /** Nodes that cannot be asked are reported by their health check. */
  #job(name: string, everyMs: number, work: () => Promise<void>): Job {
    const run = async (): Promise<void> => {
      if (!this.#options.isOurTurn()) return;
      await work().catch((error: unknown) => {
        if (!(error instanceof UpstreamError) && !this.#stopping.signal.aborted) throw error;
      });
    };
    return createJob({ name, everyMs, log: this.#options.log, run });
  }

  async #readMempool(): Promise<void> {
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
      await indexHeader(index, header);
    }
  }

  /** Transactions that their block lists and no node gave; tried again with growing pauses, or when they are known. */
  async #fetchMissing(): Promise<void> {
    const { index, nodes, queue } = this.#options;
    const { signal } = this.#stopping;
    const now = Math.floor(Date.now() / 1000);
    const due = await index.sql.all<MissingRow>(
      `SELECT m.id, m.attempts, ${placeColumns('m')} FROM missing_transactions m WHERE ${isDue('next_try_at')}
       ORDER BY next_try_at LIMIT ?`,
      ...dueBounds(now, missingBackoff.longestMs / 1_000),
      missingPerRound,
    );
    const fetch = (id: string): Promise<Header | undefined> =>
      fetchTransaction(nodes, id, 'tx', { signal, lane: 'import' }).catch((error: unknown) => {
        if (error instanceof UpstreamError) return undefined;
        throw error;
      });
    for (const row of due) {
      const id = row.id.toString('base64url');
      const header = (await readTransaction(index, id)) ?? (await fetch(id));
      if (header === undefined) {
        await index.sql.run(
          'UPDATE missing_transactions SET attempts = attempts + 1, next_try_at = ? WHERE id = ?',
          now + backoffMs(missingBackoff, row.attempts + 1) / 1_000,
          row.id,
        );
        continue;
      }
      const prepared = await index.writer.prepare([entryOf(header, minedOf(row))]);
      const queued = await index.sql.transaction(async (tx) => {
        // A fork may have taken the block away since.
        const removed = await tx.run(
          'DELETE FROM missing_transactions WHERE id = ? AND height = ?',
          row.id,
          row.height,
        );
        if (removed === 0) return false;
        await index.writer.put(tx, prepared);
        return queueBundle(tx, this.#options, header, row.height);
      });
      if (queued) queue.notify();
      while (await index.writer.reposition(index.sql));
    }
  }

  /** By the chain's own time: while no block comes, nothing expires. */
  async #dropOld(): Promise<void> {
    const { index, pendingTtlSeconds } = this.#options;
    const head = index.height < 0 ? undefined : await index.blockAt(index.height);
    if (head === undefined) return;
    const before = Math.min(head.timestamp, Math.floor(Date.now() / 1000)) - pendingTtlSeconds;
    if (before <= 0) return;
    while ((await dropPending(index.sql, before)) > 0) this.#stopping.signal.throwIfAborted();
  }
}
