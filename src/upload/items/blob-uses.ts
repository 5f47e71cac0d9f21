/**
 * How many items and parts use each blob. Blobs are named by their content, so that two uploads may share one;
 * a blob is deleted only when its row says that nobody uses it and nobody can begin to, because whoever does
 * must change the same row.
 */
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { BlobStoreUnavailable } from '../../storage/blobs/blobs.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { Segment } from './segments.ts';

/** Counts a use of each blob. Throws `BlobStoreUnavailable` when one is being deleted: try again. */
export async function useBlobs(tx: SqlExecutor, segments: readonly Segment[], now: number): Promise<void> {
  for (const digest of digestsOf(segments)) {
    const changed = await tx.run(
      `INSERT INTO upload_blobs (digest, uses, deleting, changed_at) VALUES (?, 1, 0, ?)
       ON CONFLICT (digest) DO UPDATE SET uses = upload_blobs.uses + 1, changed_at = excluded.changed_at
       WHERE upload_blobs.deleting = 0`,
      digest,
      now,
    );
    if (changed === 0) throw new BlobStoreUnavailable('the blob is being deleted');
  }
}

/** Takes the uses back; a blob that nobody uses any more is deleted by `deleteUnused`. */
export async function dropBlobs(tx: SqlExecutor, segments: readonly Segment[], now: number): Promise<void> {
  for (const digest of digestsOf(segments)) {
    await tx.run('UPDATE upload_blobs SET uses = uses - 1, changed_at = ? WHERE digest = ?', now, digest);
  }
}

/**
 * Writes down that blobs are about to be there, before they are: whoever makes a blob has from then on the time
 * that `deleteUnused` leaves to use it, also when it was there before. Throws `BlobStoreUnavailable` when one is
 * being deleted right now: try again.
 */
export async function noteBlobs(sql: Sql, segments: readonly Segment[], now: number): Promise<void> {
  await sql.transaction(async (tx) => {
    for (const digest of digestsOf(segments)) {
      const changed = await tx.run(
        `INSERT INTO upload_blobs (digest, uses, deleting, changed_at) VALUES (?, 0, 0, ?)
         ON CONFLICT (digest) DO UPDATE SET changed_at = excluded.changed_at WHERE upload_blobs.deleting = 0`,
        digest,
        now,
      );
      if (changed === 0) throw new BlobStoreUnavailable('the blob is being deleted');
    }
  });
}

/** Deletes up to `limit` blobs that nobody has used since `before`; answers how many. */
export async function deleteUnused(
  sql: Sql,
  blobs: BlobStore,
  before: number,
  limit: number,
): Promise<number> {
  const found = await sql.all<{ digest: string }>(
    'SELECT digest FROM upload_blobs WHERE uses = 0 AND changed_at < ? ORDER BY changed_at LIMIT ?',
    before,
    limit,
  );
  let deleted = 0;
  for (const { digest } of found) {
    const marked = await sql.transaction((tx) =>
      tx.run(
        'UPDATE upload_blobs SET deleting = 1 WHERE digest = ? AND uses = 0 AND (changed_at < ? OR deleting = 1)',
        digest,
        before,
      ),
    );
    if (marked === 0) continue;
    await blobs.delete(digest);
    await sql.transaction((tx) =>
      tx.run('DELETE FROM upload_blobs WHERE digest = ? AND deleting = 1', digest),
    );
    deleted++;
  }
  return deleted;
}

/** Each once, in one order for all, so that two transactions never wait for each other. */
function digestsOf(segments: readonly Segment[]): string[] {
  return [...new Set(segments.map((segment) => segment.digest))].sort();
}
