import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { StartupError } from '../../kernel/errors.ts';
import { openBlobStore } from './open.ts';

describe('opening the blob store', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-open-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('keeps blobs in the data folder unless a bucket is named', async () => {
    const store = await openBlobStore({ blobStoreUrl: undefined, dataDir: join(folder, 'new') });
    const { digest } = await store.put(Buffer.from('abc'));
    assert.equal(await store.size(digest), 3);
    await store.close();
  });

  it('says in one line what a person can do something about', async () => {
    writeFileSync(join(folder, 'blobs'), '');
    await assert.rejects(openBlobStore({ blobStoreUrl: undefined, dataDir: folder }), StartupError);
    await assert.rejects(
      openBlobStore({ blobStoreUrl: 's3://k:secret@127.0.0.1:1/bucket', dataDir: folder }),
      (error) => {
        assert.ok(error instanceof StartupError);
        assert.match(error.message, /^BLOB_STORE_URL: /);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  });
});
