/** What one client may park here without paying, and what happens when it asks twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { pricePerByte, startTestUpload, type TestUpload } from '../testing.ts';

const signer = solanaSigner(ed25519TestKey('bounds'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(67);
const none = Buffer.alloc(0);

async function withUpload(
  environment: Record<string, string>,
  work: (upload: TestUpload) => Promise<void>,
): Promise<void> {
  const upload = await startTestUpload({ BUNDLE_POLL_MS: '3600000', ...environment });
  try {
    await work(upload);
  } finally {
    await upload.close();
  }
}

const create = (upload: TestUpload) => upload.get('/v1/chunks/solana/-1/-1');
const put = (upload: TestUpload, id: string, offset: number, bytes: Buffer) =>
  upload.post(`/v1/chunks/solana/${id}/${offset}`, bytes);

test('parts that overlap do not make room for more than an item may have', async () => {
  await withUpload({ MAX_DATA_ITEM_SIZE: '1000000' }, async (upload) => {
    const id = String((await create(upload)).body.id);
    const part = random.bytes(600_000);
    assert.equal((await put(upload, id, 0, part)).status, 200);
    for (const offset of [1, 2, 300_000]) {
      const answer = await put(upload, id, offset, part);
      assert.equal(answer.status, 413, String(offset));
      assert.match(String(answer.body), /only accepts data items up to 1000000 bytes/);
    }
    assert.equal((await put(upload, id, 0, random.bytes(700_000))).status, 200, 'again is instead');
    assert.equal((await put(upload, id, 700_000, random.bytes(300_000))).status, 200);
    assert.deepEqual((await upload.get(`/v1/chunks/solana/${id}/-1`)).body.chunks, [
      [0, 700_000],
      [700_000, 300_000],
    ]);
  });
});

test('what cannot be paid counts as open until it is paid or gone', async () => {
  await withUpload({ MULTIPART_MAX_OPEN_PER_IP: '2' }, async (upload) => {
    for (let index = 0; index < 2; index += 1) {
      const id = String((await create(upload)).body.id);
      const item = await signItem({ data: random.bytes(1_000) }, signer);
      assert.equal((await put(upload, id, 0, item)).status, 200);
      assert.equal((await upload.post(`/v1/chunks/solana/${id}/-1`, none)).status, 402);
    }
    const third = await create(upload);
    assert.equal(third.status, 429);
    assert.equal(third.headers['retry-after'], '60');
  });
});

test('finalizing twice at once answers the same receipt to both, for one price', async () => {
  await withUpload({}, async (upload) => {
    await upload.give(address, 'solana', 10n ** 12n);
    const id = String((await create(upload)).body.id);
    const item = await signItem({ data: random.bytes(2_000_000) }, signer);
    await put(upload, id, 0, item);
    const before = await upload.balance(address);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => upload.post(`/v1/chunks/solana/${id}/-1`, none)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200, 200],
    );
    assert.equal(new Set(answers.map(({ body }) => body.signature)).size, 1);
    assert.equal(await upload.balance(address), before - BigInt(item.length) * pricePerByte);
  });
});
