import assert from 'node:assert/strict';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { flipByte } from '../../../test/support/damage.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { toldWallets } from '../../events/testing-wallets.ts';
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
      await pass();
    }
    assert.equal((await upload.get(`/v1/tx/${id}/status`)).body.status, 'CONFIRMED');
    node.refuses = false;
    await eventually('the bundle to be posted', async () => {
      await pass();
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
      await pass();
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

const missesOf = async (upload: TestUpload, id: string) =>
  (await upload.sql.get<{ misses: number }>('SELECT misses FROM upload_items WHERE id = ?', id))?.misses ?? 0;

test('bytes that are away for a while are waited for', async () => {
  await withNode(async (node, upload, pass) => {
    const { large, small, digest } = await postTwo(upload);
    const reader = await upload.blobs.open(digest);
    assert.ok(reader);
    const kept: Buffer[] = [];
    for await (const piece of reader.stream()) kept.push(Buffer.from(piece));
    await reader.close();
    await upload.blobs.delete(digest);
    for (let misses = 1; misses <= 3; misses += 1) {
      await pass();
      await eventually('another try', async () => (await missesOf(upload, large)) === misses);
    }
    await eventually('the other to be posted', () => node.posted.size === 1);
    assert.equal((await upload.get(`/v1/tx/${large}/status`)).body.status, 'CONFIRMED');
    await upload.blobs.put(Buffer.concat(kept));
    await pass();
    await eventually('it to be posted', () => node.posted.size === 2);
    assert.equal(await missesOf(upload, large), 0);
    const bundles = await upload.sql.all<{ id: string; items: number; size: number }>(
      `SELECT i.id, b.item_count AS items, b.size FROM upload_items i JOIN upload_bundles b ON b.plan = i.bundle`,
    );
    assert.deepEqual(
      new Set(bundles.map(({ id, items }) => `${id} ${items}`)),
      new Set([`${large} 1`, `${small} 1`]),
    );
  }, 60_000);
});

const damages: Readonly<Record<string, (upload: TestUpload, digest: string, id: string) => unknown>> = {
  lost: (upload, digest) => upload.blobs.delete(digest),
  flipped: (upload, digest) => flipByte(join(upload.folder, 'blobs', digestPath(digest)), 40_000),
  truncated: (upload, digest) => truncateSync(join(upload.folder, 'blobs', digestPath(digest)), 40_000),
  'of a header that is not theirs': async (upload, _digest, id) => {
    const row = await upload.sql.get<{ bytes: Buffer }>('SELECT bytes FROM upload_heads WHERE id = ?', id);
    const head = Buffer.from(row?.bytes ?? '');
    // In the signature.
    head.writeUInt8(head.readUInt8(40) ^ 1, 40);
    await upload.sql.run('UPDATE upload_heads SET bytes = ? WHERE id = ?', head, id);
  },
};
for (const [how, damage] of Object.entries(damages))
  test(`an item whose bytes are ${how} is paid back, and the others go on at once`, async () => {
    await withNode(async (node, upload, pass) => {
      const before = await upload.balance(address);
      const { large, small, digest } = await postTwo(upload);
      await damage(upload, digest, large);
      await pass();
      await eventually('the bundle of the other', () => node.posted.size > 0);
      assert.equal((await upload.get(`/v1/tx/${large}/status`)).body.status, 'CONFIRMED', 'it may come back');
      const status = async () => (await upload.get(`/v1/tx/${large}/status`)).body;
      await eventually('it to be given up', async () => {
        await pass();
        return (await status()).status === 'FAILED';
      });
      assert.equal((await status()).reason, 'missing_from_object_store');
      assert.equal(node.posted.size, 1, 'nothing of it was posted');
      const kept = (await upload.get(`/v1/tx/${small}/status`)).body;
      assert.equal(kept.status, 'CONFIRMED');
      assert.equal(await upload.balance(address), before - BigInt(String(kept.winc)));
      const told = (await toldWallets(upload.sql, address)).filter(({ type }) => type === 'upload.failed');
      assert.deepEqual(
        told.map(({ data }) => [data.id, data.reason]),
        [[large, 'missing_from_object_store']],
      );
      const metrics = (await upload.get('/bundler_metrics')).bytes.toString();
      assert.match(metrics, /^upload_items_unread_total 8$/m);
      assert.match(metrics, /^upload_items_lost_total 1$/m);
    }, 60_000);
  });

test('an item that is lost after its bundle was signed takes no other with it', async () => {
  await withNode(async (node, upload, pass) => {
    const { large, small, digest } = await postTwo(upload);
    await pass();
    const stateOf = async () =>
      (await upload.sql.get<{ state: string }>('SELECT state FROM upload_bundles'))?.state;
    await eventually('both to be seeded', async () => (await stateOf()) === 'seeded');
    await upload.blobs.delete(digest);
    // Mined, and its chunks are gone: it is to be seeded again.
    node.confirmations = 50;
    await eventually('it to be given up', async () => {
      await pass();
      return (await upload.get(`/v1/tx/${large}/status`)).body.status === 'FAILED';
    });
    await eventually('the other to be posted in another bundle', () => node.posted.size === 2);
    assert.equal((await upload.get(`/v1/tx/${small}/status`)).body.status, 'CONFIRMED');
  }, 60_000);
});
