/** Items on their way to the local chain: bundled, mined, read back, and what happens when the chain misbehaves. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { request as undici } from 'undici';
import { parseBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { startTestUpload, type TestUpload } from '../../src/upload/testing.ts';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { verifyItem } from '../../src/wallets/data-items/verify.ts';
import { ed25519TestKey, testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningLocalArweave, startLocalArweave } from '../support/local-arweave.ts';
import { seededRandom } from '../support/seeded-random.ts';

const signer = solanaSigner(ed25519TestKey('bundler'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(77);
const settings = {
  BUNDLE_MAX_WAIT_MS: '0',
  BUNDLE_POLL_MS: '20',
  BUNDLE_CONFIRMATIONS: '3',
  BUNDLE_MAX_ITEMS: '40',
};

describe('bundles', () => {
  let node: RunningLocalArweave;
  let upload: TestUpload;

  before(async () => {
    node = await startLocalArweave({ blockIntervalMs: 50, confirmBlocks: 4 });
    await node.client.text(`/mint/${testArweaveKey.address}/1000000000000000`);
    upload = await startTestUpload(settings, { arweaveNodeUrls: [node.client.url], now: Date.now });
    await upload.give(address, 'solana', 10n ** 12n);
  });
  after(async () => {
    await upload.close();
    await node.stop();
  });

  const post = async (bytes: number): Promise<{ id: string; item: Buffer }> => {
    const item = await signItem(
      { data: random.bytes(bytes), tags: [{ name: 'n', value: String(bytes) }] },
      signer,
    );
    const { status, body } = await upload.post('/v1/tx', item);
    assert.equal(status, 200);
    return { id: String(body.id), item };
  };
  const status = async (id: string) => (await upload.get(`/v1/tx/${id}/status`)).body;
  /** What went wrong with the bundle of an item, and how often. */
  const counters = async (id: string): Promise<{ attempts: number; unreadable: number }> =>
    (await upload.sql.get<{ attempts: number; unreadable: number }>(
      `SELECT b.attempts, b.unreadable FROM upload_bundles b JOIN upload_items i ON i.bundle = b.plan
       WHERE i.id = ?`,
      id,
    )) ?? { attempts: 0, unreadable: 0 };
  const permanent = (id: string) =>
    eventually(`${id} to be permanent`, async () => (await status(id)).info === 'permanent');

  it('carry items of every size to the chain, where they can be read and verified', async () => {
    const sent = [await post(0), await post(10), await post(9_000), await post(700_000), await post(262_144)];
    for (const { id } of sent) await permanent(id);
    for (const { id, item } of sent) {
      const { bundleId, startOffsetInRootBundle, rawContentLength } = await status(id);
      const data = Buffer.from(await node.client.text(`/tx/${bundleId}/data`), 'base64url');
      const start = Number(startOffsetInRootBundle);
      const inBundle = data.subarray(start, start + Number(rawContentLength));
      assert.ok(inBundle.equals(item));
      assert.ok(typeof verifyItem(inBundle) !== 'string');
      const header = parseBundleHeader(data);
      assert.ok(typeof header !== 'string');
      assert.ok(
        Array.from({ length: header.count }, (_, index) => header.id(index)).some((other) => other === id),
      );
      const offsets = (await upload.get(`/v1/tx/${id}/offsets`)).body;
      assert.equal(offsets.rootBundleId, bundleId);
      const answer = await upload.get(`/v1/data-item/${id}`);
      assert.equal(answer.headers['x-root-transaction-id'], bundleId);
      assert.ok(answer.bytes.equals(item));
    }
  });

  it('hold no more items than they may', async () => {
    const sent: string[] = [];
    for (let i = 0; i < 90; i++) sent.push((await post(200)).id);
    for (const id of sent) await permanent(id);
    const rows = await upload.sql.all<{ item_count: number }>('SELECT item_count FROM upload_bundles');
    assert.ok(rows.every((row) => row.item_count <= 40));
  });

  it('wait for a node that is down, and go on when it is back', async () => {
    await node.client.post('/faults', { status: 503, path: '/tx' });
    const { id } = await post(500);
    await eventually('it to be tried more than once', async () => (await counters(id)).attempts > 1);
    assert.notEqual((await status(id)).info, 'permanent');
    await node.client.post('/faults', {});
    await permanent(id);
  });

  it('are not believed in before their chunks can be read back', async () => {
    await node.client.post('/faults', { wrongChunks: true, path: '/chunk' });
    const { id } = await post(300_000);
    await eventually('it to be looked at more than once', async () => (await counters(id)).attempts > 1);
    assert.equal((await status(id)).info, 'pending', 'the node lies about the chunks');
    assert.equal((await counters(id)).unreadable, 0, 'which says nothing about what it has');
    await node.client.post('/faults', {});
    await permanent(id);
  });
});

