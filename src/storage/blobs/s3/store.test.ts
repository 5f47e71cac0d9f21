import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { StartupError } from '../../../kernel/errors.ts';
import { BlobDamaged, BlobMissing, BlobStoreUnavailable, openSized } from '../blobs.ts';
import { describeBlobStore, readAll, seededBytes, sha256 } from '../testing.ts';
import { parseS3Url } from './address.ts';
import { S3BlobStore } from './store.ts';
import { startTestS3, type TestS3 } from './testing.ts';

const partSize = 256 * 1024;

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

describe('the S3 store', () => {
  let s3: TestS3;
  let store: S3BlobStore;
  before(async () => {
    s3 = await startTestS3();
  });
  after(() => s3.close());
  beforeEach(async () => {
    store = await S3BlobStore.open(s3.url, { partSize });
    s3.requests.length = 0;
  });
  afterEach(async () => {
    s3.fault = () => undefined;
    await store.close();
  });

  describeBlobStore(() => store, 1_200_000);

  it('sends a small blob straight to its key', async () => {
    const { digest } = await store.put(seededBytes(1_000, 31));
    assert.deepEqual(s3.requests, [`PUT /turnpike/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`]);
  });

  it('leaves nothing but the blob of a large upload', async () => {
    const bytes = seededBytes(partSize * 3, 32);
    await store.put(bytes);
    const deleted = s3.requests.filter((asked) => asked.startsWith('DELETE /turnpike/tmp/'));
    const parts = s3.requests.filter((asked) => asked.includes('partNumber='));
    assert.deepEqual([deleted.length, parts.length], [1, 3]);
  });

  it('copies an object beyond the limit of one copy in pieces', async () => {
    const tight = await S3BlobStore.open(s3.url, { partSize, maxCopySize: 500_000, copyPieceSize: 300_000 });
    const bytes = seededBytes(1_000_000, 33);
    const { digest } = await tight.put(bytes);
    const reader = await tight.open(digest);
    assert.ok((await readAll(reader!.stream())).equals(bytes));
    await tight.close();
  });

  it('tries again what the store failed to do', async () => {
    const failed = new Set<string>();
    s3.fault = (asked) => {
      if (failed.has(asked)) return undefined;
      failed.add(asked);
      return 503;
    };
    const bytes = seededBytes(partSize + 1, 34);
    const { digest } = await store.put(bytes);
    const reader = await store.open(digest);
    assert.ok((await readAll(reader!.stream())).equals(bytes));
  });

  it('takes up a body that breaks off where it ended', async () => {
    const bytes = seededBytes(900_000, 35);
    const { digest } = await store.put(bytes);
    let cuts = 2;
    s3.fault = (asked) => (asked.startsWith('GET') && cuts-- > 0 ? 'cut' : undefined);
    const reader = await store.open(digest);
    assert.ok((await readAll(reader!.stream(10, 890_000))).equals(bytes.subarray(10, 890_000)));
    assert.ok(cuts < 0);
  });

  it('does not join two objects of one name', async () => {
    const { digest } = await store.put(seededBytes(1_000, 37));
    const reader = await store.open(digest);
    s3.fault = (asked) => (asked.startsWith('GET') ? 412 : undefined);
    await assert.rejects(readAll(reader!.stream()), /replaced while it was read/);
  });

  it('reads a blob of known size in one trip, whole or in part', async () => {
    const bytes = seededBytes(700_000, 38);
    const { digest, size } = await store.put(bytes);
    s3.requests.length = 0;
    const reader = await openSized(store, digest, size);
    assert.ok((await readAll(reader.stream())).equals(bytes));
    const part = Buffer.alloc(1_000);
    assert.equal(await reader.read(part, 500), 1_000);
    assert.ok(part.equals(bytes.subarray(500, 1_500)));
    assert.deepEqual(
      s3.requests.map((asked) => asked.split(' ')[0]),
      ['GET', 'GET'],
    );
    let cuts = 1;
    s3.fault = (asked) => (asked.startsWith('GET') && cuts-- > 0 ? 'cut' : undefined);
    const again = await openSized(store, digest, size);
    assert.ok((await readAll(again.stream())).equals(bytes), 'what breaks off is taken up again');
  });

  it('says of a blob of known size that it is not there, or has another size', async () => {
    const { digest, size } = await store.put(seededBytes(50_000, 39));
    const read = async (name: string, of: number, end = of) =>
      readAll((await openSized(store, name, of)).stream(0, end));
    await assert.rejects(read('0'.repeat(64), 100), BlobMissing);
    for (const other of [size - 1, size + 1]) await assert.rejects(read(digest, other), BlobDamaged);
    await assert.rejects(readAll((await openSized(store, digest, 60_000)).stream(55_000)), BlobDamaged);
    await assert.rejects(openSized(store, '../x', 1), TypeError);
  });

  it('gives up on a store that keeps failing, and shows nothing of the blob', async () => {
    const bytes = seededBytes(partSize * 2, 36);
    s3.fault = (asked) => (asked.includes('partNumber=2') ? 500 : undefined);
    await assert.rejects(store.put(bytes), BlobStoreUnavailable);
    s3.fault = () => undefined;
    assert.equal(await store.size(sha256(bytes)), undefined);
    assert.ok(s3.requests.some((asked) => asked.startsWith('DELETE') && asked.includes('uploadId=')));
  });

  it('says that a store which nobody serves is unavailable', async () => {
    await assert.rejects(S3BlobStore.open('s3://k:s@127.0.0.1:1/bucket'), BlobStoreUnavailable);
  });

  it('does not start with a wrong secret or without its bucket', async () => {
    await assert.rejects(S3BlobStore.open(s3.url.replace(':S3RVER@', ':wrong@')), StartupError);
    await assert.rejects(S3BlobStore.open(s3.url.replace('/turnpike', '/nowhere')), StartupError);
  });
});
