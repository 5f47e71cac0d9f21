import type { BlobDigest, BlobWriter } from './blobs.ts';

/** Writes everything and commits; a source that fails leaves nothing behind. */
export async function putThrough(
  writer: BlobWriter,
  bytes: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<{ digest: BlobDigest; size: number }> {
  try {
    if (bytes instanceof Uint8Array) await writer.write(bytes);
    else for await (const piece of bytes) await writer.write(piece);
    return await writer.commit();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
