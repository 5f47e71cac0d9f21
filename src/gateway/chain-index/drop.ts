/** Taking records out of the index, a batch at a time. */

import { deleteRows, selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { DATA_ITEM, MAX_HEIGHT, PENDING_POS, tieOf } from './order.ts';
import { countByParent, type KeptItem, keepPlaces } from './places.ts';
import { postingColumns, type StoredRecord, storedColumns, WRITE_BATCH } from './posting-changes.ts';
import { postedTerms, type Selected, unpackTerms } from './records.ts';
import { noteChanged } from './segments.ts';
import { EVERY_TERM, INGESTED_TERM } from './terms.ts';

/** A place in the postings of one term. */
export interface Cursor {
  readonly pos: number;
  readonly tie: number;
  readonly record: number;
}

/** Forgets records that were never mined and are older than a time, one batch a call. */
export async function dropPending(sql: Sql, indexedBefore: number): Promise<number> {
  return sql.transaction(async (tx) => {
    const stored = await tx.all<StoredRecord>(
      `SELECT ${storedColumns} FROM records WHERE record IN (
         SELECT record FROM postings WHERE term = ? AND pos >= ? AND pos < ? ORDER BY pos LIMIT ?)`,
      EVERY_TERM,
      PENDING_POS,
      PENDING_POS + indexedBefore,
      WRITE_BATCH,
    );
    await remove(tx, stored);
    return stored.length;
  });
}

export interface StableRange {
  /** Unix seconds; what was indexed in that second stays. */
  readonly indexedBefore: number;
  /** Inclusive; the highest must be stable, so that no fork can reach what is removed. */
  readonly minHeight: number;
  readonly maxHeight: number;
  /** Heights that are left alone all the same, both ends included. */
  readonly leftOut?: readonly { readonly from: number; readonly to: number }[];
}

const placedColumns =
  'record, id, kind, height, block_index, pos, indexed_at, root, terms, parent, item_offset, data_offset, item_size, data_size, content_type, content_encoding';
type PlacedRecord = Selected<typeof placedColumns>;

/** A record whose place can be kept without it. */
type PrunableRecord = PlacedRecord & KeptItem & { readonly height: number };

interface StablePage {
  readonly items: readonly PrunableRecord[];
  /** Where this page ends; undefined where it is empty. */
  readonly last: Cursor | undefined;
  /** Of the first item that is above the highest height, or in no block yet. */
  readonly waiting: Cursor | undefined;
  /** Where the next page begins; undefined at the end. */
  readonly next: Cursor | undefined;
  readonly looked: number;
}

/** Before the first page. */
export const fromTheBeginning: Cursor = { pos: -1, tie: -1, record: -1 };

/**
 * Data items that may be pruned, by time of indexing: placed in a bundle, at or below the highest height, and no bundles
 * themselves, whose records say where their own items lie.
 */
export async function stableItems(
  sql: SqlExecutor,
  range: StableRange,
  after: Cursor,
  limit: number,
): Promise<StablePage> {
  const page = await sql.all<Cursor>(
    `SELECT pos, tie, record FROM postings WHERE term = ? AND pos < ?
       AND (pos, tie, record) > (CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))
     ORDER BY pos, tie, record LIMIT ?`,
    INGESTED_TERM,
    range.indexedBefore,
    after.pos,
    after.tie,
    after.record,
    limit,
  );
  const stored = await selectIn<PlacedRecord>(
    sql,
    `SELECT ${placedColumns} FROM records WHERE record IN ({in})`,
    page.map(({ record }) => record),
  );
  const items = stored.flatMap((row) => prunable(row, range) ?? []);
  const waiting = new Set(
    stored
      .filter(({ kind, height }) => kind === DATA_ITEM && (height === null || height > range.maxHeight))
      .map(({ record }) => record),
  );
  const bundles = await selectIn<{ id: Buffer }>(
    sql,
    'SELECT id FROM bundles WHERE id IN ({in})',
    items.map(({ id }) => id),
  );
  const kept = new Set(bundles.map(({ id }) => id.toString('latin1')));
  const parents = await selectIn<{ record: number }>(
    sql,
    'SELECT record FROM records WHERE record IN ({in})',
    [...new Set(items.map(({ parent }) => parent))],
  );
  // Earlier versions removed bundles too: without its bundle's record a place could not be found again.
  const there = new Set(parents.map(({ record }) => record));
  return {
    items: items.filter(({ id, parent }) => there.has(parent) && !kept.has(id.toString('latin1'))),
    last: page.at(-1),
    waiting: page.find(({ record }) => waiting.has(record)),
    next: page.length < limit ? undefined : page.at(-1),
    looked: page.length,
  };
}

function prunable(row: PlacedRecord, range: Omit<StableRange, 'indexedBefore'>): PrunableRecord | undefined {
  const { kind, height, parent, item_offset, data_offset } = row;
  if (kind !== DATA_ITEM || parent === null || item_offset === null || data_offset === null) return undefined;
  if (height === null || height < range.minHeight || height > range.maxHeight) return undefined;
  if (range.leftOut?.some(({ from, to }) => from <= height && height <= to) === true) return undefined;
  return {
    ...row,
    height,
    parent,
    itemOffset: item_offset,
    headerSize: data_offset - item_offset,
    dataSize: row.data_size,
    contentType: row.content_type,
    contentEncoding: row.content_encoding,
  };
}

/** Removes the records of the next stable items and keeps their places, in one transaction. */
export async function pruneStableItems(
  sql: Sql,
  range: StableRange,
  after: Cursor,
  now: number,
): Promise<Omit<StablePage, 'items' | 'last' | 'waiting'> & { readonly pruned: number }> {
  return sql.transaction(async (tx) => {
    const { items, next, looked } = await stableItems(tx, range, after, WRITE_BATCH);
    await keepPlaces(tx, items);
    await remove(tx, items);
    const heights = new Map(items.map(({ parent, height }) => [parent, height]));
    for (const [parent, count] of countByParent(items)) {
      await tx.run(
        `UPDATE bundles SET pruned_count = pruned_count + ?, last_pruned_at = ?, height = ?
         WHERE id = (SELECT id FROM records WHERE record = ?)`,
        count,
        now,
        heights.get(parent) ?? null,
        parent,
      );
    }
    return { next, looked, pruned: items.length };
  });
}

/** Removes items that the history has and keeps their places; answers how many were there. In a transaction of the mover. */
export async function removeMoved(tx: SqlExecutor, records: readonly number[]): Promise<number> {
  const stored = await selectIn<PlacedRecord>(
    tx,
    `SELECT ${placedColumns} FROM records WHERE record IN ({in}) ${tx.forUpdate === '' ? '' : `ORDER BY id ${tx.forUpdate}`}`,
    records,
  );
  const items = stored.flatMap((row) => prunable(row, { minHeight: 0, maxHeight: MAX_HEIGHT }) ?? []);
  await keepPlaces(tx, items);
  await remove(tx, items);
  return items.length;
}

async function remove(tx: SqlExecutor, stored: readonly StoredRecord[]): Promise<void> {
  const postings: number[][] = [];
  for (const record of stored) {
    const tie = tieOf(record.id);
    for (const term of postedTerms(record.kind, unpackTerms(record.terms))) {
      postings.push([term, record.pos, tie, record.record]);
    }
    postings.push([INGESTED_TERM, record.indexed_at, tie, record.record]);
  }
  const keys = stored.map(({ record }) => [record]);
  await deleteRows(tx, 'postings', postingColumns, postings);
  await noteChanged(
    tx,
    stored.map(({ pos }) => pos),
  );
  await deleteRows(tx, 'signatures', ['record'], keys);
  await deleteRows(tx, 'records', ['record'], keys);
}
