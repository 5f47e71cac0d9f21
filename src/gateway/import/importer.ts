/**
 * Follows the chain: imports the blocks that nodes agree on, takes back what a fork replaced, fills holes, and never
 * stops for good. One process at a time imports into a database (see `Lease`); the others see what it wrote.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { RunRecord, type RunReport } from '../../kernel/background/run-record.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { NodePool } from '../../outside/arweave/node-pool.ts';
import { Lease, LostLease } from '../../storage/sql/lease.ts';
import { deleteBlocksAbove, highestHole } from '../chain-index/blocks.ts';
import type { BlockSummary } from '../chain-index/gateway-index.ts';
import { firstPos, PENDING_POS } from '../chain-index/order.ts';
import type { Header } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { CHAIN_TERM } from '../chain-index/terms.ts';
import { UpstreamError } from '../errors.ts';
import { movedHeight } from '../history/ledger.ts';
import { FetchAhead } from './fetch-ahead.ts';
import { type FetchedBlock, fetchBlock, fetchTransaction } from './fetch-block.ts';
import type { ImportMetrics } from './metrics.ts';
import { isOtherChain } from './other-chain.ts';
import { readTransaction } from './queue-bundle.ts';
import { type BlockTransactions, type BlockWriterOptions, fitsBehind, writeBlocks } from './write-block.ts';

export interface ImporterOptions extends Omit<BlockWriterOptions, 'fence'> {
  readonly index: SqlGatewayIndex;
  readonly nodes: NodePool;
  readonly log: Logger;
  readonly metrics: ImportMetrics;
  readonly startHeight: number;
  readonly stopHeight: number | undefined;
  readonly pollMs: number;
  readonly maxForkDepth: number;
  /** Called when a block was added at the head of the chain. */
  readonly onBlock: () => void;
  /** Called where the chain is another one than was indexed; undefined where that is never believed. */
  readonly onOtherChain: (() => void) | undefined;
}

/** Blocks fetched ahead of the one that is written. */
const window = 32;
const errorDelayMs = 1_000;
/** After a process died, another imports within this. */
export const importLease = { table: 'leases', name: 'importer', leaseMs: 10_000 } as const;
/** How often a process that does not import looks whether it is its turn. */
const followerMs = 2_000;
const failuresToGoOn = 5;
/** How often a complete index is looked through for holes. */
const holesEveryMs = 600_000;
/** Behind the chain for so long without a new block, something is wrong. */
const stuckMs = 300_000;
const progressEveryMs = 10_000;

export class Importer {
  readonly #options: ImporterOptions;
  /** A round may import for days; `trouble` tells whether it gets on. */
  readonly #rounds = new RunRecord({ name: 'import blocks', stuckAfterMs: Number.POSITIVE_INFINITY });
  readonly #lease: Lease;
  readonly #stopping = new AbortController();
  readonly #fence: BlockWriterOptions['fence'];
  #loop: Promise<void> = Promise.resolve();
  #trouble: string | undefined;
  #isImporting = false;
  /** Blocks taken back since the last one was imported. */
  #rewound = 0;
  #loggedAt = 0;
  #importedSince = 0;
  #cleaned = false;
  /** Something may be left of a block whose row was not written. */
  #hasTail = true;
  /** Rounds that failed since a block was imported. */
  #failures = 0;
  #holesCheckedAt = 0;
  /** When the import last got on, or had nothing to get on to. */
  #advancedAt = performance.now();
  /** Ends the pause between two rounds; aborted: there is none. */
  #pause = new AbortController();

  constructor(options: ImporterOptions) {
    this.#options = options;
    this.#lease = new Lease(options.index.sql, importLease);
    this.#fence = (tx) => this.#lease.fence(tx);
  }

  /** Why the import does not get on, where it does not. */
  get trouble(): string | undefined {
    const behind = this.#target - this.#next + 1;
    const idleMs = performance.now() - this.#advancedAt;
    if (this.#trouble === undefined && behind > 0 && idleMs > stuckMs) {
      return `No block imported for ${Math.round(idleMs / 1_000)} seconds, ${behind} behind.`;
    }
    return this.#trouble;
  }

