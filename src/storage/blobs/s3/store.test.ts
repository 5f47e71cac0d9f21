import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StartupError } from '../../../kernel/errors.ts';
import { BlobStoreUnavailable } from '../blobs.ts';
import { parseS3Url } from './address.ts';
import { S3BlobStore } from './store.ts';
import { startTestS3 } from './testing.ts';
import { describeS3Store } from './testing-suite.ts';

describe('the address of an S3 store', () => {
  it('names host, bucket, key and region', () => {
    assert.deepEqual(parseS3Url('s3s://AK%2FID:sec%2Bret@store.example/my-bucket/a/b?region=eu-west-1'), {
      origin: 'https://store.example',
      bucket: 'my-bucket',
      prefix: 'a/b/',
      accessKeyId: 'AK/ID',
      secretAccessKey: 'sec+ret',
      region: 'eu-west-1',
    });
    assert.equal(parseS3Url('s3://k:s@127.0.0.1:9000/bucket').origin, 'http://127.0.0.1:9000');
  });

  it('is refused when something is missing, without repeating the secret', () => {
    for (const url of [
      's3://host/bucket',
      's3://k:topsecret@host',
      's3://k:topsecret@host/B',
      'http://k:topsecret@h/bucket',
      's3://k:topsecret@h/bucket?x=1',
      's3://k:topsecret@h/bucket/../x y',
      's3://k:topsecret%@h/bucket',
      's3://%zz:topsecret@h/bucket',
      'nonsense',
    ]) {
      assert.throws(
        () => parseS3Url(url),
        (error) => error instanceof StartupError && !error.message.includes('topsecret'),
        url,
      );
    }
  });
});

describeS3Store('the S3 store', { start: startTestS3, partSize: 256 * 1024, listsUploads: false });

it('says that a store which nobody serves is unavailable', async () => {
  await assert.rejects(S3BlobStore.open('s3://k:s@127.0.0.1:1/bucket'), BlobStoreUnavailable);
});
