import type { BlobReader, BlobStore } from '../storage/blobs/blobs.ts';

/**
 * Content in the cache: as bytes where it is no larger than `smallBytes`, else to be read by whoever closes it.
 * undefined where it is not there, not of that size, or cut short.
 */
export async function openCached(
  cache: BlobStore,
  digest: string,
  size: number,
  smallBytes: number,
): Promise<{ readonly bytes: Buffer } | { readonly reader: BlobReader } | undefined> {
  const reader = await cache.open(digest);
  if (reader === undefined) return undefined;
  const isSound = reader.size === size;
  if (isSound && size > smallBytes) return { reader };
  try {
    const bytes = Buffer.allocUnsafeSlow(isSound ? size : 0);
    return isSound && (await reader.read(bytes, 0)) === size ? { bytes } : undefined;
  } finally {
    await reader.close();
  }
}
