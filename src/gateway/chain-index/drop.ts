/** Taking records out of the index, a batch at a time. */
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { DATA_ITEM, PENDING_POS, tieOf } from './order.ts';
import { postingColumns, type StoredRecord, storedColumns, WRITE_BATCH } from './posting-changes.ts';
import { postedTerms, unpackTerms } from './records.ts';
import { deleteRows, selectIn } from './rows.ts';
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

/**
 * Removes data items that will not move any more and were indexed before a time, one batch a call. Walks by time
 * of indexing from `after`; answers where the next call goes on, undefined at the end.
 */
export async function dropStableItems(
  sql: Sql,
  range: { readonly indexedBefore: number; readonly minHeight: number; readonly maxHeight: number },
  after: Cursor,
): Promise<{ readonly next: Cursor | undefined; readonly looked: number; readonly dropped: number }> {
  return sql.transaction(async (tx) => {
    const page = await tx.all<Cursor>(
      `SELECT pos, tie, record FROM postings WHERE term = ? AND pos < ?
         AND (pos, tie, record) > (CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))
       ORDER BY pos, tie, record LIMIT ?`,
      INGESTED_TERM,
      range.indexedBefore,
      after.pos,
      after.tie,
      after.record,
      WRITE_BATCH,
    );
    const stored = (
      await selectIn<StoredRecord>(
        tx,
        `SELECT ${storedColumns} FROM records WHERE record IN ({in})`,
        page.map(({ record }) => record),
      )
    ).filter(
      ({ kind, height }) =>
        kind === DATA_ITEM && height !== null && height >= range.minHeight && height <= range.maxHeight,
    );
    await remove(tx, stored);
    const next = page.length < WRITE_BATCH ? undefined : page.at(-1);
    return { next, looked: page.length, dropped: stored.length };
  });
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
  await deleteRows(tx, 'signatures', ['record'], keys);
  await deleteRows(tx, 'records', ['record'], keys);
}
