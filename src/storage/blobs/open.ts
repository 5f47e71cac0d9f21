/** Opens the blob store that the configuration names: files in the data folder, or a bucket. */
import { join } from 'node:path';
import { StartupError } from '../../kernel/errors.ts';
import { type BlobStore, BlobStoreUnavailable } from './blobs.ts';
import { type BlobCache, type BlobCacheOptions, createBlobCache } from './cache/cache.ts';
import { DiskBlobStore } from './disk/store.ts';
import { S3BlobStore } from './s3/store.ts';

export interface BlobStoreOptions {
  /** `s3://key:secret@host:port/bucket`, `s3s://…` over TLS; undefined for files. */
  readonly blobStoreUrl: string | undefined;
  readonly dataDir: string;
}

/** Throws a `StartupError` when the store cannot be used: a person has to see to it. */
export async function openBlobStore(options: BlobStoreOptions): Promise<BlobStore> {
  const { blobStoreUrl, dataDir } = options;
  const folder = join(dataDir, 'blobs');
  try {
    if (blobStoreUrl !== undefined) return await S3BlobStore.open(blobStoreUrl);
    return await DiskBlobStore.open({ folder });
  } catch (error) {
    if (!(error instanceof BlobStoreUnavailable)) throw error;
    const what = blobStoreUrl === undefined ? `cannot keep blobs in ${folder}` : 'BLOB_STORE_URL';
    throw new StartupError(`${what}: ${error.message}`, { cause: error });
  }
}

/** A bounded cache of its own in `folder`, whatever the configured store is. */
export async function openBlobCache(
  options: BlobCacheOptions & { readonly folder: string },
): Promise<BlobCache> {
  const { folder, ...limits } = options;
  const { maxEntries: maxStamps } = limits;
  const store = { folder, durable: false, ...(maxStamps !== undefined && { maxStamps }) };
  return createBlobCache(await DiskBlobStore.open(store), limits);
}
