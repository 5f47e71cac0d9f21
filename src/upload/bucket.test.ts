/** The surface over an S3 store: the same answers, and what a store that fails half-way leaves behind. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { startTestS3, type TestS3 } from '../storage/blobs/s3/testing.ts';
import { itemOwner } from '../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../wallets/testing/keys.ts';
import { pricePerByte, startTestUpload, type TestUpload } from './testing.ts';

const signer = solanaSigner(ed25519TestKey('bucket'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(811);
const none = Buffer.alloc(0);
const partBytes = 9 * 1024 * 1024;
let s3: TestS3;
let upload: TestUpload;

before(async () => {
  s3 = await startTestS3();
  upload = await startTestUpload(
    { BLOB_STORE_URL: s3.url, BUNDLE_POLL_MS: '50', BUNDLE_MAX_WAIT_MS: '9999999' },
    { now: Date.now },
  );
  await upload.give(address, 'solana', 10n ** 15n);
});
after(async () => {
  s3.fault = () => undefined;
  await upload.close();
  await s3.close();
});

test('an item is stored, found again and read by range', async () => {
  const item = await signItem({ data: random.bytes(300_000) }, signer);
  const stored = await upload.post('/v1/tx', item);
  assert.equal(stored.status, 200);
  assert.equal((await upload.post('/v1/tx', item)).status, 202);
  const whole = await upload.get(`/v1/data-item/${stored.body.id}`);
  assert.ok(whole.bytes.equals(item));
  const part = await upload.get(`/v1/data-item/${stored.body.id}`, { range: 'bytes=50-200049' });
  assert.ok(part.bytes.equals(item.subarray(50, 200_050)));
});

test('an upload in parts becomes one item without being written again', async () => {
  const item = await signItem({ data: random.bytes(2 * partBytes + 1_000) }, signer);
  const id = (await upload.get(`/v1/chunks/solana/-1/-1?chunkSize=${partBytes}`)).body.id;
  for (const offset of [2 * partBytes, 0, partBytes]) {
    const part = item.subarray(offset, offset + partBytes);
    assert.equal((await upload.post(`/v1/chunks/solana/${id}/${offset}`, part)).status, 200);
  }
  const written = s3.requests.filter((asked) => asked.startsWith('PUT')).length;
  const balance = await upload.balance(address);
  // The first bytes break off once: they are taken up where they ended.
  let cuts = 1;
  s3.fault = (asked) => (asked.startsWith('GET') && cuts-- > 0 ? 'cut' : undefined);
  const done = await upload.post(`/v1/chunks/solana/${id}/-1`, none);
  s3.fault = () => undefined;
  assert.equal(done.status, 200, JSON.stringify(done.body));
  assert.equal(s3.requests.filter((asked) => asked.startsWith('PUT')).length, written);
  assert.equal(await upload.balance(address), balance - BigInt(item.length) * pricePerByte);
  const border = await upload.get(`/v1/data-item/${done.body.id}`, {
    range: `bytes=${partBytes - 5}-${partBytes + 4}`,
  });
  assert.ok(border.bytes.equals(item.subarray(partBytes - 5, partBytes + 5)));
});

test('a store that fails refuses the item, charges nothing, and takes it when it is back', async () => {
  const item = await signItem({ data: random.bytes(200_000) }, signer);
  const before = await upload.balance(address);
  const counts = await upload.counts();
  s3.fault = () => 500;
  const refused = await upload.post('/v1/tx', item);
  s3.fault = () => undefined;
  assert.equal(refused.status, 503);
  assert.match(String(refused.body), /Object Store is unreachable$/);
  assert.equal(await upload.balance(address), before);
  assert.equal((await upload.counts()).upload_items, counts.upload_items);
  assert.equal((await upload.post('/v1/tx', item)).status, 200);
});

test('an upload that could not be read while it was finalized is finished when the store is back', async () => {
  const item = await signItem({ data: random.bytes(partBytes + 1_000) }, signer);
  const id = (await upload.get(`/v1/chunks/solana/-1/-1?chunkSize=${partBytes}`)).body.id;
  // The second part comes before its turn, so that it has to be read, and cannot be.
  s3.fault = (asked) => (asked.startsWith('GET') ? 503 : undefined);
  for (const offset of [partBytes, 0]) {
    const part = item.subarray(offset, offset + partBytes);
    assert.equal((await upload.post(`/v1/chunks/solana/${id}/${offset}`, part)).status, 200);
  }
  const before = await upload.balance(address);
  s3.fault = () => 503;
  assert.equal((await upload.post(`/v1/chunks/solana/${id}/-1`, none)).status, 503);
  assert.equal(await upload.balance(address), before);
  s3.fault = () => undefined;
  const status = async () => (await upload.get(`/v1/chunks/solana/${id}/status`)).body.status;
  await eventually('it to be finalized', async () => (await status()) === 'FINALIZED');
  assert.equal(await upload.balance(address), before - BigInt(item.length) * pricePerByte);
});
