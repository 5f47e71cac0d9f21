/** Bundles that are permanent, at a node that forgets chunks of them. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { request } from 'undici';
import { eventually } from '../../../test/support/eventually.ts';
import { startLocalArweave } from '../../../test/support/local-arweave.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey, testArweaveKey } from '../../wallets/testing/keys.ts';
import { type BundleRow, readBundle } from '../bundler/bundle-rows.ts';
import { deleteLocalCopies } from '../bundler/endings.ts';
import { startTestUpload, testAdminKey, testMigrations } from '../testing.ts';
import type { WatchNews } from './watcher.ts';

const chunkBytes = 262_144;
const dayMs = 86_400_000;
const signer = solanaSigner(ed25519TestKey('watched bundles'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(77);

describe('watching permanent bundles', () => {
  forEachEngine((_engine, open) => {
    /** A bundle of five chunks that is permanent; time stands still but for `pass`. */
    const start = async (t: TestContext, environment: Record<string, string> = {}, gatewayUrl?: string) => {
      const { client, stop } = await startLocalArweave();
      const sql = await open(testMigrations, 'ledger');
      const news: WatchNews[] = [];
      let now = Date.now();
      await client.text(`/mint/${testArweaveKey.address}/1000000000000000`);
      const upload = await startTestUpload(
        {
          ...{ BUNDLE_MAX_WAIT_MS: '0', BUNDLE_POLL_MS: '10', BUNDLE_CONFIRMATIONS: '1' },
          ...{ BUNDLE_WATCH_PER_HOUR: '3600000', ...environment },
        },
        {
          arweaveNodeUrls: [client.url],
          now: () => now,
          tellOfBundle: (one) => news.push(one),
          ...(gatewayUrl !== undefined && { gateway: { publicUrl: gatewayUrl } }),
        },
        { sql },
      );
      t.after(async () => {
        await upload.close();
        await stop();
      });
      await upload.give(address, 'solana', 10n ** 12n);
      const item = await signItem({ data: random.bytes(5 * chunkBytes - 2_000) }, signer);
      const { body } = await upload.post('/v1/tx', item);
      const bundle = async (): Promise<BundleRow> =>
        readBundle(await sql.get('SELECT * FROM upload_bundles'));
      const isPermanent = async () =>
        (await upload.get(`/v1/tx/${body.id}/status`)).body.status === 'FINALIZED';
      await eventually('the bundle to be permanent', async () => {
        await client.text('/mine');
        now += 60_000;
        return isPermanent();
      });
      const { tx_id } = await bundle();
      const { offset, size } = await client.json<{ offset: string; size: string }>(`/tx/${tx_id}/offset`);
      const first = Number(offset) - Number(size) + 1;
      const placeOf = (index: number) => first + index * chunkBytes;
      return {
        ...{ client, sql, upload, news, bundle, item },
        /** Until the next look, or so much longer. */
        async pass(ms = 1): Promise<void> {
          now = Math.max(now, (await bundle()).look_at ?? 0) + ms;
        },
        async forget(index: number): Promise<void> {
          const answer = await request(`${client.url}/chunk/${placeOf(index)}`, { method: 'DELETE' });
          assert.equal(answer.statusCode, 200);
          await answer.body.dump();
        },
        has: async (index: number) => (await client.get(`/chunk/${placeOf(index)}`)).status === 200,
        report: async () => {
          const answer = await upload.get(`/v1/admin/bundles/${tx_id}`, {
            authorization: `Bearer ${testAdminKey}`,
          });
          return JSON.parse(answer.bytes.toString()).bundle;
        },
      };
    };

    it('looks at growing intervals for as long as it should, and then no more', async (t) => {
      const { bundle, pass, news } = await start(t, { BUNDLE_WATCH_SECS: String(20 * 86_400) });
      const first = await bundle();
      assert.equal(first.look_at, first.changed_at + dayMs);
      for (const [looks, days] of [
        [1, 2],
        [2, 4],
        [3, 8],
      ] as const) {
        await pass();
        await eventually(`look ${looks}`, async () => (await bundle()).looks === looks);
        const { looked_at, look_at: next } = await bundle();
        assert.equal((next ?? 0) - (looked_at ?? 0), days * dayMs);
      }
      await pass(365 * dayMs);
      await eventually('the watch to end', async () => (await bundle()).look_at === null);
      assert.deepEqual(news, []);
    });

    it('gives the network again what it forgot, out of what is held here', async (t) => {
      const { bundle, forget, has, pass, news, upload, report, sql } = await start(t);
      await forget(3);
      await forget(4);
      await pass();
      await eventually('the chunks to be there again', async () => (await has(3)) && has(4));
      await eventually('the damage to be told', async () => news.length > 0);
      await eventually('what was given to be counted', async () => (await bundle()).chunks_mended === 2);
      assert.match(
        String((await bundle()).damage),
        /^no node has 2 of its 5 chunks, the first from byte 786432$/,
      );
      assert.match((await report()).why, /It is damaged: no node has 2 of its 5 chunks/);
      const deleteCopies = () => deleteLocalCopies(sql, 0, Number.MAX_SAFE_INTEGER);
      assert.equal(
        await deleteCopies(),
        0,
        'held for longer than it would be, until it is seen to be mended',
      );
      await pass();
      await eventually('it to be seen whole', async () => (await bundle()).damage === null);
      await eventually('that to be told', async () => news.length > 1);
      assert.deepEqual(
        news.map(({ kind }) => kind),
        ['damaged', 'mended'],
      );
      const { mend_tries, damaged_at } = await bundle();
      assert.deepEqual([mend_tries, damaged_at], [0, null]);
      assert.equal(await deleteCopies(), 1);
      const metrics = (await upload.get('/v1/metrics')).bytes.toString();
      assert.match(metrics, /^upload_chunks_mended_total 2$/m);
      assert.match(metrics, /^upload_bundles_damaged 0$/m);
    });

    it('takes from a gateway what is not held here any more, and only if it is right', async (t) => {
      let whole = Buffer.alloc(0);
      const gateway = createServer((_request, response) => void response.writeHead(200).end(whole));
      await new Promise<void>((listening) => gateway.listen(0, '127.0.0.1', listening));
      t.after(() => {
        gateway.closeAllConnections();
        gateway.close();
      });
      const place = gateway.address();
      assert.ok(place !== null && typeof place === 'object');
      const { bundle, client, forget, has, pass, sql, upload } = await start(
        t,
        { BUNDLE_WATCH_FIRST_SECS: '1' },
        `http://127.0.0.1:${place.port}`,
      );
      const { tx_id } = await bundle();
      const data = Buffer.from(await client.text(`/tx/${tx_id}/data`), 'base64url');
      whole = Buffer.from(data).fill(1, 7, 9);
      await sql.run('UPDATE upload_items SET held = 0');
      await forget(2);
      // A look that was under way when the chunk was forgotten may have found it whole.
      await eventually('three tries', async () => {
        await pass();
        return (await bundle()).mend_tries >= 3;
      });
      assert.equal(await has(2), false, 'other bytes mend nothing');
      const health = await upload.get('/health?strict=true');
      assert.match(
        health.bytes.toString(),
        /1 permanent bundle is damaged on the chain and could not be mended/,
      );
      const lists = await upload.get('/v1/admin/bundles?state=damaged', {
        authorization: `Bearer ${testAdminKey}`,
      });
      assert.equal(JSON.parse(lists.bytes.toString()).bundles.length, 1);
      whole = data;
      await eventually('the chunk to be there again', async () => {
        await pass();
        return has(2);
      });
      await eventually('it to be seen whole', async () => {
        await pass();
        return (await bundle()).damage === null;
      });
    });

    it('believes no damage while the node does not answer', async (t) => {
      const { bundle, client, pass, news } = await start(t);
      await client.post('/faults', { status: 503, path: '/chunk' });
      const { look_at } = await bundle();
      await pass();
      await eventually(
        'it to be put off',
        async () => ((await bundle()).look_at ?? 0) > (look_at ?? 0) + 60_000,
      );
      assert.deepEqual([(await bundle()).damage, (await bundle()).looks], [null, 0]);
      await request(`${client.url}/faults`, { method: 'DELETE' }).then(({ body }) => body.dump());
      await pass();
      await eventually('a look', async () => (await bundle()).looks > 0);
      assert.deepEqual(news, []);
    });
  });
});
