/** Opens the blob store that the configuration names: files in the data folder, or a bucket. */
import { join } from 'node:path';
import type { BlobStore } from './blobs.ts';
import { type BlobCache, type BlobCacheOptions, createBlobCache } from './cache/cache.ts';
import { DiskBlobStore } from './disk/store.ts';
import { S3BlobStore } from './s3/store.ts';

export interface BlobStoreOptions {
  /** `s3://key:secret@host:port/bucket`, `s3s://…` over TLS; undefined for files. */
  readonly blobStoreUrl: string | undefined;
  readonly dataDir: string;
}

export async function openBlobStore(options: BlobStoreOptions): Promise<BlobStore> {
  const { blobStoreUrl, dataDir } = options;
  if (blobStoreUrl !== undefined) return S3BlobStore.open(blobStoreUrl);
  return DiskBlobStore.open({ folder: join(dataDir, 'blobs') });
}

/** A bounded cache of its own in `folder`, whatever the configured store is. */
export async function openBlobCache(
  options: BlobCacheOptions & { readonly folder: string },
): Promise<BlobCache> {
  const { folder, ...limits } = options;
  return createBlobCache(await DiskBlobStore.open({ folder, durable: false }), limits);
}
