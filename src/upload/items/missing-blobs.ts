/**
 * Blobs that are not there, or not as they were, when an item or an upload in parts is read. Each read that does not find the
 * same one again is counted, because a store can be away without saying so. That another is missing the next time says that
 * this one was found, or nothing about it: with many blobs some are missed again and again by a store that is away for some.
 */
import { type GiveUpAfter, hasTriedEnough } from '../../kernel/background/give-up.ts';
import { clocks } from '../../storage/sql/lease.ts';
import type { Row, SqlExecutor } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';

/** Reads in a row that miss a blob, and how long they take, after which it is lost. */
export const giveUpAfter: GiveUpAfter = { tries: 8, ms: 4 * 60_000 };

/** A blob that was missed once more. */
export interface Missed {
  /** Reads in a row. */
  readonly misses: number;
  readonly isLost: boolean;
}

/** Counts a miss of a row with `misses`, `missed` (the blob that was missed last) and `missed_since`. Takes `missOf`. */
export const countedMiss = ({ engine }: Pick<SqlExecutor, 'engine'>): string =>
  `missed_since = CASE WHEN misses = 0 OR missed <> ? THEN ${clocks[engine]} ELSE missed_since END,
   misses = CASE WHEN missed <> ? THEN 1 ELSE misses + 1 END, missed = ?`;

export const missOf = (blob: string): readonly [string, string, string] => [blob, blob, blob];

/** What the row returns for `readMissed`. By the database's clock: several processes count together. */
export const missedColumns = ({ engine }: Pick<SqlExecutor, 'engine'>): string =>
  `misses, ${clocks[engine]} - COALESCE(missed_since, 0) AS missed_for`;

export function readMissed(row: Row): Missed {
  const misses = readInteger(row.misses);
  return { misses, isLost: hasTriedEnough(giveUpAfter, misses, 0, readInteger(row.missed_for)) };
}
