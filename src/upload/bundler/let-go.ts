/** Lets local copies go: of items that have been permanent for long enough, and of blobs that nobody uses. */
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { deleteUnused, dropBlobs } from '../items/blob-uses.ts';
import { parseSegments } from '../items/segments.ts';

const batch = 200;

/** Answers how many items were let go. */
export async function letItemsGo(sql: Sql, retentionMs: number, now: number): Promise<number> {
  const rows = await sql.all<{ id: string; segments: string | null }>(
    `SELECT id, segments FROM upload_items WHERE permanent_at IS NOT NULL AND held = 1 AND permanent_at <= ?
     ORDER BY permanent_at LIMIT ?`,
    now - retentionMs,
    batch,
  );
  for (const { id, segments } of rows) {
    await sql.transaction(async (tx) => {
      const changed = await tx.run(
        'UPDATE upload_items SET held = 0, segments = NULL WHERE id = ? AND held = 1',
        id,
      );
      if (changed === 0) return;
      await tx.run('DELETE FROM upload_heads WHERE id = ?', id);
      await dropBlobs(tx, parseSegments(segments), now);
    });
  }
  return rows.length;
}

export function deleteUnusedBlobs(sql: Sql, blobs: BlobStore, now: number): Promise<number> {
  return deleteUnused(sql, blobs, now, batch);
}
