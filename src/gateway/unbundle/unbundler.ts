/**
 * Works the bundle queue: opens a bundle's bytes, reads its items, writes those that the index filter lets through,
 * and queues the bundles among them. Several gateways may work one queue.
 */

import { randomUUID } from 'node:crypto';
import { RunRecord, type RunReport } from '../../kernel/background/run-record.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Pool } from '../../kernel/pool/pool.ts';
import { traced } from '../../kernel/tracing/tracing.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { ByteSource } from '../chain/byte-source.ts';
import { whileNothingMoves } from '../chain-index/history.ts';
import { WRITE_BATCH } from '../chain-index/posting-changes.ts';
import type { Entry, Prepared } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { minedOf, type PlaceRow, placeColumns } from '../chain-index/writer.ts';
import type { Predicate } from '../filters/match.ts';
import { isBundle, subjectOf } from './bundle-tags.ts';
import { type BundleQueue, type Claimed, ranks, type Unbundled } from './queue.ts';
import { BadBundle, type ReadItem, readBundle, type UnbundleTasks } from './read-bundle.ts';

export interface UnbundlerOptions {
  readonly index: SqlGatewayIndex;
  readonly queue: BundleQueue;
  readonly bytes: ByteSource;
  readonly pool: Pool<UnbundleTasks>;
  readonly log: Logger;
  readonly filters: { readonly unbundle: Predicate; readonly index: Predicate };
  readonly workers: number;
  /** What other processes queued is noticed within this. */
  readonly pollMs: number;
  readonly maxDepth: number;
  readonly events: UnbundlerEvents;
  /** Makes the header of a transaction known that the index does not have; false when the chain has none. */
  readonly fetchTransaction: (id: string) => Promise<boolean>;
}

export interface UnbundlerEvents {
  readonly items: (indexed: number, bytes: number) => void;
  readonly unbundled: (result: Unbundled) => void;
  readonly failed: () => void;
}

/** The id has no bytes that anyone can give us at the moment. */
class NoBytes extends Error {
  override readonly name = 'NoBytes';
}

/** The row was given to another worker while we were at it. */
class LostHold extends Error {
  override readonly name = 'LostHold';
}

interface Place {
  readonly root: number;
  readonly rootId: Buffer;
  readonly parent: number;
  readonly parentId: Buffer;
  /** Where the bundle's payload begins in the root's data. */
  readonly parentOffset: number;
  readonly size: number;
}

const holdEveryMs = 5_000;
/** On SQLite a batch is written on the event loop; of PostgreSQL every question is answered by another process. */
const batchItems = { sqlite: WRITE_BATCH, postgres: 4 * WRITE_BATCH };

