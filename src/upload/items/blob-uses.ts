/**
 * How many items and parts use each blob, and how many uploads have written it and not used it yet (`notes`). Blobs
 * are named by their content, so two uploads may share one. A blob is deleted only when its row says that nobody uses it;
 * nobody can begin to use it then, because that changes the same row.
 *
 * What is dropped is deleted after a while, because somebody may be about to read it; what is freed is deleted at once,
 * because nobody reads it any more. A note that a crash left keeps its blob only for that while.
 */
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { BlobStoreUnavailable } from '../../storage/blobs/blobs.ts';
import { clocks } from '../../storage/sql/lease.ts';
import type { Sql, SqlExecutor, SqlReader } from '../../storage/sql/sql.ts';
import { readText } from '../../storage/sql/typed-rows.ts';
import type { Segment } from './segments.ts';

/** How long a blob stays that nobody uses: an upload that noted it has this long to say that it uses it. */
const unusedMs = 10 * 60 * 1_000;
/** A deletion that takes longer has died, and is done again. */
const deletionMs = 2 * 60 * 1_000;
/** The lease under which a backup reads: while it is held no blob is deleted. */
export const blobHold = 'backup';
/** `changed_at` of a blob that nobody uses, reads or has noted: long ago. */
const longAgo = 0;

/**
 * Notes that blobs are about to be written, before they are: from then on the upload has time to use them, also when they
 * were there before. Ends with `useNoted` or `forgetNotes`. Throws `BlobStoreUnavailable` when one is being
 * deleted right now: try again.
 */
export async function noteBlobs(sql: Sql, segments: readonly Segment[], now: number): Promise<void> {
  await sql.transaction(async (tx) => {
    for (const digest of digestsOf(segments)) {
      const changed = await tx.run(
        `INSERT INTO upload_blobs (digest, uses, notes, deleting, changed_at) VALUES (?, 0, 1, 0, ?)
         ON CONFLICT (digest) DO UPDATE SET notes = upload_blobs.notes + 1, changed_at = excluded.changed_at
         WHERE upload_blobs.deleting = 0`,
        digest,
        now,
      );
      if (changed === 0) throw new BlobStoreUnavailable('the blob is being deleted');
    }
  });
}

/** Counts a use of each blob that was noted, in place of the note. Throws `BlobStoreUnavailable` when one is gone. */
export async function useNoted(tx: SqlExecutor, segments: readonly Segment[], now: number): Promise<void> {
  await count(tx, segments, now, 'uses = uses + 1, notes = CASE WHEN notes > 0 THEN notes - 1 ELSE 0 END');
}

/** Counts another use of blobs that are in use. Throws `BlobStoreUnavailable` when one is gone. */
export async function useBlobs(tx: SqlExecutor, segments: readonly Segment[], now: number): Promise<void> {
  await count(tx, segments, now, 'uses = uses + 1');
}

async function count(
  tx: SqlExecutor,
  segments: readonly Segment[],
  now: number,
  assignment: string,
): Promise<void> {
  for (const digest of digestsOf(segments)) {
    const changed = await tx.run(
      `UPDATE upload_blobs SET ${assignment}, changed_at = ? WHERE digest = ? AND deleting = 0`,
      now,
      digest,
    );
    if (changed === 0) throw new BlobStoreUnavailable('the blob is being deleted');
  }
}

/** Takes the uses back; what nobody uses any more is deleted by `deleteUnused` after a while. */
export async function dropBlobs(tx: SqlExecutor, segments: readonly Segment[], now: number): Promise<void> {
  for (const digest of digestsOf(segments)) {
    await tx.run('UPDATE upload_blobs SET uses = uses - 1, changed_at = ? WHERE digest = ?', now, digest);
  }
}

/** Takes the uses back of what nobody reads: it is for `deleteFreed`, or the next `deleteUnused`, to delete. */
export async function freeBlobs(tx: SqlExecutor, segments: readonly Segment[], now: number): Promise<void> {
  for (const digest of digestsOf(segments)) {
    await tx.run(
      `UPDATE upload_blobs SET uses = uses - 1,
         changed_at = CASE WHEN uses = 1 AND notes = 0 THEN ${longAgo} ELSE CAST(? AS BIGINT) END
       WHERE digest = ?`,
      now,
      digest,
    );
  }
}

/** An upload will not use what it noted; what nobody else needs is deleted at once. */
export async function forgetNotes(
  sql: Sql,
  blobs: BlobStore,
  segments: readonly Segment[],
  now: number,
): Promise<void> {
  await sql.transaction(async (tx) => {
    for (const digest of digestsOf(segments)) {
      await tx.run(
        `UPDATE upload_blobs SET notes = notes - 1,
           changed_at = CASE WHEN uses = 0 AND notes = 1 THEN ${longAgo} ELSE CAST(? AS BIGINT) END
         WHERE digest = ? AND notes > 0`,
        now,
        digest,
      );
    }
  });
  await deleteFreed(sql, blobs, segments, now);
}

/** Deletes those of the blobs that were freed and that nobody has noted since. */
export async function deleteFreed(
  sql: Sql,
  blobs: BlobStore,
  segments: readonly Segment[],
  now: number,
): Promise<void> {
  for (const digest of digestsOf(segments)) await deleteBlob(sql, blobs, digest, longAgo, now);
}

/** Deletes up to `limit` blobs that were freed or that nobody has used for a while; answers how many. */
export async function deleteUnused(
  sql: Sql,
  blobs: BlobStore,
  now: number,
  limit: number,
  afterMs: number = unusedMs,
): Promise<number> {
  const until = now - afterMs;
  const found = await sql.all<{ digest: string }>(
    `SELECT digest FROM upload_blobs WHERE uses = 0 AND changed_at <= ? AND (deleting = 0 OR deleting <= ?)
     ORDER BY changed_at LIMIT ?`,
    until,
    now - deletionMs,
    limit,
  );
  let deleted = 0;
  for (const { digest } of found) if (await deleteBlob(sql, blobs, digest, until, now)) deleted += 1;
  return deleted;
}

/** Only who has marked the row deletes the blob, so that it is never deleted under an upload that made it again. */
async function deleteBlob(
  sql: Sql,
  blobs: BlobStore,
  digest: string,
  unusedUntil: number,
  now: number,
): Promise<boolean> {
  const marked = await sql.run(
    `UPDATE upload_blobs SET deleting = ?
     WHERE digest = ? AND uses = 0 AND changed_at <= ? AND (deleting = 0 OR deleting <= ?)
       AND NOT EXISTS (SELECT 1 FROM upload_leases WHERE name = ? AND until >= ${clocks[sql.engine]})`,
    now,
    digest,
    unusedUntil,
    now - deletionMs,
    blobHold,
  );
  if (marked === 0) return false;
  await blobs.delete(digest);
  await sql.run('DELETE FROM upload_blobs WHERE digest = ? AND deleting = ?', digest, now);
  return true;
}

/** Every blob that an item or a part needs. */
export async function usedBlobs(sql: SqlReader): Promise<string[]> {
  const rows = await sql.all('SELECT digest FROM upload_blobs WHERE uses > 0 ORDER BY digest');
  return rows.map((row) => readText(row.digest));
}

/** Each once, in one order for all, so that two transactions never wait for each other. */
function digestsOf(segments: readonly Segment[]): string[] {
  return [...new Set(segments.map((segment) => segment.digest))].sort();
}
