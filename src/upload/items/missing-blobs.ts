/**
 * Blobs that are not there, or not as they were, when an item or an upload in parts is read. Each read that does not find the
 * same one again is counted, because a store can be away without saying so. That another is missing the next time says that
 * this one was found, or nothing about it: with many blobs some are missed again and again by a store that is away for some.
 */
import { type GiveUpAfter, hasTriedEnough } from '../../kernel/background/give-up.ts';
import { clocks } from '../../storage/sql/lease.ts';
import type { SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';

/** Reads in a row that miss a blob, and how long they take, after which it is lost. */
export const giveUpAfter: GiveUpAfter = { tries: 8, ms: 4 * 60_000 };

/** A blob that was missed once more. */
export interface Missed {
  /** Reads in a row. */
  readonly misses: number;
  readonly isLost: boolean;
}

/** The row that a blob was missed of. */
interface MissingRow {
  readonly table: 'upload_items' | 'upload_sessions';
  readonly where: string;
  readonly values: readonly SqlValue[];
  /** What else changes of it, in SQL, with a comma at its end. */
  readonly set?: string;
}

/** Counts that the blob was missed, by the database's clock: several processes count together. Undefined where no row fits. */
export async function countMissOf(
  sql: SqlExecutor,
  blob: string,
  { table, where, values, set = '' }: MissingRow,
): Promise<Missed | undefined> {
  const now = clocks[sql.engine];
  const row = await sql.get(
    `UPDATE ${table} SET ${set}
       missed_since = CASE WHEN misses = 0 OR missed <> ? THEN ${now} ELSE missed_since END,
       misses = CASE WHEN missed <> ? THEN 1 ELSE misses + 1 END, missed = ?
     WHERE ${where} RETURNING misses, ${now} - COALESCE(missed_since, 0) AS missed_for`,
    ...[blob, blob, blob],
    ...values,
  );
  if (row === undefined) return undefined;
  const misses = readInteger(row.misses);
  return { misses, isLost: hasTriedEnough(giveUpAfter, misses, 0, readInteger(row.missed_for)) };
}
