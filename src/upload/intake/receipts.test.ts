import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey, testArweaveKey } from '../../wallets/testing/keys.ts';
import { setReceipt } from '../items/item-rows.ts';
import { startTestUpload, type TestUpload, testMigrations } from '../testing.ts';

const signer = solanaSigner(ed25519TestKey('receipts'));
const random = seededRandom(17);
const marked = Buffer.alloc(512, 7);

describe('the receipt of a repeated upload', () => {
  forEachEngine((_engine, open) => {
    /** An item of each way in: small, with a blob of its own, and in parts. */
    for (const way of ['small', 'large', 'in parts'] as const) {
      it(`is the stored one when the item came ${way}, and is not signed again`, async () =>
        withUpload(open, async (upload) => {
          const item = await signItem({ data: random.bytes(way === 'small' ? 300 : 30_000) }, signer);
          const send = sender(upload, way);
          const first = await send(item);
          const id = String(first.id);
          assert.equal((await stored(upload, id))?.signature.toString('base64url'), first.signature);
          assert.deepEqual(await send(item), first);
          // A signature that no key makes tells where the answer comes from.
          await upload.sql.run('UPDATE upload_items SET receipt_signature = ? WHERE id = ?', marked, id);
          for (let again = 0; again < 3; again += 1) {
            assert.deepEqual(await send(item), { ...first, signature: marked.toString('base64url') });
          }
        }));
    }

    it('is made once and stored for a row of an earlier version, the same byte for byte', async () =>
      withUpload(open, async (upload) => {
        const item = await signItem({ data: random.bytes(300) }, signer);
        const first = (await upload.post('/v1/tx', item)).body;
        const id = String(first.id);
        await stored(upload, id);
        await upload.sql.run('UPDATE upload_items SET receipt_signature = NULL, receipt_key = NULL');
        const answers = await Promise.all(Array.from({ length: 8 }, () => upload.post('/v1/tx', item)));
        for (const answer of answers) {
          assert.equal(answer.status, 202);
          assert.deepEqual(answer.body, first);
        }
        assert.equal((await stored(upload, id))?.signature.toString('base64url'), first.signature);
      }));

    it('is signed anew when the service has another key since', async () =>
      withUpload(open, async (upload) => {
        const item = await signItem({ data: random.bytes(300) }, signer);
        const first = (await upload.post('/v1/tx', item)).body;
        const id = String(first.id);
        await stored(upload, id);
        await upload.sql.run(
          `UPDATE upload_items SET receipt_signature = ?, receipt_key = 'another' WHERE id = ?`,
          marked,
          id,
        );
        assert.deepEqual((await upload.post('/v1/tx', item)).body, first);
        const kept = await eventually('the new one to be stored', async () => {
          const row = await stored(upload, id);
          return row?.key === testArweaveKey.address && row;
        });
        assert.equal(kept.signature.toString('base64url'), first.signature);
      }));

    it('that is stored late is not taken for that of the same item when it failed and came again', async () =>
      withUpload(open, async (upload) => {
        const item = await signItem({ data: random.bytes(300) }, signer);
        const first = (await upload.post('/v1/tx', item)).body;
        const id = String(first.id);
        await upload.sql.run(`UPDATE upload_items SET state = 'failed' WHERE id = ?`, id);
        upload.clock += 5_000;
        const again = await upload.post('/v1/tx', item);
        assert.equal(again.status, 200);
        assert.notEqual(again.body.signature, first.signature);
        const kept = async () => (await stored(upload, id))?.signature.toString('base64url');
        assert.equal(await kept(), again.body.signature);
        const before = {
          id,
          receivedAt: Number(first.timestamp),
          deadlineHeight: Number(first.deadlineHeight),
        };
        await setReceipt(upload.sql, before, { key: testArweaveKey.address, signature: marked });
        assert.equal(await kept(), again.body.signature);
      }));
  });
});

async function withUpload(open: OpenForTest, work: (upload: TestUpload) => Promise<void>): Promise<void> {
  const sql = await open(testMigrations);
  const settings = { FREE_UPLOAD_LIMIT: '100000', BUNDLE_POLL_MS: '3600000' };
  const upload = await startTestUpload(settings, {}, { sql });
  try {
    await work(upload);
  } finally {
    await upload.close();
  }
}

function sender(upload: TestUpload, way: 'small' | 'large' | 'in parts') {
  return async (item: Buffer) => {
    if (way !== 'in parts') return (await upload.post('/v1/tx', item)).body;
    const session = (await upload.get('/v1/chunks/solana/-1/-1')).body.id;
    await upload.post(`/v1/chunks/solana/${session}/0`, item);
    return (await upload.post(`/v1/chunks/solana/${session}/-1`, Buffer.alloc(0))).body;
  };
}

/** What is stored of an item's receipt, as soon as it is. */
function stored(upload: TestUpload, id: string) {
  return eventually('the signature to be stored', () =>
    upload.sql.get<{ key: string; signature: Buffer }>(
      `SELECT receipt_key AS key, receipt_signature AS signature FROM upload_items
       WHERE id = ? AND receipt_key IS NOT NULL`,
      id,
    ),
  );
}
