/** Opens the blob store that the configuration names: files in the data folder, or a bucket. */
import { join } from 'node:path';
import { StartupError } from '../../kernel/errors.ts';
import type { BlobStore } from './blobs.ts';
import { DiskBlobStore } from './disk/store.ts';

export interface BlobStoreOptions {
  /** `s3://key:secret@host:port/bucket`, `s3s://…` over TLS; undefined for files. */
  readonly blobStoreUrl: string | undefined;
  readonly dataDir: string;
}

export async function openBlobStore(options: BlobStoreOptions): Promise<BlobStore> {
  const { blobStoreUrl, dataDir } = options;
  if (blobStoreUrl === undefined) return DiskBlobStore.open({ folder: join(dataDir, 'blobs') });
  throw new StartupError('BLOB_STORE_URL: only the disk store is here yet');
}