describe('local copies', () => {
  it('are let go only when an item has been permanent for as long as configured', async () => {
    const node = await startLocalArweave({ blockIntervalMs: 20, confirmBlocks: 4 });
    await node.client.text(`/mint/${testArweaveKey.address}/1000000000000000`);
    let skew = 0;
    const upload = await startTestUpload(
      { ...settings, UPLOAD_RETENTION_SECS: '300' },
      { arweaveNodeUrls: [node.client.url], now: () => Date.now() + skew },
    );
    try {
      await upload.give(address, 'solana', 10n ** 12n);
      const item = await signItem({ data: random.bytes(100_000) }, signer);
      const id = String((await upload.post('/v1/tx', item)).body.id);
      const segments = await upload.sql.get<{ segments: string }>('SELECT segments FROM upload_items');
      const digest = String(segments?.segments.split(':')[0]);
      const permanent = async () => (await upload.get(`/v1/tx/${id}/status`)).body.info === 'permanent';
      await eventually('the item to be permanent', permanent);
      // A blob that nobody uses goes right after the copies that are due.
      const unused = '0'.repeat(digest.length);
      await upload.sql.run(
        'INSERT INTO upload_blobs (digest, uses, deleting, changed_at) VALUES (?, 0, 0, 0)',
        unused,
      );
      skew += 200_000;
      await eventually('copies to be looked through', async () => {
        return (await upload.sql.get('SELECT 1 FROM upload_blobs WHERE digest = ?', unused)) === undefined;
      });
      assert.equal((await upload.get(`/v1/data-item/${id}`)).status, 200);
      skew += 200_000;
      await eventually(
        'the copy to be let go',
        async () => (await upload.get(`/v1/data-item/${id}`)).status === 404,
      );
      assert.equal(await permanent(), true, 'what is known about it stays');
      assert.equal(await upload.blobs.size(digest), 100_000, 'blobs are not deleted at once');
      skew += 15 * 60_000;
      await eventually('the blob to be deleted', async () => (await upload.blobs.size(digest)) === undefined);
      const again = await upload.post('/v1/tx', item);
      assert.equal(again.status, 202, 'an id is never charged twice, however old');
    } finally {
      await upload.close();
      await node.stop();
    }
  });
});

describe('a bundle that the chain drops', () => {
  for (const [when, chunks] of [
    ['after its chunks were given', 'seeded'],
    ['before its chunks were given', 'posted'],
  ] as const) {
    it(`${when} is made anew, and its items are charged once`, async () => {
      const first = await startLocalArweave();
      const second = await startLocalArweave({ blockIntervalMs: 20, confirmBlocks: 4 });
      for (const node of [first, second]) {
        await node.client.text(`/mint/${testArweaveKey.address}/1000000000000000`);
      }
      let target = first.client.url;
      const proxy = await startProxy((path) =>
        path === '/chunk' && chunks === 'posted' ? second.client.url : target,
      );
      const upload = await startTestUpload(settings, { arweaveNodeUrls: [proxy.url], now: Date.now });
      try {
        await upload.give(address, 'solana', 10n ** 12n);
        const item = await signItem({ data: random.bytes(50_000) }, signer);
        const id = String((await upload.post('/v1/tx', item)).body.id);
        const balance = await upload.balance(address);
        const status = async () => (await upload.get(`/v1/tx/${id}/status`)).body;
        // From there on nothing moves: the first node mines nothing, and the second takes no chunks of what it does
        // not know.
        await eventually(`the bundle to be ${chunks}`, async () => {
          const row = await upload.sql.get<{ state: string }>('SELECT state FROM upload_bundles');
          return row?.state === chunks;
        });
        const dropped = (await status()).bundleId;
        assert.ok(dropped !== undefined);
        await second.client.text('/mine/100');
        target = second.client.url;
        await eventually('another bundle to be permanent', async () => (await status()).info === 'permanent');
        assert.notEqual((await status()).bundleId, dropped);
        assert.equal(await upload.balance(address), balance);
        const row = await upload.sql.get<{ failures: number }>('SELECT failures FROM upload_items');
        assert.equal(row?.failures, 1);
      } finally {
        await upload.close();
        await proxy.close();
        await first.stop();
        await second.stop();
      }
    });
  }
});

/** An address that leads to another node when a test says so. */
async function startProxy(
  target: (path: string | undefined) => string,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', async () => {
      const body = request.method === 'POST' ? Buffer.concat(parts) : null;
      const answer = await undici(`${target(request.url)}${request.url}`, {
        method: body === null ? 'GET' : 'POST',
        body,
      });
      response.statusCode = answer.statusCode;
      response.end(Buffer.from(await answer.body.arrayBuffer()));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () => new Promise((done) => server.close(() => done())),
  };
}
