/** Each counter of the bundler counts one thing: what one failure raised must not decide about another. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { signItem } from '../../wallets/data-items/signer.ts';
import type { TestUpload } from '../testing.ts';
import { address, signer, withNode } from './testing.ts';

const random = seededRandom(212);

async function post(
  upload: TestUpload,
  bytes: number,
): Promise<{ id: string; digest: string; data: Buffer }> {
  const data = random.bytes(bytes);
  const { status, body } = await upload.post('/v1/tx', await signItem({ data }, signer));
  assert.equal(status, 200);
  const id = String(body.id);
  const row = await upload.sql.get<{ segments: string }>(
    'SELECT segments FROM upload_items WHERE id = ?',
    id,
  );
  return { id, digest: String(row?.segments).split(':')[0] ?? '', data };
}

const statusOf = async (upload: TestUpload, id: string) =>
  (await upload.get(`/v1/tx/${id}/status`)).body.status;
const bundleOf = (upload: TestUpload) =>
  upload.sql.get<{ attempts: number; unreadable: number; seedings: number; state: string }>(
    'SELECT attempts, unreadable, seedings, state FROM upload_bundles',
  );
const missesOf = async (upload: TestUpload, id: string) =>
  (await upload.sql.get<{ misses: number }>('SELECT misses FROM upload_items WHERE id = ?', id))?.misses ?? 0;

/** Lets time pass until something is so. */
const untilPassing = (what: string, pass: () => Promise<void>, check: () => Promise<boolean> | boolean) =>
  eventually(what, async () => {
    await pass();
    return check();
  });

test('an item is not lost because its bytes are away once after many other failures', async () => {
  await withNode(async (node, upload, pass) => {
    node.balance = '0';
    const paid = 10n ** 12n;
    const { id, digest, data } = await post(upload, 50_000);
    const charged = paid - (await upload.balance(address));
    await untilPassing('an empty wallet to be noticed a dozen times', pass, async () => {
      return ((await bundleOf(upload))?.attempts ?? 0) >= 12;
    });
    await upload.blobs.delete(digest);
    await untilPassing('the bytes to be missed', pass, async () => (await missesOf(upload, id)) > 0);
    assert.equal(await statusOf(upload, id), 'CONFIRMED');
    await upload.blobs.put(data);
    node.balance = '1000000000000';
    await untilPassing('the bundle to be posted', pass, () => node.posted.size > 0);
    assert.equal(await statusOf(upload, id), 'CONFIRMED');
    assert.equal(await missesOf(upload, id), 0, 'what was read is no longer missed');
    assert.equal(await upload.balance(address), paid - charged);
  });
});

test('misses of one item do not count against another of the same bundle', async () => {
  await withNode(async (node, upload, pass) => {
    const first = await post(upload, 50_000);
    const second = await post(upload, 60_000);
    await upload.blobs.delete(first.digest);
    await upload.blobs.delete(second.digest);
    for (let tries = 1; tries <= 7; tries += 1) {
      await pass();
      await eventually('the next try', async () => (await missesOf(upload, first.id)) === tries);
    }
    await upload.blobs.put(first.data);
    await pass();
    await eventually('the first to be posted', () => node.posted.size === 1);
    assert.equal(await missesOf(upload, first.id), 0);
    assert.equal(await statusOf(upload, first.id), 'CONFIRMED');
    await eventually(
      'the second to be given up',
      async () => (await statusOf(upload, second.id)) === 'FAILED',
    );
  }, 60_000);
});

test('what was posted and seeded leaves its earlier failures behind', async () => {
  await withNode(async (node, upload, pass) => {
    node.refuses = true;
    await post(upload, 500);
    await untilPassing('a few refusals', pass, async () => ((await bundleOf(upload))?.attempts ?? 0) >= 3);
    node.refuses = false;
    await untilPassing('the bundle to be seeded', pass, async () => {
      return ((await bundleOf(upload))?.seedings ?? 0) > 0;
    });
    assert.equal((await bundleOf(upload))?.attempts, 0);
  });
});

test('a bundle that was seeded often is not given up at the first look that cannot read it', async () => {
  await withNode(async (node, upload, pass) => {
    await post(upload, 500);
    await eventually('the bundle to be seeded', async () => (await bundleOf(upload))?.state === 'seeded');
    // As after nodes that took it and forgot it, many times.
    await upload.sql.run('UPDATE upload_bundles SET seedings = 40');
    node.confirmations = 50;
    await untilPassing(
      'it to be looked at',
      pass,
      async () => ((await bundleOf(upload))?.unreadable ?? 0) >= 2,
    );
    assert.equal(node.posted.size, 1, 'nothing was paid a second time');
    node.chunks = 'as given';
    await untilPassing(
      'it to be permanent',
      pass,
      async () => (await bundleOf(upload))?.state === 'permanent',
    );
    assert.equal(node.posted.size, 1);
  });
});

test('a bundle whose chunks come back altered is not permanent, whatever their proofs say', async () => {
  await withNode(async (node, upload, pass) => {
    const { id } = await post(upload, 50_000);
    node.chunks = 'altered';
    node.confirmations = 50;
    await untilPassing('the altered chunk to be noticed twice', pass, async () => {
      const bundle = await bundleOf(upload);
      assert.notEqual(bundle?.state, 'permanent');
      // A node that answers nonsense has not answered: that decides nothing, and the bundle waits.
      return (bundle?.attempts ?? 0) >= 2;
    });
    assert.equal((await bundleOf(upload))?.unreadable, 0);
    const info = async () => (await upload.get(`/v1/tx/${id}/status`)).body.info;
    assert.equal(await info(), 'pending');
    node.chunks = 'as given';
    await untilPassing('it to be permanent', pass, async () => (await info()) === 'permanent');
  });
});