export class Unbundler {
  readonly #options: UnbundlerOptions;
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];
  /** Of each loop; a large bundle takes as long as it takes. */
  readonly #rounds: RunRecord[] = [];

  constructor(options: UnbundlerOptions) {
    this.#options = options;
  }

  start(): void {
    for (let worker = 1; worker <= this.#options.workers; worker += 1) {
      const rounds = new RunRecord({ name: `unbundle ${worker}`, stuckAfterMs: Number.POSITIVE_INFINITY });
      this.#rounds.push(rounds);
      this.#loops.push(this.#work(rounds));
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the gateway is stopping'));
    this.#options.queue.wake();
    await Promise.all(this.#loops);
  }

  reports(): readonly RunReport[] {
    return this.#rounds.map((rounds) => rounds.report());
  }

  async #work(rounds: RunRecord): Promise<void> {
    const holder = randomUUID();
    const { queue, log } = this.#options;
    while (!this.#stopping.signal.aborted) {
      try {
        const claimed = await queue.claim(holder);
        if (claimed === undefined) {
          // The queue can be read again: what failed before is over, though there may be no bundle for hours.
          rounds.forgive();
          await this.#idle();
          continue;
        }
        rounds.began();
        await this.#take(claimed, holder);
        rounds.ended();
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        rounds.failed(error);
        log.error({ err: error }, 'the bundle queue failed');
        await this.#idle();
      }
    }
  }

  async #idle(): Promise<void> {
    if (!this.#stopping.signal.aborted) await this.#options.queue.waitForWork(this.#options.pollMs);
  }

  async #take(claimed: Claimed, holder: string): Promise<void> {
    const { queue, log, events } = this.#options;
    const id = claimed.id.toString('base64url');
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, lost.signal]);
    const holding = setInterval(() => {
      queue.hold(claimed.id, holder).then(
        (held) => held || lost.abort(new LostHold()),
        (error: unknown) => log.warn({ err: error, bundle: id }, 'a bundle could not be held'),
      );
    }, holdEveryMs);
    try {
      const started = performance.now();
      const result = await traced(
        'unbundle',
        () => ({ 'turnpike.bundle.id': id, 'turnpike.bundle.depth': claimed.depth }),
        async (span) => {
          const read = await this.#read(claimed, signal);
          span?.setAttributes({
            'turnpike.bundle.items': read.itemCount,
            'turnpike.bundle.matched': read.matchedCount,
          });
          return read;
        },
      );
      await queue.finish(claimed.id, holder, result);
      events.unbundled(result);
      log.info({ bundle: id, ...result, ms: Math.round(performance.now() - started) }, 'bundle indexed');
    } catch (error) {
      if (this.#stopping.signal.aborted || error instanceof LostHold) return;
      events.failed();
      const mayRetry = !(error instanceof BadBundle);
      log.warn({ bundle: id, err: error, retries: claimed.retry_attempt_count, mayRetry }, 'bundle not read');
      await queue.fail(claimed, holder, messageOf(error), mayRetry);
    } finally {
      clearInterval(holding);
    }
  }

  async #read(claimed: Claimed, signal: AbortSignal): Promise<Unbundled> {
    const { index, bytes, pool } = this.#options;
    const id = claimed.id.toString('base64url');
    const place = await this.#placeOf(claimed.id);
    const opened = await bytes.stream(id, undefined, signal);
    if (opened === undefined) throw new NoBytes('no source has the bytes');
    let matchedCount = 0;
    const summary = await readBundle(opened.stream, {
      pool,
      size: place.size,
      batchItems: batchItems[index.sql.engine],
      items: async (items) => {
        signal.throwIfAborted();
        const matched = await this.#write(place, claimed, items);
        matchedCount += matched;
      },
    });
    if (opened.proven) await index.noteVerified(id, summary.hash.toString('base64url'), true);
    return {
      itemCount: summary.itemCount,
      matchedCount,
      duplicatedCount: summary.duplicatedCount,
      invalidCount: summary.invalidCount,
      remark: summary.remark,
    };
  }

  async #placeOf(id: Buffer): Promise<Place> {
    const { index, fetchTransaction } = this.#options;
    const find = () =>
      index.sql.get<{
        record: number;
        kind: number;
        data_size: number;
        root: number | null;
        root_id: Buffer | null;
        parent_offset: number | null;
        data_offset: number | null;
      }>(
        `SELECT r.record, r.kind, r.data_size, r.root, root.id AS root_id, r.parent_offset, r.data_offset
         FROM records r LEFT JOIN records root ON root.record = r.root WHERE r.id = ?`,
        id,
      );
    let row = await find();
    if (row === undefined && (await fetchTransaction(id.toString('base64url')))) row = await find();
    if (row === undefined) throw new NoBytes('the chain does not have it');
    const base = { parent: row.record, parentId: id, size: row.data_size };
    if (row.kind === 0) return { ...base, root: row.record, rootId: id, parentOffset: 0 };
    if (row.root === null || row.root_id === null) throw new NoBytes('its own bundle was not read yet');
    const parentOffset = (row.parent_offset ?? 0) + (row.data_offset ?? 0);
    return { ...base, root: row.root, rootId: row.root_id, parentOffset };
  }

  /** Writes the items that the filter lets through, and queues the bundles among them; answers how many. */
  async #write(place: Place, { depth, again }: Claimed, items: readonly ReadItem[]): Promise<number> {
    const { index, queue, maxDepth, events, filters } = this.#options;
    const parent = place.parentId.toString('base64url');
    const root = place.rootId.toString('base64url');
    const matched = items.filter((item) => filters.index(subjectOf(item.header, parent, root)));
    if (matched.length === 0) return 0;
    const nested = matched.filter((item) => depth < maxDepth && isBundle(item.header.tags));
    const write = async (tx: SqlExecutor, prepared: readonly Prepared[]) => {
      // A fork may move the root while its items are written: they go where it is now.
      const row = await tx.get<PlaceRow>(
        `SELECT ${placeColumns('records')} FROM records WHERE record = ? ${tx.forUpdate === '' ? '' : 'FOR SHARE'}`,
        place.root,
      );
      const mined = row === undefined ? undefined : minedOf(row);
      await index.writer.put(
        tx,
        prepared.map((one) => ({ ...one, entry: { ...one.entry, mined } })),
      );
      let queued = false;
      for (const { header } of nested) {
        const matches = filters.unbundle(subjectOf(header, parent, root));
        const added = await queue.add(tx, {
          id: header.id,
          root: place.rootId,
          depth: depth + 1,
          height: row?.height ?? null,
          rank: ranks.nested,
          matches,
          bypass: false,
          again: again === 1,
        });
        queued ||= added;
      }
      return queued;
    };
    const queued = await whileNothingMoves(async () => {
      const prepared = await index.writer.prepare(matched.map((item) => entryOf(item, place)));
      return index.sql.transaction((tx) => write(tx, prepared));
    });
    if (queued) queue.wake();
    events.items(
      matched.length,
      matched.reduce((sum, item) => sum + item.header.dataSize, 0),
    );
    return matched.length;
  }
}

function entryOf(item: ReadItem, place: Place): Entry {
  return {
    header: item.header,
    mined: undefined,
    placed: {
      root: place.root,
      parent: place.parent,
      parentOffset: place.parentOffset,
      itemOffset: item.itemOffset,
      dataOffset: item.dataOffset,
      itemSize: item.itemSize,
    },
    bundle: place.parentId,
    hash: item.payloadHash,
    verified: true,
  };
}
