/**
 * The bytes of a bundle, made as they are needed from the items that are in it. A bundle is never written to disk:
 * what it holds is there already.
 */
import { encodeBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { decodeBase64url } from '../../formats/base64url.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { Transactions } from '../../storage/sql/lease.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { MissingBytes, parseSegments, readProvenItem } from '../items/segments.ts';

const page = 64;

/** An item of a bundle whose bytes are not there, or not those that were uploaded. */
export class LostItem extends Error {
  override readonly name = 'LostItem';
  readonly id: string;

  constructor(id: string, cause?: unknown) {
    super(`the bytes of ${id} are lost`, { cause });
    this.id = id;
  }
}

/** The whole bundle in order, in pieces of bounded size. Throws `LostItem`. */
export async function* bundleBytes(sql: Sql, blobs: BlobStore, plan: string): AsyncGenerator<Buffer> {
  const entries = await sql.all<{ id: string; size: number }>(
    'SELECT id, size FROM upload_items WHERE bundle = ? ORDER BY position',
    plan,
  );
  yield encodeBundleHeader(entries.map(({ id, size }) => ({ id: decodeBase64url(id), size })));
  for (let from = 0; from < entries.length; from += page) {
    const rows = await sql.all<{ id: string; size: number; segments: string | null; bytes: Buffer | null }>(
      `SELECT i.id, i.size, i.segments, h.bytes FROM upload_items i LEFT JOIN upload_heads h ON h.id = i.id
       WHERE i.bundle = ? AND i.position >= ? ORDER BY i.position LIMIT ?`,
      plan,
      from,
      page,
    );
    for (const { id, size, segments, bytes } of rows) {
      if (bytes === null) throw new LostItem(id);
      yield* itemBytes(blobs, id, size, segments, bytes);
    }
  }
}

async function* itemBytes(
  blobs: BlobStore,
  id: string,
  size: number,
  segments: string | null,
  head: Buffer,
): AsyncGenerator<Buffer> {
  let read = 0;
  try {
    for await (const bytes of readProvenItem(blobs, head, parseSegments(segments))) {
      read += bytes.length;
      yield bytes;
    }
  } catch (error) {
    throw error instanceof MissingBytes ? new LostItem(id, error) : error;
  }
  if (read !== size) throw new LostItem(id);
}

/**
 * Counts that the bytes of an item were not there when its bundle was read; answers how often in a row. What lies before
 * it was read. Nothing else counts here: what a node, the wallet or the network did says nothing about the bytes.
 */
export function countMiss(sql: Transactions, plan: string, id: string): Promise<number> {
  return sql.transaction(async (tx) => {
    await tx.run(
      `UPDATE upload_items SET misses = 0 WHERE bundle = ? AND misses > 0
         AND position < (SELECT position FROM upload_items WHERE id = ? AND bundle = ?)`,
      plan,
      id,
      plan,
    );
    const missed = await tx.get<{ misses: number }>(
      'UPDATE upload_items SET misses = misses + 1 WHERE id = ? AND bundle = ? RETURNING misses',
      id,
      plan,
    );
    return missed?.misses ?? 0;
  });
}

/** All bytes of a bundle were read. */
export function forgetMisses(sql: Transactions, plan: string): Promise<number> {
  return sql.transaction((tx) =>
    tx.run('UPDATE upload_items SET misses = 0 WHERE bundle = ? AND misses > 0', plan),
  );
}
