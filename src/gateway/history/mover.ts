/**
 * Moves stable data items from SQL to the history, batch after batch (`ledger.ts`). It looks through the index by time of
 * indexing, so that items of a bundle that was read late are met like all others. From time to time it goes back to the
 * first item that was not stable when it was met, and once a day to the beginning. Whatever stays behind in SQL is found
 * there.
 *
 * Stopped anywhere, it goes on from the ledger: what is planned is written again, which leaves equal rows that count once;
 * what is verified is read back again before more is taken out of SQL.
 */
import { createHash, randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '../../kernel/log.ts';
import type { Lease } from '../../storage/sql/lease.ts';
import { selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { type Cursor, fromTheBeginning, removeMoved, stableItems } from '../chain-index/drop.ts';
import { readFinalCursor } from '../chain-index/event-batch.ts';
import { compareKeys, heightOf, type PlaceKey, tieOf } from '../chain-index/order.ts';
import { isPackingDue, packNext } from '../chain-index/places.ts';
import { WRITE_BATCH } from '../chain-index/posting-changes.ts';
import { columnsOf, type RecordRow, recordColumns } from '../chain-index/records.ts';
import type { ClickHouse } from './clickhouse.ts';
import { amongKeys } from './conditions.ts';
import { readExtent } from './extent.ts';
import { encodeBatch, type MovableItem, movable } from './item-rows.ts';
import {
  type Batch,
  newestBatch,
  notePruned,
  noteVerified,
  noteWalk,
  openBatch,
  plan,
  readWalk,
} from './ledger.ts';
import { RowReader, RowWriter } from './row-binary.ts';
import {
  columnNames,
  createStatements,
  ownerTable,
  type Placement,
  type TableName,
  tableNames,
  tableOf,
  tables,
} from './tables.ts';

export interface MoverOptions {
  readonly sql: Sql;
  readonly server: ClickHouse;
  readonly placement: Placement;
  readonly lease: Lease;
  readonly log: Logger;
  /** Items stay in SQL so long after they were indexed, in seconds. */
  readonly afterSeconds: number;
  readonly batchItems: number;
  /** Items that one transaction takes out of SQL. */
  readonly pruneItems?: number;
  readonly now?: () => number;
  /** Heights of a range that somebody still needs in SQL. */
  readonly leftOut?: (range: HeightSpan) => Promise<readonly HeightSpan[]>;
  /** Called after items were taken out of SQL. */
  readonly onMoved?: (items: number) => void;
}

/** Both ends included. */
export interface HeightSpan {
  readonly from: number;
  readonly to: number;
}

/** The history is not what the ledger says it is: an operator has to look. */
export class HistoryDamaged extends Error {
  override readonly name = 'HistoryDamaged';
}

/** Records that one step looks at: a few milliseconds of SQLite. */
const lookedAtOnce = 512;
const sweepSeconds = 86_400;
/** It goes back to what was not stable after a tenth of the time that items stay, and after this at most. */
const longestBack = 300;
const rowsAtOnce = 1_024;
const keysAtOnce = 4_096;

type FullRow = RecordRow & { readonly signature: Buffer | null };

export class Mover {
  readonly #options: MoverOptions;
  readonly #now: () => number;
  #isReady = false;
  /** Where the first item was that is not stable yet, and when it was last gone back to it. */
  #waiting: Cursor | undefined;
  #backAt = 0;

  constructor(options: MoverOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => Math.floor(Date.now() / 1_000));
  }

  /** One batch, or what was left of one; answers whether there may be more to do. False while another process moves. */
  async step(isStopped: () => boolean = () => false): Promise<boolean> {
    const { sql, lease } = this.#options;
    if (!(await lease.renew())) {
      this.#isReady = false;
      return false;
    }
    if (!this.#isReady) await this.#prepare();
    const open = await openBatch(sql);
    if (open !== undefined) {
      await this.#finish(open, isStopped);
      return true;
    }
    return this.#plan(isStopped);
  }

  /** Makes the tables, and takes out what another course of events wrote: batches that the ledger does not know. */
  async #prepare(): Promise<void> {
    const { sql, server, placement, log } = this.#options;
    // On a cluster the operator makes them, on every server (`turnpike history ddl`).
    if (placement.cluster === undefined) {
      for (const statement of createStatements(await server.version(), placement))
        await server.run(statement);
    }
    await this.#checkOwner();
    const newest = await newestBatch(sql);
    let unknown = 0;
    for (const name of tableNames) unknown += await this.#count(name, `batch > ${newest}`);
    if (unknown > 0) {
      // The database was restored, or a failover lost its last transactions: it still has these items, or reads them
      // from the chain again.
      log.warn({ newest }, 'the history has batches that the database does not know; they are removed');
      await this.#delete(`batch > ${newest}`);
    }
    this.#isReady = true;
  }

  /** A history belongs to one database: the numbers in it mean nothing to another. */
  async #checkOwner(): Promise<void> {
    const { sql, server } = this.#options;
    const name = await ownName(sql);
    const owners = new RowReader(await server.selectSlowly(`SELECT DISTINCT name FROM ${ownerTable}`));
    const found: string[] = [];
    while (!owners.isAtEnd) found.push(owners.string().toString('utf8'));
    const { items: moved } = await readExtent(sql);
    if (found.length === 0 && moved === 0) {
      const row = new RowWriter(64);
      row.string(Buffer.from(name));
      await server.insert(ownerTable, ['name'], row.finish());
    } else if (found.length > 0 && !found.includes(name)) {
      throw new HistoryDamaged(
        'INDEX_HISTORY_URL names the history of another index: name a ClickHouse database of its own.',
      );
    }
    const stored = await this.#count('records', '1');
    if (stored < moved) {
      throw new HistoryDamaged(
        `The history has ${stored} items and must have ${moved}: restore the ClickHouse database.`,
      );
    }
  }

  async #count(name: TableName, where: string): Promise<number> {
    return new RowReader(
      await this.#options.server.selectSlowly(`SELECT count() FROM ${tableOf(name)} WHERE ${where}`),
    ).uint64();
  }

  /** Gathers the next items that may be moved; answers whether there were any, or more may be met. */
  async #plan(isStopped: () => boolean): Promise<boolean> {
    const { sql, lease, batchItems, afterSeconds } = this.#options;
    const now = this.#now();
    const walk = await readWalk(sql);
    const maxHeight = await this.#maxHeight();
    const leftOut = (await this.#options.leftOut?.({ from: 0, to: maxHeight })) ?? [];
    const range = { indexedBefore: now - afterSeconds, minHeight: 0, maxHeight, leftOut };
    let after: Cursor = walk.after;
    let isEnd = false;
    const found: MovableItem[] = [];
    while (found.length < batchItems && !isEnd && !isStopped()) {
      const page = await stableItems(sql, range, after, lookedAtOnce);
      found.push(
        ...(await this.#rows(page.items.map(({ record }) => record))).flatMap((row) => movable(row) ?? []),
      );
      after = page.last ?? after;
      this.#waiting ??= page.waiting;
      isEnd = page.next === undefined;
      await turn();
    }
    const items = await this.#withoutTies(found);
    const isDue = isEnd && now - walk.from >= sweepSeconds;
    const next = isDue
      ? { after: fromTheBeginning, from: now }
      : { after: isEnd ? this.#backFrom(after, now) : after, from: walk.from };
    await sql.transaction(async (tx) => {
      await lease.fence(tx);
      // In seconds, so that a number is never used twice, even after the database lost its last transactions.
      if (items.length > 0) await plan(tx, Math.max((await newestBatch(tx)) + 1, now), items, now);
      await noteWalk(tx, next);
    });
    return items.length > 0 || !isEnd || isDue;
  }

  /** Just before what was not stable, where it is time to look at that again. */
  #backFrom(after: Cursor, now: number): Cursor {
    const waiting = this.#waiting;
    if (
      waiting === undefined ||
      now - this.#backAt < Math.min(longestBack, this.#options.afterSeconds / 10)
    ) {
      return after;
    }
    this.#waiting = undefined;
    this.#backAt = now;
    return { ...waiting, record: waiting.record - 1 };
  }

  /** Up to here no fork reaches, and everybody was told of what is there. */
  async #maxHeight(): Promise<number> {
    const { sql } = this.#options;
    const stable = await sql.get<{ value: number }>(
      "SELECT value FROM chain_state WHERE name = 'stable_height'",
    );
    const told = await readFinalCursor(sql, '');
    return Math.min(stable?.value ?? -1, heightOf(told.pos) - 1);
  }

  async #rows(records: readonly number[]): Promise<FullRow[]> {
    const columns = columnsOf('r', ['record', 'end_offset', ...recordColumns].join(', '));
    const found: FullRow[] = [];
    for (let at = 0; at < records.length; at += rowsAtOnce) {
      found.push(
        ...(await selectIn<FullRow>(
          this.#options.sql,
          `SELECT ${columns}, s.signature FROM records r LEFT JOIN signatures s ON s.record = r.record
           WHERE r.record IN ({in})`,
          records.slice(at, at + rowsAtOnce),
        )),
      );
    }
    return found;
  }

  /** In order, and without items whose place and first bits of the id are those of another one. */
  async #withoutTies(found: readonly MovableItem[]): Promise<MovableItem[]> {
    const sorted = inOrder(found);
    const keys = sorted.map(keyOf);
    const taken = new Set<string>();
    for (let at = 0; at < keys.length; at += keysAtOnce) {
      const rows = new RowReader(
        await this.#options.server.selectSlowly(
          `SELECT DISTINCT pos, tie FROM ${tableOf('records')} WHERE ${amongKeys(keys.slice(at, at + keysAtOnce))}`,
        ),
      );
      while (!rows.isAtEnd) taken.add(`${rows.uint64()}/${rows.uint48()}`);
    }
    return sorted.filter((item) => {
      const name = `${item.pos}/${tieOf(item.id)}`;
      if (taken.has(name)) return false;
      taken.add(name);
      return true;
    });
  }

  async #finish(open: Batch, isStopped: () => boolean): Promise<void> {
    const { log, lease, sql } = this.#options;
    if (open.state === 'planned') {
      const items = await this.#write(open);
      if (items === undefined) return;
      const digest = await this.#readBack(open.batch);
      if (!digest.equals(digestOf(encodeBatch(open.batch, items)))) {
        throw new HistoryDamaged(`What the history has of batch ${open.batch} is not what was written.`);
      }
      await lease.fenced.transaction(async (tx) => {
        await noteVerified(tx, open.batch, items, digest);
      });
    } else if (open.digest !== null && !(await this.#readBack(open.batch)).equals(open.digest)) {
      throw new HistoryDamaged(`The history lost rows of batch ${open.batch}: nothing more is moved.`);
    }
    await this.#prune(isStopped);
    const rest = await openBatch(sql);
    if (rest === undefined) log.info({ batch: open.batch, items: open.items }, 'items moved to the history');
    if (rest === undefined && (await isPackingDue(sql))) while (!isStopped() && (await packNext(sql)) > 0);
  }

  /** Answers what was written; undefined where items changed since they were planned, and the batch was given up. */
  async #write({ batch, records }: Batch): Promise<MovableItem[] | undefined> {
    const { server } = this.#options;
    const items = inOrder((await this.#rows(records)).flatMap((row) => movable(row) ?? []));
    if (items.length !== records.length) {
      await this.#abandon(batch);
      return undefined;
    }
    const encoded = encodeBatch(batch, items);
    for (const name of tableNames) await server.insert(tableOf(name), columnNames(name), encoded[name]);
    return items;
  }

  /** Items that were pruned or became bundles meanwhile stay as they are; the others are met by the next walk. */
  async #abandon(batch: number): Promise<void> {
    const { lease, log } = this.#options;
    await this.#delete(`batch = ${batch}`);
    for (const name of tableNames) {
      // The server deletes when it likes to: the next step tries again.
      if ((await this.#count(name, `batch = ${batch}`)) > 0) return;
    }
    log.warn(
      { batch },
      'items changed while they were moved to the history; they stay in the database for now',
    );
    await lease.fenced.transaction(async (tx) => {
      await tx.run("DELETE FROM history_batches WHERE batch = ? AND state = 'planned'", batch);
    });
  }

  async #delete(where: string): Promise<void> {
    const { server, placement } = this.#options;
    const local = placement.cluster === undefined ? '' : `_local ON CLUSTER ${placement.cluster}`;
    for (const name of tableNames)
      await server.run(`ALTER TABLE ${tableOf(name)}${local} DELETE WHERE ${where}`);
  }

  /** SHA-256 of all rows of a batch as the server gives them, each once and in order. */
  async #readBack(batch: number): Promise<Buffer> {
    const rows: Partial<Record<TableName, Buffer>> = {};
    for (const name of tableNames) {
      rows[name] = await this.#options.server.selectSlowly(
        `SELECT DISTINCT ${columnNames(name).join(', ')} FROM ${tableOf(name)} WHERE batch = ${batch}
         ORDER BY ${tables[name].order.join(', ')}`,
      );
    }
    return digestOf(rows);
  }

  /** Takes the items of the batch that is verified out of SQL. */
  async #prune(isStopped: () => boolean): Promise<void> {
    const { lease, onMoved, pruneItems = WRITE_BATCH } = this.#options;
    for (let isMore = true; isMore && !isStopped(); ) {
      if (!(await lease.hold())) return;
      const { removed, more } = await lease.fenced.transaction((tx) => pruneNext(tx, pruneItems));
      if (removed > 0) onMoved?.(removed);
      isMore = more;
      await turn();
    }
  }
}

