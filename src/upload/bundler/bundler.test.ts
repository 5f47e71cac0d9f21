import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { flipByte } from '../../../test/support/damage.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { digestPath } from '../../storage/blobs/blobs.ts';
import { signItem } from '../../wallets/data-items/signer.ts';
import type { TestUpload } from '../testing.ts';
import { address, signer, withNode } from './testing.ts';

const random = seededRandom(211);
const none = Buffer.alloc(0);

const attemptsOf = async (upload: TestUpload) =>
  (await upload.sql.get<{ n: number }>('SELECT MAX(attempts) AS n FROM upload_bundles'))?.n ?? 0;

test('a node that refuses bundles for a while costs no item its place', async () => {
  await withNode(async (node, upload, pass) => {
    node.refuses = true;
    const item = await signItem({ data: random.bytes(500) }, signer);
    const id = String((await upload.post('/v1/tx', item)).body.id);
    const paid = await upload.balance(address);
    for (let refusals = 1; refusals <= 15; refusals += 1) {
      await eventually(`refusal ${refusals}`, async () => (await attemptsOf(upload)) >= refusals);
      pass();
    }
    assert.equal((await upload.get(`/v1/tx/${id}/status`)).body.status, 'CONFIRMED');
    node.refuses = false;
    await eventually('the bundle to be posted', async () => {
      pass();
      return node.posted.size > 0;
    });
    assert.equal(await upload.balance(address), paid);
    assert.equal((await upload.get(`/v1/tx/${id}/status`)).body.status, 'CONFIRMED');
  });
});

test('items of a mined bundle that nobody can read go into another', async () => {
  await withNode(async (node, upload, pass) => {
    const item = await signItem({ data: random.bytes(500) }, signer);
    const id = String((await upload.post('/v1/tx', item)).body.id);
    await eventually('the bundle to be posted', async () => node.posted.size === 1);
    // It was looked at many times, and its chunks are still not there.
    await upload.sql.run('UPDATE upload_bundles SET unreadable = 20');
    node.confirmations = 50;
    await eventually('another bundle', async () => {
      pass();
      return node.posted.size > 1;
    });
    assert.equal((await upload.get(`/v1/tx/${id}/status`)).body.status, 'CONFIRMED');
  });
});

/** An item large enough to have a blob of its own, and one that has none. */
async function postTwo(upload: TestUpload): Promise<{ large: string; small: string; digest: string }> {
  const [large, small] = [
    await signItem({ data: random.bytes(50_000) }, signer),
    await signItem({ data: none }, signer),
  ];
  const ids = [(await upload.post('/v1/tx', large)).body.id, (await upload.post('/v1/tx', small)).body.id];
  const row = await upload.sql.get<{ digest: string }>('SELECT digest FROM upload_blobs');
  return { large: String(ids[0]), small: String(ids[1]), digest: String(row?.digest) };
}

test('bytes that are away for a while are waited for', async () => {
  await withNode(async (node, upload, pass) => {
    const { large, digest } = await postTwo(upload);
    const reader = await upload.blobs.open(digest);
    assert.ok(reader);
    const kept: Buffer[] = [];
    for await (const piece of reader.stream()) kept.push(Buffer.from(piece));
    await reader.close();
    await upload.blobs.delete(digest);
    for (let misses = 1; misses <= 3; misses += 1) {
      const tried = await attemptsOf(upload);
      pass();
      await eventually('another try', async () => (await attemptsOf(upload)) > tried);
    }
    assert.equal((await upload.get(`/v1/tx/${large}/status`)).body.status, 'CONFIRMED');
    await upload.blobs.put(Buffer.concat(kept));
    await eventually('the bundle to be posted', async () => {
      pass();
      return node.posted.size > 0;
    });
    assert.equal((await upload.get(`/v1/tx/${large}/status`)).body.status, 'CONFIRMED');
  }, 60_000);
});

for (const how of ['lost', 'damaged'] as const)
  test(`an item whose bytes are ${how} is paid back, and the others go on without it`, async () => {
    await withNode(async (node, upload, pass) => {
      const before = await upload.balance(address);
      const { large, small, digest } = await postTwo(upload);
      if (how === 'lost') await upload.blobs.delete(digest);
      else flipByte(join(upload.folder, 'blobs', digestPath(digest)), 40_000);
      await eventually('the bundle of the other', async () => {
        pass();
        return node.posted.size > 0;
      });
      const lost = (await upload.get(`/v1/tx/${large}/status`)).body;
      assert.deepEqual([lost.status, lost.reason], ['FAILED', 'missing_from_object_store']);
      const kept = (await upload.get(`/v1/tx/${small}/status`)).body;
      assert.equal(kept.status, 'CONFIRMED');
      assert.equal(await upload.balance(address), before - BigInt(String(kept.winc)));
    }, 60_000);
  });
