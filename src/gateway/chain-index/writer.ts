/**
 * Writing into the index. Everything is idempotent: a record seen again is left alone or moved to where it
 * is now, never doubled. Batches are small, because on SQLite a transaction runs on the event loop.
 */

import { insertRows, selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql, SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';
import { moveBundles } from './bundle-heights.ts';
import { EventBatch } from './event-batch.ts';
import { type History, HistoryMoved } from './history.ts';
import { DATA_ITEM, firstPos, PENDING_POS, TRANSACTION, tieOf } from './order.ts';
import {
  applyChanges,
  collectChange,
  inTreeOrder,
  noteReposition,
  type Posting,
  type PostingChanges,
  postingTypes,
  type StoredRecord,
  storedColumns,
  WRITE_BATCH,
} from './posting-changes.ts';
import {
  type Entry,
  type Mined,
  type Prepared,
  positionOf,
  postedTerms,
  prepare,
  recordColumns,
  recordRow,
  recordTypes,
  termSpecs,
  unpackTerms,
} from './records.ts';
import { noteChanged } from './segments.ts';
import { EVERY_TERM, INGESTED_TERM, type Terms } from './terms.ts';

export interface Written {
  readonly record: number;
  readonly id: Buffer;
  /** The record did not exist before. */
  readonly fresh: boolean;
}

export interface PutOptions {
  /** Gets what happened, and is appended by the caller; else it is appended at once. */
  readonly events?: EventBatch;
  /** Records that are in no block yet are told to be new. False for what is only looked up. */
  readonly tellsNew?: boolean;
}

export class IndexWriter {
  readonly #terms: Terms;
  readonly #now: () => number;
  readonly #onAppend: () => void;
  readonly #history: History | undefined;

  /** `onAppend` is called when events were appended, before their transaction is over. */
  constructor(
    terms: Terms,
    now: () => number = () => Math.floor(Date.now() / 1000),
    onAppend: () => void = () => {},
    history?: History,
  ) {
    this.#terms = terms;
    this.#now = now;
    this.#onAppend = onAppend;
    this.#history = history;
  }

  /** What one transaction is going to tell. */
  newEvents(): EventBatch {
    return new EventBatch(this.#onAppend);
  }

  /**
   * Interns the terms of entries, and asks the history for items that it has; done before the transaction that writes
   * them.
   */
  async prepare(entries: readonly Entry[]): Promise<Prepared[]> {
    const specs = entries.map((entry) => termSpecs(entry));
    const keys = await this.#terms.intern(specs.flat());
    const prepared = entries.map((entry, index) => prepare(entry, specs[index] ?? [], keys));
    const items = entries.filter(({ header }) => header.kind === DATA_ITEM).map(({ header }) => header.id);
    if (this.#history === undefined || items.length === 0) return prepared;
    const batches = await this.#history.batches();
    const moved = new Set((await this.#history.byIds(items)).map(({ id }) => id.toString('latin1')));
    return prepared.map((one) => ({
      ...one,
      history: { isThere: moved.has(one.entry.header.id.toString('latin1')), batches },
    }));
  }

  /**
   * Throws where the history got another batch since it was asked: items of it may be gone from here. No other one is
   * added before the transaction is over.
   */
  async #checkBatches(tx: SqlExecutor, batch: readonly Prepared[]): Promise<void> {
    const asked = batch.flatMap(({ history }) => (history === undefined ? [] : [history.batches]));
    if (asked.length === 0) return;
    const lock = tx.forUpdate === '' ? '' : 'FOR SHARE';
    const row = await tx.get<{ batches: number }>(`SELECT batches FROM history_extent ${lock}`);
    if (asked.some((batches) => batches !== row?.batches))
      throw new HistoryMoved('items were moved meanwhile');
  }

  /**
   * Writes entries of one batch; ids are distinct. A known record is upgraded where the entry says more: a
   * pending transaction that is mined, an optimistic item that was found in its bundle. An entry that says
   * less (the same optimistic item again) changes nothing, and neither does an item that was moved to the history.
   */
  async put(tx: SqlExecutor, batch: readonly Prepared[], options: PutOptions = {}): Promise<Written[]> {
    const { events = this.newEvents(), tellsNew = true } = options;
    await this.#checkBatches(tx, batch);
    const here = batch.filter(({ history }) => history?.isThere !== true);
    const written = await this.#put(tx, here, events, tellsNew);
    if (options.events === undefined) await events.append(tx);
    return written;
  }

  async #put(
    tx: SqlExecutor,
    batch: readonly Prepared[],
    events: EventBatch,
    tellsNew: boolean,
  ): Promise<Written[]> {
    const { made, known } = await this.#insert(tx, batch, events, tellsNew);
    if (known.length === 0) return made;
    const stored = await this.#stored(
      tx,
      known.map(({ entry }) => entry.header.id),
    );
    const gone: Prepared[] = [];
    const changes: PostingChanges = { removed: [], added: [] };
    for (const prepared of known) {
      const record = stored.get(prepared.entry.header.id.toString('latin1'));
      if (record === undefined) {
        gone.push(prepared);
        continue;
      }
      await this.#upgrade(tx, record, prepared, changes, events);
      made.push({ record: record.record, id: record.id, fresh: false });
    }
    await applyChanges(tx, changes);
    // Another process dropped some of them since they were found to be there.
    return gone.length === 0 ? made : [...made, ...(await this.#put(tx, gone, events, tellsNew))];
  }

  /** Writes those that are not known, which nearly all are; answers the others as they came. */
  async #insert(
    tx: SqlExecutor,
    batch: readonly Prepared[],
    events: EventBatch,
    tellsNew: boolean,
  ): Promise<{ made: Written[]; known: Prepared[] }> {
    const made: Written[] = [];
    const known: Prepared[] = [];
    const now = this.#now();
    const rows = await insertRows<{ record: number; id: Buffer }>(
      tx,
      'records',
      recordTypes,
      batch.map((prepared) => recordRow(prepared, now)),
      'ON CONFLICT (id) DO NOTHING RETURNING record, id',
    );
    const records = new Map(rows.map((row) => [row.id.toString('latin1'), row.record]));
    const postings: Posting[] = [];
    const positions: number[] = [];
    const signatures: SqlValue[][] = [];
    for (const prepared of batch) {
      const { entry, terms } = prepared;
      const { id, kind, signature } = entry.header;
      const record = records.get(id.toString('latin1'));
      if (record === undefined) {
        known.push(prepared);
        continue;
      }
      const pos = positionOf(kind, entry.mined, now);
      const tie = tieOf(id);
      positions.push(pos);
      for (const term of postedTerms(kind, terms)) postings.push([term, pos, tie, record]);
      postings.push([INGESTED_TERM, now, tie, record]);
      if (signature !== null) signatures.push([record, signature]);
      // An item that was read from a bundle is told when its bundle is in a block.
      events.appeared({ pos, tie, record }, entry.mined, tellsNew && entry.placed === undefined);
      made.push({ record, id, fresh: true });
    }
    await insertRows(tx, 'postings', postingTypes, inTreeOrder(postings));
    await noteChanged(tx, positions);
    await insertRows(tx, 'signatures', { record: 'BIGINT', signature: 'BYTEA' }, signatures);
    return { made, known };
  }

  async #upgrade(
    tx: SqlExecutor,
    known: StoredRecord,
    prepared: Prepared,
    changes: PostingChanges,
    events: EventBatch,
  ): Promise<void> {
    const { entry, terms } = prepared;
    if (known.kind !== entry.header.kind) return;
    if (entry.placed !== undefined) {
      const better = known.root === null || (known.height === null && entry.mined !== undefined);
      if (better) await this.#place(tx, known, prepared, changes, events);
    } else if (entry.mined !== undefined) {
      await this.#move(tx, known, entry.mined, changes, events);
      await noteReposition(tx, known.record);
    }
    const { signature, ownerKey } = entry.header;
    if (signature !== null) {
      await tx.run(
        'INSERT INTO signatures (record, signature) VALUES (?, ?) ON CONFLICT (record) DO NOTHING',
        known.record,
        signature,
      );
    }
    const owner = terms[0];
    if (ownerKey !== null && owner !== undefined) await this.#terms.learnOwnerKey(tx, owner, ownerKey);
  }

  /** The header read from the bundle was signed; it replaces what was announced. */
  async #place(
    tx: SqlExecutor,
    known: StoredRecord,
    prepared: Prepared,
    changes: PostingChanges,
    events: EventBatch,
  ): Promise<void> {
    const { entry, terms } = prepared;
    const cells = recordRow(prepared, known.indexed_at);
    await tx.run(replaceRecord, ...replacedColumns.map((column) => cells[column] ?? null), known.record);
    const pos = positionOf(known.kind, entry.mined, known.indexed_at);
    collectChange(changes, known, unpackTerms(known.terms), pos, terms);
    events.moved({ pos, tie: tieOf(known.id), record: known.record }, known.height, entry.mined);
  }

  /** Moves a record to another place in the chain, or out of it; false where somebody else moved it meanwhile. */
  async #move(
    tx: SqlExecutor,
    known: StoredRecord,
    mined: Mined | undefined,
    changes: PostingChanges,
    events: EventBatch,
  ): Promise<boolean> {
    const pos = positionOf(known.kind, mined, known.indexed_at);
    if (pos === known.pos) return true;
    const moved = await tx.run(
      'UPDATE records SET height = ?, block_index = ?, pos = ? WHERE record = ? AND pos = ?',
      mined?.height ?? null,
      mined?.blockIndex ?? null,
      pos,
      known.record,
      known.pos,
    );
    if (moved === 0) return false;
    const terms = unpackTerms(known.terms);
    collectChange(changes, known, terms, pos, terms);
    events.moved({ pos, tie: tieOf(known.id), record: known.record }, known.height, mined);
    return true;
  }

  /** Answers whether all of them are there now. */
  async #moveAll(
    tx: SqlExecutor,
    stored: readonly StoredRecord[],
    mined: Mined | undefined,
  ): Promise<boolean> {
    const changes: PostingChanges = { removed: [], added: [] };
    const events = this.newEvents();
    let isComplete = true;
    for (const record of stored) {
      if (!(await this.#move(tx, record, mined, changes, events))) isComplete = false;
    }
    await applyChanges(tx, changes);
    await events.append(tx);
    return isComplete;
  }

  /** Takes everything above a height out of the chain, one batch a call; answers whether more is left. */
  async unmine(
    sql: Sql,
    height: number,
    fence: (tx: SqlExecutor) => Promise<void> = async () => {},
  ): Promise<boolean> {
    return sql.transaction(async (tx) => {
      await fence(tx);
      const stored = await tx.all<StoredRecord>(
        `SELECT ${storedColumns} FROM records WHERE record IN (
           SELECT record FROM postings WHERE term = ? AND pos >= ? AND pos < ? ORDER BY pos LIMIT ?)`,
        EVERY_TERM,
        firstPos(height + 1),
        PENDING_POS,
        WRITE_BATCH,
      );
      const isComplete = await this.#moveAll(tx, stored, undefined);
      // Items that another process wrote into a bundle while it was moved follow it.
      for (const { kind, record } of stored) if (kind === TRANSACTION) await noteReposition(tx, record);
      return stored.length === WRITE_BATCH || !isComplete;
    });
  }

  /** Brings items to the place of their root transaction, one batch a call; answers whether more is left. */
  async reposition(sql: Sql): Promise<boolean> {
    return sql.transaction(async (tx) => {
      const next = await tx.get<PlaceRow & { record: number; id: Buffer }>(
        `SELECT r.record, r.id, ${placeColumns('r')} FROM repositions p JOIN records r ON r.record = p.root
         ORDER BY p.root LIMIT 1 ${tx.forUpdate}`,
      );
      if (next === undefined) {
        // Only of roots that are gone: another process may have noted one since.
        await tx.run(
          'DELETE FROM repositions WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.record = repositions.root)',
        );
        return false;
      }
      const stored = await tx.all<StoredRecord>(
        `SELECT ${storedColumns} FROM records WHERE root = ?
         AND (height IS DISTINCT FROM CAST(? AS BIGINT) OR block_index IS DISTINCT FROM CAST(? AS BIGINT))
         LIMIT ?`,
        next.record,
        next.height,
        next.block_index,
        WRITE_BATCH,
      );
      const isComplete = await this.#moveAll(tx, stored, minedOf(next));
      if (isComplete && stored.length < WRITE_BATCH) {
        await moveBundles(tx, next.id, next.height);
        await tx.run('DELETE FROM repositions WHERE root = ?', next.record);
      }
      return true;
    });
  }

  async #stored(tx: SqlExecutor, ids: readonly Buffer[]): Promise<Map<string, StoredRecord>> {
    const rows = await selectIn<StoredRecord>(
      tx,
      `SELECT ${storedColumns} FROM records WHERE id IN ({in}) ${tx.forUpdate === '' ? '' : `ORDER BY id ${tx.forUpdate}`}`,
      ids,
    );
    return new Map(rows.map((row) => [row.id.toString('latin1'), row]));
  }
}

/** What `placeColumns` selects. */
export interface PlaceRow {
  readonly height: number | null;
  readonly block_index: number | null;
  readonly block_id: Buffer | null;
}

/** Where a record of the table with this name is in the chain. */
export const placeColumns = (records: string): string =>
  `${records}.height, ${records}.block_index,
   (SELECT b.id FROM blocks b WHERE b.height = ${records}.height) AS block_id`;

export function minedOf({ height, block_index, block_id }: PlaceRow): Mined | undefined {
  return height === null || block_index === null
    ? undefined
    : { height, blockIndex: block_index, blockId: block_id ?? undefined };
}

/** Cells of `recordColumns` that a signed header replaces: all but the id and the time of first sight. */
const replacedColumns = recordColumns.flatMap((column, index) =>
  column === 'id' || column === 'indexed_at' ? [] : [index],
);
const replaceRecord = `UPDATE records SET ${replacedColumns
  .map((index) => `${recordColumns[index]} = ?`)
  .join(', ')} WHERE record = ?`;