/** The name by which the history knows this database, made when it is first needed. */
async function ownName(sql: Sql): Promise<string> {
  await sql.run("UPDATE history_extent SET name = ? WHERE name = ''", randomUUID());
  return (await sql.get<{ name: string }>('SELECT name FROM history_extent'))?.name ?? '';
}

async function pruneNext(tx: SqlExecutor, count: number): Promise<{ removed: number; more: boolean }> {
  const open = await openBatch(tx, tx.forUpdate);
  if (open?.state !== 'verified') return { removed: 0, more: false };
  const next = open.records.slice(open.pruned, open.pruned + count);
  const last = await tx.get<{ pos: number; id: Buffer }>(
    'SELECT pos, id FROM records WHERE record = ?',
    next.at(-1) ?? -1,
  );
  const removed = await removeMoved(tx, next);
  const pruned = open.pruned + next.length;
  await notePruned(tx, open, pruned, last && { pos: last.pos, tie: tieOf(last.id) });
  return { removed, more: pruned < open.items };
}

const keyOf = ({ pos, id }: MovableItem): PlaceKey => ({ pos, tie: tieOf(id) });

const inOrder = (items: readonly MovableItem[]): MovableItem[] =>
  items
    .map((item) => ({ item, key: { pos: item.pos, tie: tieOf(item.id), record: item.record } }))
    .sort((a, b) => compareKeys(a.key, b.key))
    .map(({ item }) => item);

function digestOf(rows: Readonly<Partial<Record<TableName, Buffer>>>): Buffer {
  const digest = createHash('sha256');
  for (const name of tableNames) digest.update(rows[name] ?? Buffer.alloc(0));
  return digest.digest();
}