  /** This process is the one that imports. */
  get isImporting(): boolean {
    return this.#isImporting;
  }

  start(): void {
    this.#loop = this.#run();
  }

  reports(): readonly RunReport[] {
    return [this.#rounds.report()];
  }

  /** Looks at the chain at once, for somebody who knows that it has grown. */
  wake(): void {
    this.#pause.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the gateway is stopping'));
    await this.#loop;
    // A database that is away keeps nobody from stopping: the lease ends by itself.
    await this.#lease.release().catch(() => {});
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { log, metrics, nodes, pollMs } = this.#options;
    while (!signal.aborted) {
      // Made before the chain is looked at: who wakes us meanwhile is not missed.
      this.#pause = new AbortController();
      let pause = pollMs;
      this.#rounds.began();
      try {
        this.#isImporting = await this.#lease.hold();
        metrics.running.set(this.#isImporting ? 1 : 0);
        if (this.#isImporting) {
          await this.#follow();
        } else {
          this.#cleaned = false;
          this.#advancedAt = performance.now();
          pause = Math.max(pause, followerMs);
          // The one that imports asks them for blocks; here they serve content, and are back as soon as they answer.
          if (!nodes.status.every(({ healthy }) => healthy)) await nodes.check();
        }
        if (!(this.#trouble?.startsWith('Fork') ?? false)) this.#trouble = undefined;
        this.#rounds.ended();
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof LostLease) {
          this.#isImporting = false;
          log.warn('another process imports now: this one had been silent for too long');
          continue;
        }
        metrics.errors.inc();
        this.#failures += 1;
        this.#rounds.failed(error);
        this.#trouble = `Import failed: ${messageOf(error)}.`;
        // An outage is told once by the nodes' health check; anything else is ours to explain.
        if (!(error instanceof UpstreamError)) log.error({ err: error }, 'the importer failed, it goes on');
        pause = Math.max(pause, errorDelayMs);
      }
      const woken = AbortSignal.any([signal, this.#pause.signal]);
      await sleep(pause, undefined, { signal: woken }).catch(() => {});
    }
    this.#options.metrics.running.set(0);
  }

  /** The next block to import. */
  get #next(): number {
    const { index, startHeight } = this.#options;
    return index.height < 0 ? startHeight : index.height + 1;
  }

  /** The newest block to import, as far as nodes tell; -1 where none does. */
  get #target(): number {
    const { nodes, stopHeight = Number.POSITIVE_INFINITY } = this.#options;
    return Math.min(nodes.height, stopHeight);
  }

  /** One round: look where the chain is, take back, import what is new, fill what is missing. */
  async #follow(): Promise<void> {
    const { nodes, index } = this.#options;
    if (!this.#cleaned) await this.#finishInterrupted();
    await nodes.check();
    const { head } = nodes;
    const target = this.#target;
    if (this.#next > target) this.#advancedAt = performance.now();
    if (head === undefined) return;
    await index.refresh();
    if (await this.#isForked(head)) await this.#takeBack(index.height);
    let next = this.#next;
    if (next > target) await this.#dropTail();
    let ahead = this.#ahead();
    const fetchFrom = (first: number) => {
      for (let height = first; height <= Math.min(target, first + window - 1); height += 1)
        ahead.fetch(height);
    };
    try {
      while (next <= target && !this.#stopping.signal.aborted) {
        if (!(await this.#lease.hold())) return;
        fetchFrom(next);
        const fetched = await ahead.take(next);
        if (fetched === undefined) return;
        if (!(await this.#continues(fetched.block))) {
          // What was fetched ahead may belong to the branch that lost.
          ahead.stop();
          ahead = this.#ahead();
          if (!(await this.#takeBack(next - 1))) return;
          next = this.#next;
          continue;
        }
        if (this.#hasTail && !(await isBeginOf(index, fetched.block))) await this.#dropTail();
        const blocks = ahead.takeBehind([fetched], fitsBehind);
        next += blocks.length;
        // Nodes are asked while the database writes.
        fetchFrom(next);
        this.#hasTail = true;
        await this.#write(blocks, true);
        this.#hasTail = false;
      }
    } finally {
      ahead.stop();
    }
    await this.#backfill();
  }

  #ahead(): FetchAhead {
    return new FetchAhead((height, signal) => this.#fetch(height, signal), this.#stopping.signal);
  }

  /** After a crash there may be items that are not where their bundle is, and a tail of another process. */
  async #finishInterrupted(): Promise<void> {
    const { index } = this.#options;
    while (await index.writer.reposition(index.sql));
    this.#hasTail = true;
    this.#cleaned = true;
  }

  /** Takes records out of the chain that are above its newest block: what a crash left, of a block that is not the next. */
  async #dropTail(): Promise<void> {
    const { index } = this.#options;
    if (!this.#hasTail) return;
    while (await index.writer.unmine(index.sql, index.height, this.#fence));
    while (await index.writer.reposition(index.sql));
    this.#hasTail = false;
  }

  /** True when the chain's head is at or below ours and is not our block of that height. */
  async #isForked(head: { height: number; id: string }): Promise<boolean> {
    const { index } = this.#options;
    if (head.height > index.height || index.height < 0) return false;
    const ours = await index.blockAt(head.height);
    return ours !== undefined && ours.id !== head.id;
  }

  async #continues(block: FetchedBlock): Promise<boolean> {
    const below = await this.#options.index.blockAt(block.height - 1);
    // Where nothing is imported there is nothing to compare with.
    if (below === undefined) return this.#options.index.height < 0;
    return below.id === block.previous.toString('base64url');
  }

  /** Takes the block at a height and all above out of the chain; false when that is more than we may. */
  async #takeBack(height: number): Promise<boolean> {
    const { index, nodes, maxForkDepth, log, metrics, onOtherChain } = this.#options;
    if (onOtherChain !== undefined && (await isOtherChain(index.sql, nodes, this.#stopping.signal))) {
      this.#trouble = 'Fork down to the first block: the chain of the nodes is another one.';
      onOtherChain();
      return false;
    }
    const moved = await movedHeight(index.sql);
    if (height <= moved) {
      const trouble = `Fork at height ${height}: items up to height ${moved} were moved to the history, which no fork may reach.`;
      if (this.#trouble !== trouble)
        log.error({ height, moved }, 'a fork reaches what was moved to the history');
      this.#trouble = trouble;
      return false;
    }
    const blocks = index.height - height + 1;
    if (this.#rewound + blocks > maxForkDepth) {
      const trouble = `Fork deeper than ${maxForkDepth} blocks at height ${height}: raise GATEWAY_MAX_FORK_DEPTH to follow it.`;
      // Told once; it is looked at again with every round.
      if (this.#trouble !== trouble) {
        log.error({ height, maxForkDepth }, 'a fork is deeper than the importer may follow');
      }
      this.#trouble = trouble;
      return false;
    }
    this.#rewound += blocks;
    metrics.forks.inc();
    metrics.lastForkDepth.set(this.#rewound);
    log.warn({ height, depth: this.#rewound }, 'fork: taking blocks back');
    await index.sql.transaction(async (tx) => {
      await this.#fence(tx);
      const events = index.writer.newEvents();
      await deleteBlocksAbove(tx, height - 1, events);
      await events.append(tx);
    });
    while (await index.writer.unmine(index.sql, height - 1, this.#fence));
    this.#hasTail = false;
    await index.refresh();
    return true;
  }

  async #fetch(height: number, signal: AbortSignal): Promise<BlockTransactions | undefined> {
    const { nodes, metrics } = this.#options;
    const block = await fetchBlock(nodes, height, signal);
    if (block === undefined) return undefined;
    const headers = new Map<string, Header>();
    await Promise.all(
      block.txs.map(async (id) => {
        const header = await this.#fetchHeader(id, signal);
        if (header === undefined) metrics.missing.inc();
        else headers.set(id, header);
      }),
    );
    return { block, headers };
  }

  /**
   * An outage fails the block, which is tried again; one transaction that always fails must not hold the chain. What no
   * node gives may be known since it waited to be mined.
   */
  async #fetchHeader(id: string, signal: AbortSignal): Promise<Header | undefined> {
    const { nodes, index } = this.#options;
    const given = await fetchTransaction(nodes, id, 'tx', { signal, lane: 'import' }).catch(
      (error: unknown) => {
        if (error instanceof UpstreamError && this.#failures >= failuresToGoOn) return undefined;
        throw error;
      },
    );
    return given ?? readTransaction(index, id);
  }

  /** One block, or several that are written together. */
  async #write(blocks: readonly BlockTransactions[], isHead: boolean): Promise<void> {
    const { index, metrics, queue } = this.#options;
    const anyQueued = await writeBlocks({ ...this.#options, fence: this.#fence }, blocks, { isHead });
    const height = blocks.at(-1)?.block.height ?? 0;
    if (isHead) {
      this.#rewound = 0;
      this.#failures = 0;
      this.#advancedAt = performance.now();
      this.#trouble = undefined;
      metrics.height.set(height);
      this.#options.onBlock();
    }
    metrics.blocks.inc(blocks.length);
    for (const { headers } of blocks) metrics.transactions.inc(headers.size);
    await index.refresh();
    if (anyQueued) queue.notify();
    this.#progress(blocks.length, height);
  }

  #progress(blocks: number, height: number): void {
    const { log, nodes } = this.#options;
    this.#importedSince += blocks;
    const now = performance.now();
    if (this.#loggedAt === 0) this.#loggedAt = now;
    const elapsed = now - this.#loggedAt;
    if (elapsed < progressEveryMs) return;
    const perSecond = Math.round((this.#importedSince / elapsed) * 10_000) / 10;
    log.info({ height, of: nodes.height, blocksPerSecond: perSecond }, 'importing blocks');
    this.#loggedAt = now;
    this.#importedSince = 0;
  }

  /** Fills one stretch of missing heights below what is imported, from its upper end down. */
  async #backfill(): Promise<void> {
    const { index, startHeight, log } = this.#options;
    if (this.#holesCheckedAt > 0 && performance.now() - this.#holesCheckedAt < holesEveryMs) return;
    const hole = await highestHole(index.sql, startHeight);
    if (hole === undefined) {
      this.#holesCheckedAt = performance.now();
      return;
    }
    let above: BlockSummary | undefined = await index.blockAt(hole.max + 1);
    const from = Math.max(hole.min, hole.max - window + 1);
    const ahead = this.#ahead();
    try {
      for (let height = hole.max; height >= from; height -= 1) ahead.fetch(height);
      for (let height = hole.max; height >= from; height -= 1) {
        const fetched = await ahead.take(height);
        if (fetched === undefined || this.#stopping.signal.aborted) return;
        if (above !== undefined && above.previous !== fetched.block.id.toString('base64url')) {
          log.error({ height }, 'a block from before does not fit the one above it');
          this.#trouble = `Fork below height ${above.height}: the chain of the nodes is another one.`;
          return;
        }
        await this.#write([fetched], false);
        above = await index.blockAt(height);
      }
    } finally {
      ahead.stop();
    }
  }
}

/**
 * Are all records above the newest block of this very block, where it has them? It is then written to its end, and nobody
 * is told that it was taken back. A bundle's items lie where the bundle does.
 */
async function isBeginOf(index: SqlGatewayIndex, block: FetchedBlock): Promise<boolean> {
  const rows = await index.sql.all<{ id: Buffer; height: number; block_index: number }>(
    `SELECT r.id, r.height, r.block_index FROM postings p JOIN records r ON r.record = p.record
     WHERE p.term = ? AND p.pos >= ? AND p.pos < ?`,
    CHAIN_TERM,
    firstPos(index.height + 1),
    PENDING_POS,
  );
  return rows.every(
    ({ id, height, block_index }) =>
      height === block.height && block.txs[block_index] === id.toString('base64url'),
  );
}
