/**
 * Blobs that are not there, or not as they were, when an item or an upload in parts is read. Each read that does not find the
 * same one again is counted, because a store can be away without saying so. That another is missing the next time says that
 * this one was found, or nothing about it: with many blobs some are missed again and again by a store that is away for some.
 */

/** Reads in a row that miss a blob, after which it is lost. */
export const maxMisses = 8;

/** Of a row with `misses` and `missed`, the blob that was missed last: counts a miss. Takes `missOf`. */
export const countedMiss = 'misses = CASE WHEN missed <> ? THEN 1 ELSE misses + 1 END, missed = ?';

export const missOf = (blob: string): readonly [string, string] => [blob, blob];
