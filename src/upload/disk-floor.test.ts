/** What the surface does when the disk is nearly full: nothing new is taken, and all that is there goes on. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { request } from 'undici';
import { eventually } from '../../test/support/eventually.ts';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { itemOwner } from '../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../wallets/testing/keys.ts';
import { startTestUpload, type TestUpload } from './testing.ts';

const signer = solanaSigner(ed25519TestKey('floor'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(613);
const none = Buffer.alloc(0);
const floor = 1_000_000;
const text = 'The disk of this service is nearly full: nothing can be uploaded for now';
const makeItem = (bytes: number) => signItem({ data: random.bytes(bytes) }, signer);

interface Disk {
  free: number;
  questions: number;
}

async function withDisk(work: (upload: TestUpload, disk: Disk) => Promise<void>): Promise<void> {
  const disk: Disk = { free: 100_000_000, questions: 0 };
  const upload = await startTestUpload(
    { MIN_FREE_DISK_BYTES: String(floor), BUNDLE_POLL_MS: '3600000' },
    {
      async freeBytes() {
        disk.questions += 1;
        return disk.free;
      },
    },
  );
  try {
    await upload.give(address, 'solana', 10n ** 12n);
    await work(upload, disk);
  } finally {
    await upload.close();
  }
}

const create = (upload: TestUpload) => upload.get('/v1/chunks/solana/-1/-1');
/** The disk is looked at once a second: by asking for something that changes nothing, until it is so. */
const seen = (upload: TestUpload, status: 200 | 507) =>
  eventually(`an answer of ${status}`, async () => (await create(upload)).status === status);

test('below the floor uploads, parts and new sessions are refused, and everything else goes on', async () => {
  await withDisk(async (upload, disk) => {
    const stored = await makeItem(30_000);
    const id = String((await upload.post('/v1/tx', stored)).body.id);
    const inParts = await makeItem(30_000);
    const session = String((await create(upload)).body.id);
    assert.equal((await upload.post(`/v1/chunks/solana/${session}/0`, inParts)).status, 200);
    const balance = await upload.balance(address);
    disk.free = floor - 1;
    await seen(upload, 507);
    const counts = await upload.counts();
    for (const answer of [
      await upload.post('/v1/tx', await makeItem(30_000)),
      await upload.post('/v1/tx/solana', await makeItem(100)),
      await upload.post(`/v1/chunks/solana/${session}/${inParts.length}`, random.bytes(10)),
      await create(upload),
    ]) {
      assert.equal(answer.status, 507);
      assert.equal(answer.body, text);
      assert.equal(answer.headers['retry-after'], '60');
    }
    assert.deepEqual(await upload.counts(), counts);
    assert.equal(await upload.balance(address), balance);
    const metrics = (await upload.get('/v1/metrics')).bytes.toString();
    assert.match(metrics, /^upload_disk_low 1$/m);
    assert.match(metrics, new RegExp(`^upload_disk_free_bytes ${floor - 1}$`, 'm'));
    assert.match(metrics, /^upload_disk_reserved_bytes 0$/m);

    assert.ok((await upload.get(`/v1/data-item/${id}`)).bytes.equals(stored));
    assert.equal((await upload.get(`/v1/tx/${id}/status`)).status, 200);
    assert.equal((await upload.get('/v1/price/solana/1000')).status, 200);
    assert.equal((await upload.get('/v1/health')).status, 200);
    const done = await upload.post(`/v1/chunks/solana/${session}/-1`, none);
    assert.equal(done.status, 200, 'what is there is finalized');
    assert.ok((await upload.balance(address)) < balance, 'and paid');

    disk.free = 100_000_000;
    await seen(upload, 200);
    assert.equal((await upload.post('/v1/tx', await makeItem(30_000))).status, 200);
    assert.match((await upload.get('/v1/metrics')).bytes.toString(), /^upload_disk_low 0$/m);
  });
});

