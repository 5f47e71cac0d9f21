/** The S3 store over object stores that people run: Ceph's gateway, and Swift's S3 interface. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseS3Url } from '../../src/storage/blobs/s3/address.ts';
import { S3Client, S3Refusal } from '../../src/storage/blobs/s3/client.ts';
import { listObjects, listUploads } from '../../src/storage/blobs/s3/listing.ts';
import { S3BlobStore } from '../../src/storage/blobs/s3/store.ts';
import { startFaultyS3 } from '../../src/storage/blobs/s3/testing.ts';
import { describeS3Store } from '../../src/storage/blobs/s3/testing-suite.ts';
import { readAll, seededBytes, sha256 } from '../../src/storage/blobs/testing.ts';
import { eventually } from '../support/eventually.ts';
import { cephPrograms, startCeph } from '../support/servers/ceph.ts';
import type { ObjectStore } from '../support/servers/object-store.ts';
import { skipWithout } from '../support/servers/programs.ts';
import { type Swift, startSwift, swiftPrograms } from '../support/servers/swift.ts';

/** What real stores take as a part at least. */
const partSize = 5 * 1024 * 1024;

describe('Ceph', { skip: skipWithout(cephPrograms) ?? false }, () => {
  let ceph: ObjectStore;
  let client: S3Client;
  before(async () => {
    ceph = await startCeph({ secondsOfDay: 2 });
    client = new S3Client(parseS3Url(ceph.url));
  });
  after(async () => {
    await client?.close();
    await ceph?.stop();
  });

  describeS3Store('the suite', { start: () => startFaultyS3(ceph.url), partSize, listsUploads: true });
  itSurvives(() => ceph);

  it('takes the lifecycle rule of the docs, which ends what nobody finishes', async () => {
    const guide = readFileSync(resolve(import.meta.dirname, '../../docs/scaling.md'), 'utf8');
    const rule = /<LifecycleConfiguration>.*<\/LifecycleConfiguration>/s.exec(guide)?.[0];
    assert.ok(rule !== undefined);
    await client.ask({ method: 'POST', key: 'tmp/left', query: { uploads: '' } });
    await client.tell({ method: 'PUT', key: 'tmp/left', body: Buffer.from('left') });
    await client.tell({ method: 'PUT', key: 'kept', body: Buffer.from('kept') });
    const headers = { 'content-md5': createHash('md5').update(rule).digest('base64') };
    await client.tell({ method: 'PUT', key: '', query: { lifecycle: '' }, headers, body: Buffer.from(rule) });
    await eventually('the store ended both', async () => {
      for await (const _ of listUploads(client)) return false;
      for await (const _ of listObjects(client, 'tmp/')) return false;
      return true;
    });
    assert.equal((await client.tell({ method: 'HEAD', key: 'kept' })).statusCode, 200);
  });
});

describe('Swift', { skip: skipWithout(swiftPrograms) ?? false }, () => {
  let swift: Swift;
  before(async () => {
    swift = await startSwift();
  });
  after(() => swift?.stop());

  describeS3Store('the suite', { start: () => startFaultyS3(swift.url), partSize, listsUploads: true });
  itSurvives(() => swift);

  it('has no conditional writes, which nothing here needs', async () => {
    const client = new S3Client(parseS3Url(swift.url));
    const put = {
      method: 'PUT',
      key: 'once',
      body: Buffer.from('x'),
      headers: { 'if-none-match': '*' },
    } as const;
    await assert.rejects(client.tell(put), (error) => error instanceof S3Refusal && error.status === 501);
    await client.close();
  });

  it('lists 100,000 objects, each once and in order, a page at a time', async () => {
    const count = 100_000;
    await swift.fillList(count);
    const client = new S3Client(parseS3Url(swift.url));
    let [seen, last, peak] = [0, '', 0];
    const before = process.memoryUsage().heapUsed;
    for await (const { key } of listObjects(client, 'listed/')) {
      assert.ok(key > last, `${key} after ${last}`);
      last = key;
      seen += 1;
      if (seen % 10_000 === 0) peak = Math.max(peak, process.memoryUsage().heapUsed - before);
    }
    assert.equal(seen, count);
    assert.ok(peak < 100 * 1024 * 1024, `${peak} bytes of heap`);
    await client.close();
    const store = await S3BlobStore.open(swift.url);
    const began = performance.now();
    assert.equal(await store.removeLeftovers(0), 0);
    assert.ok(
      performance.now() - began < 10_000,
      'what is left over is found without reading the whole list',
    );
    await store.close();
  });
});

/** The gateway of a store is killed while it is written to and read from. */
function itSurvives(server: () => ObjectStore): void {
  it('goes on when what answers for the store was killed and is back', async () => {
    const front = await startFaultyS3(server().url);
    const store = await S3BlobStore.open(front.url, { partSize });
    const bytes = seededBytes(partSize * 2, 61);
    const writer = await store.writer();
    await writer.write(bytes.subarray(0, partSize + 1));
    await eventually('a part is there', () => front.answered.some((asked) => asked.includes('partNumber=1')));
    await server().kill();
    await assert.rejects(store.size(sha256(bytes)), /cannot be reached/);
    await server().start();
    await writer.write(bytes.subarray(partSize + 1));
    await writer.commit();
    const reader = await store.open(sha256(bytes));
    assert.ok(reader !== undefined);
    const read = readAll(reader.stream());
    server().pause();
    setTimeout(() => server().resume(), 1_500);
    assert.ok((await read).equals(bytes), 'and waits for one that pauses');
    await store.close();
    await front.close();
  });
}
