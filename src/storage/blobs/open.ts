/** Opens the blob store that the configuration names: files in the data folder, or a bucket. */
import { join } from 'node:path';
import type { BlobStore } from './blobs.ts';
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
