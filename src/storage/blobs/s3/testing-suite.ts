/** What holds over every S3-compatible store, as tests: one suite for the light one and for real ones. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { StartupError } from '../../../kernel/errors.ts';
import { BlobDamaged, BlobMissing, BlobStoreUnavailable, openSized } from '../blobs.ts';
import { describeBlobStore, readAll, seededBytes, sha256 } from '../testing.ts';
import { parseS3Url } from './address.ts';
import { S3Client } from './client.ts';
import { temporaryKey } from './keys.ts';
import { listObjects, listUploads } from './listing.ts';
import { S3BlobStore } from './store.ts';
import type { S3Fault, TestS3 } from './testing.ts';

export interface S3Suite {
  readonly start: () => Promise<TestS3>;
  /** The least that the store takes as a part. */
  readonly partSize: number;
  /** Whether it lists uploads that are not complete. */
  readonly listsUploads: boolean;
}

export function describeS3Store(name: string, { start, partSize, listsUploads }: S3Suite): void {
  describe(name, () => {
    let s3: TestS3;
    let store: S3BlobStore;
    let client: S3Client;
    before(async () => {
      s3 = await start();
      client = new S3Client(parseS3Url(s3.url));
    });
    after(async () => {
      await client?.close();
      await s3?.close();
    });
    beforeEach(async () => {
      store = await S3BlobStore.open(s3.url, { partSize });
      s3.requests.length = 0;
    });
    afterEach(async () => {
      s3.fault = () => undefined;
      await store.close();
    });

    const asked = (part: string) => s3.requests.filter((request) => request.includes(part));
    /** Each request of a kind is hit once, and then again under another number. */
    const onceEach = (fault: S3Fault) => {
      const hit = new Set<string>();
      s3.fault = (request) => {
        if (hit.has(request)) return undefined;
        hit.add(request);
        return fault;
      };
      return hit;
    };
    const expectBlob = async (bytes: Buffer, of: S3BlobStore = store) => {
      const reader = await of.open(sha256(bytes));
      assert.ok(reader !== undefined, 'the blob is there');
      assert.equal(reader.size, bytes.length);
      assert.ok((await readAll(reader.stream())).equals(bytes));
    };
    const keysBelow = async (below: string) => {
      const keys: string[] = [];
      for await (const { key } of listObjects(client, below)) keys.push(key);
      return keys;
    };

    describeBlobStore(() => store, partSize * 2 + 150_000);

    it('sends a small blob straight to its key', async () => {
      const { digest } = await store.put(seededBytes(1_000, 31));
      const key = `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
      assert.deepEqual(s3.requests, [`PUT /${parseS3Url(s3.url).bucket}/${key}`]);
    });

    it('leaves nothing but the blob of a large upload', async () => {
      const bytes = seededBytes(partSize * 3, 32);
      await store.put(bytes);
      assert.deepEqual([asked('DELETE ').length, asked('partNumber=').length], [1, 3]);
      assert.deepEqual(await keysBelow('tmp/'), []);
    });

    it('copies an object beyond the limit of one copy in pieces', async () => {
      const limits = { partSize, maxCopySize: partSize, copyPieceSize: partSize };
      const tight = await S3BlobStore.open(s3.url, limits);
      const bytes = seededBytes(partSize + 200_000, 33);
      await tight.put(bytes);
      await expectBlob(bytes, tight);
      assert.equal(asked('partNumber=').length, 4, 'two parts, two pieces');
      await tight.close();
    });

    it('makes parts larger, so that a store which takes few is enough', async () => {
      const few = await S3BlobStore.open(s3.url, { partSize, maxPartSize: partSize * 4, fewParts: 8 });
      const bytes = seededBytes(partSize * 12, 41);
      await few.put(bytes);
      assert.equal(asked('partNumber=').length, 7, 'four single, one double, one fourfold, the rest');
      await expectBlob(bytes, few);
      await few.delete(sha256(bytes));
      s3.requests.length = 0;
      const writer = await few.writer(bytes.length);
      await writer.write(bytes);
      await writer.commit();
      assert.equal(asked('partNumber=').length, 8, 'equal ones, as the size is known');
      await expectBlob(bytes, few);
      await few.close();
    });

    it('tries again what the store failed to do', async () => {
      const hit = onceEach(503);
      const bytes = seededBytes(partSize + 1, 34);
      await store.put(bytes);
      await expectBlob(bytes);
      assert.ok(hit.size > 7);
    });

    it('holds back for a store that asks for fewer requests', async () => {
      let refusals = 3;
      s3.fault = () => (refusals-- > 0 ? { status: 503, code: 'SlowDown' } : undefined);
      const bytes = seededBytes(2_000, 38);
      const began = performance.now();
      await store.put(bytes);
      // At least half of 200, 400 and 800 ms.
      assert.ok(performance.now() - began >= 690, 'it was not hurried');
      assert.equal(s3.requests.length, 4);
      await expectBlob(bytes);
    });

    it('comes back when the store said, and not at all when that is too late', async () => {
      let refusals = 1;
      const refuse = (after: string) => (): S3Fault | undefined =>
        refusals-- > 0 ? { status: 503, code: 'Busy', headers: { 'retry-after': after } } : undefined;
      s3.fault = refuse('1');
      const began = performance.now();
      await store.put(seededBytes(2_000, 39));
      assert.ok(performance.now() - began >= 1_000);
      refusals = 1;
      s3.fault = refuse('3600');
      await assert.rejects(store.put(seededBytes(2_000, 40)), BlobStoreUnavailable);
      assert.equal(refusals, 0);
    });

    it('stores a blob whole and once, though every answer is lost once', async () => {
      const hit = onceEach('lost');
      const bytes = seededBytes(partSize + 1, 42);
      await store.put(bytes);
      await expectBlob(bytes);
      for (const kind of ['partNumber=', '?uploads', 'DELETE']) {
        assert.ok(
          [...hit].some((request) => request.includes(kind)),
          kind,
        );
      }
      assert.deepEqual(await keysBelow('tmp/'), []);
      onceEach('lost');
      assert.equal(await store.delete(sha256(bytes)), true);
      assert.equal(await store.size(sha256(bytes)), undefined);
    });

    it('stores a blob whole, though every answer breaks off once', async () => {
      onceEach('cut');
      const bytes = seededBytes(partSize + 1, 43);
      await store.put(bytes);
      await expectBlob(bytes);
    });

    it('waits for a slow store, and asks again where it is too slow', async () => {
      const hasty = await S3BlobStore.open(s3.url, { partSize, answerMs: 500 });
      const bytes = seededBytes(30_000, 44);
      onceEach({ delayMs: 200 });
      await hasty.put(bytes);
      assert.equal(asked('PUT').length, 1, 'it was waited for');
      const late = seededBytes(30_000, 45);
      onceEach({ delayMs: 2_500 });
      await hasty.put(late);
      assert.equal(asked('PUT').length, 3, 'it was asked again');
      s3.fault = () => undefined;
      await expectBlob(bytes);
      await expectBlob(late);
      await hasty.close();
    });

    it('takes up a body that breaks off where it ended', async () => {
      const bytes = seededBytes(900_000, 35);
      const { digest } = await store.put(bytes);
      let cuts = 2;
      s3.fault = (request) => (request.startsWith('GET') && cuts-- > 0 ? 'cut' : undefined);
      const reader = await store.open(digest);
      assert.ok((await readAll(reader!.stream(10, 890_000))).equals(bytes.subarray(10, 890_000)));
      assert.ok(cuts < 0);
    });

    it('does not join two objects of one name', async () => {
      const { digest } = await store.put(seededBytes(1_000, 37));
      const reader = await store.open(digest);
      const key = `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
      await client.tell({ method: 'PUT', key, body: seededBytes(1_000, 46) });
      await assert.rejects(readAll(reader!.stream()), /replaced while it was read/);
    });

    it('reads a blob of known size in one trip, whole or in part', async () => {
      const bytes = seededBytes(700_000, 51);
      const { digest, size } = await store.put(bytes);
      s3.requests.length = 0;
      const reader = await openSized(store, digest, size);
      assert.ok((await readAll(reader.stream())).equals(bytes));
      const part = Buffer.alloc(1_000);
      assert.equal(await reader.read(part, 500), 1_000);
      assert.ok(part.equals(bytes.subarray(500, 1_500)));
      assert.deepEqual(
        s3.requests.map((request) => request.split(' ')[0]),
        ['GET', 'GET'],
      );
      let cuts = 1;
      s3.fault = (request) => (request.startsWith('GET') && cuts-- > 0 ? 'cut' : undefined);
      const again = await openSized(store, digest, size);
      assert.ok((await readAll(again.stream())).equals(bytes), 'what breaks off is taken up again');
    });

    it('says of a blob of known size that it is not there, or has another size', async () => {
      const { digest, size } = await store.put(seededBytes(50_000, 52));
      const read = async (name: string, of: number, end = of) =>
        readAll((await openSized(store, name, of)).stream(0, end));
      await assert.rejects(read('0'.repeat(64), 100), BlobMissing);
      for (const other of [size - 1, size + 1]) await assert.rejects(read(digest, other), BlobDamaged);
      await assert.rejects(readAll((await openSized(store, digest, 60_000)).stream(55_000)), BlobDamaged);
      await assert.rejects(openSized(store, '../x', 1), TypeError);
    });

    it('gives up on a store that keeps failing, and shows nothing of the blob', async () => {
      const bytes = seededBytes(partSize * 2, 36);
      s3.fault = (request) => (request.includes('partNumber=2') ? 500 : undefined);
      await assert.rejects(store.put(bytes), BlobStoreUnavailable);
      s3.fault = () => undefined;
      assert.equal(await store.size(sha256(bytes)), undefined);
      assert.ok(s3.requests.some((request) => request.startsWith('DELETE') && request.includes('uploadId=')));
    });

    it('removes what nobody finished, once it is old, and nothing of others', async () => {
      const begin = async (key: string) => client.ask({ method: 'POST', key, query: { uploads: '' } });
      const put = async (key: string) => client.tell({ method: 'PUT', key, body: Buffer.from('left') });
      await store.removeLeftovers(-5_000);
      const { digest } = await store.put(seededBytes(1_000, 47));
      const unfinished = temporaryKey();
      await begin(unfinished);
      await begin(`${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`);
      await begin('others/upload');
      await put(temporaryKey());
      await put('tmp/of-others');
      const abandoned = listsUploads ? 3 : 1;
      // By the clock of the store, which tells whole seconds.
      assert.equal(await store.removeLeftovers(600_000), 0, 'what is young stays');
      assert.equal(await store.removeLeftovers(-5_000), abandoned);
      assert.equal(await store.removeLeftovers(-5_000), 0, 'nothing is left to remove');
      assert.deepEqual(await keysBelow('tmp/'), ['tmp/of-others']);
      assert.equal(await store.size(digest), 1_000);
      if (listsUploads) {
        const left: string[] = [];
        for await (const { key, uploadId } of listUploads(client)) {
          left.push(key);
          await client.tell({ method: 'DELETE', key, query: { uploadId } });
        }
        assert.deepEqual(left, ['others/upload']);
      }
      await client.tell({ method: 'DELETE', key: 'tmp/of-others' });
    });

    it('lists keys of any characters', async () => {
      const odd = ['a b', 'a+b', 'a%2Fb', 'ä/ö', '<&>"\'', '日本', 'q?x=1#y', 'z'];
      for (const key of odd) {
        const path = ['odd', ...key.split('/')].map(encodeURIComponent).join('/');
        await client.tell({ method: 'PUT', key: path, body: Buffer.from(key) });
      }
      assert.deepEqual((await keysBelow('odd/')).sort(), odd.map((key) => `odd/${key}`).sort());
    });

    it('does not start with a wrong secret or without its bucket', async () => {
      const wrong = new URL(s3.url);
      wrong.password = 'wrong';
      await assert.rejects(S3BlobStore.open(wrong.href), StartupError);
      const nowhere = new URL(s3.url);
      nowhere.pathname = '/nowhere';
      await assert.rejects(S3BlobStore.open(nowhere.href), StartupError);
    });
  });
}
