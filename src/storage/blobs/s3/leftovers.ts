/**
 * Removes what processes that died left in the bucket: uploads in parts that nobody will complete, and temporary objects
 * that nobody will copy. A lifecycle rule of the bucket does the same where the store knows such rules; some do not. Keys
 * that are not of this program's making are left alone.
 */
import { type S3Client, S3Refusal } from './client.ts';
import { isBlobKey, isTemporaryKey, temporaryPrefix } from './keys.ts';
import { listObjects, listUploads } from './listing.ts';

/** Answers how many were removed. Several processes may do it at once. */
export async function removeLeftovers(client: S3Client, olderThanMs: number): Promise<number> {
  return (await abortUploads(client, olderThanMs)) + (await deleteTemporaries(client, olderThanMs));
}

async function abortUploads(client: S3Client, olderThanMs: number): Promise<number> {
  let removed = 0;
  try {
    for await (const { key, uploadId, ageMs } of listUploads(client)) {
      if (ageMs < olderThanMs || !(isTemporaryKey(key) || isBlobKey(key))) continue;
      await client.tell({ method: 'DELETE', key, query: { uploadId } }, [200, 204, 404]);
      removed += 1;
    }
  } catch (error) {
    // Not every store can list them; then they are for its own rules.
    if (!(error instanceof S3Refusal && (error.status === 501 || error.status === 405))) throw error;
  }
  return removed;
}

async function deleteTemporaries(client: S3Client, olderThanMs: number): Promise<number> {
  let removed = 0;
  for await (const { key, ageMs } of listObjects(client, temporaryPrefix)) {
    if (ageMs < olderThanMs || !isTemporaryKey(key)) continue;
    await client.tell({ method: 'DELETE', key }, [200, 204, 404]);
    removed += 1;
  }
  return removed;
}