test('who is refused for want of room is answered before anything of the body is read', async () => {
  await withDisk(async (upload, disk) => {
    const session = String((await create(upload)).body.id);
    disk.free = floor - 1;
    await seen(upload, 507);
    const { hostname, port } = new URL(upload.url);
    for (const path of ['/v1/tx', `/v1/chunks/solana/${session}/0`]) {
      const socket = connect(Number(port), hostname);
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n`);
      const [answer] = await once(socket, 'data');
      assert.match(String(answer), /^HTTP\/1\.1 507 /);
      socket.destroy();
    }
  });
});

test('bodies that are on their way count, so that many at once do not run through the floor', async () => {
  await withDisk(async (upload, disk) => {
    disk.free = floor + 5_000_000;
    const item = await makeItem(3_000_000);
    const began = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    async function* slowly() {
      yield item.subarray(0, 1_000_000);
      began.resolve();
      await gate.promise;
      yield item.subarray(1_000_000);
    }
    await eventually('the disk to be looked at', async () => {
      await create(upload);
      return (await upload.get('/v1/metrics')).bytes.includes(`upload_disk_free_bytes ${disk.free}\n`);
    });
    const sending = request(`${upload.url}/v1/tx`, {
      method: 'POST',
      headers: { 'content-length': String(item.length) },
      body: Readable.from(slowly()),
    });
    await began.promise;
    const session = String((await create(upload)).body.id);
    // Two million bytes are still to come: these would fit but for them, whether or not the disk shows the first.
    assert.equal((await upload.post('/v1/tx', await makeItem(3_500_000))).status, 507);
    assert.equal((await upload.post(`/v1/chunks/solana/${session}/0`, random.bytes(3_500_000))).status, 507);
    assert.equal((await upload.post('/v1/tx', await makeItem(1_000_000))).status, 200, 'what fits is taken');
    gate.resolve();
    const answer = await sending;
    assert.equal(answer.statusCode, 200, await answer.body.text());
    assert.match((await upload.get('/v1/metrics')).bytes.toString(), /^upload_disk_reserved_bytes 0$/m);
    // A client that leaves gives back what it announced.
    const leaving = connect(Number(new URL(upload.url).port), '127.0.0.1');
    const half = await makeItem(500_000);
    leaving.write(`POST /v1/tx HTTP/1.1\r\nHost: x\r\nContent-Length: ${half.length}\r\n\r\n`);
    leaving.write(half.subarray(0, 100_000));
    await eventually('the body to be announced', async () => {
      return !(await upload.get('/v1/metrics')).bytes.includes('upload_disk_reserved_bytes 0\n');
    });
    leaving.destroy();
    await eventually('its room to be free again', async () => {
      return (await upload.get('/v1/metrics')).bytes.includes('upload_disk_reserved_bytes 0\n');
    });
  });
});

test('a body of unknown length is refused when it runs into the floor, and leaves nothing', async () => {
  await withDisk(async (upload, disk) => {
    disk.free = floor + 2_000_000;
    await eventually('the disk to be looked at', async () => {
      await create(upload);
      return (await upload.get('/v1/metrics')).bytes.includes(`upload_disk_free_bytes ${disk.free}\n`);
    });
    const item = await makeItem(3_000_000);
    const answer = await request(`${upload.url}/v1/tx`, {
      method: 'POST',
      body: Readable.from([item.subarray(0, 1_500_000), item.subarray(1_500_000)]),
    });
    assert.equal(answer.statusCode, 507);
    assert.deepEqual(await answer.body.json(), text);
    const { upload_items: items, upload_blobs: blobs } = await upload.counts();
    assert.deepEqual([items, blobs], [0, 0]);
  });
});

test('the file system is not asked for each request', async () => {
  await withDisk(async (upload, disk) => {
    const before = performance.now();
    const questions = disk.questions;
    for (let times = 0; times < 60; times += 1) await upload.post('/v1/tx', await makeItem(100));
    const seconds = (performance.now() - before) / 1_000;
    // Two folders, once a second at most, and once more for those that nobody asked for.
    assert.ok(disk.questions - questions <= 2 * (Math.ceil(seconds) + 1) + 2 * Math.ceil(seconds / 10));
  });
});
