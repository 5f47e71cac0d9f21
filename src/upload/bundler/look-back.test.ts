/** What waited when a backup was made and was bundled before the restore goes into that bundle, and is not paid twice. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { toldWallets } from '../../events/testing-wallets.ts';
import { bundleTags, encodeBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { dataTreeOf } from '../../formats/arweave/data-root.ts';
import { newTransaction } from '../../formats/arweave/transaction.ts';
import { transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { rememberingLog } from '../../kernel/testing.ts';
import { ArweaveNodes, type NodeChunk, type TxStatus } from '../../outside/arweave/nodes.ts';
import { absent, found, type LookUp, notKnown } from '../../outside/look-up.ts';
import { DiskBlobStore } from '../../storage/blobs/disk/store.ts';
import { LostLease } from '../../storage/sql/lease.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { testArweaveKey } from '../../wallets/testing/keys.ts';
import { testMigrations } from '../testing.ts';
import { findRestore, noteRestore } from './after-restore.ts';
import { findBundle } from './bundle-rows.ts';
import { chunksOf } from './chain-chunks.ts';
import { LookBack } from './look-back.ts';
import { planBundle } from './plan.ts';
import { storeItems, watchedSql } from './testing.ts';

const height = 1_000;
const hour = 3_600_000;
/** Everything that waits is due. */
const limits = { maxItems: 100, targetBytes: 1e9, maxWaitMs: 0 };
const stranger = { id: Buffer.alloc(32, 9), bytes: Buffer.alloc(300, 9) };

/** One bundle, as nodes know it. */
class Chain extends ArweaveNodes {
  transactionJson: { id: string } = { id: '' };
  bytes: Buffer = Buffer.alloc(0);
  has: 'all' | 'no chunks' | 'no place' | 'no header' | 'no block' | 'nothing' | 'no answer' = 'all';
  top = height;
  readonly asked: bigint[] = [];

  constructor() {
    super([]);
  }
  override async height(): Promise<number> {
    return this.top;
  }
  override async txStatus(): Promise<LookUp<TxStatus>> {
    if (this.has === 'no answer') return notKnown(new Error('away'));
    if (this.has === 'nothing') return absent(height);
    if (this.has === 'no block') return found({ state: 'pending' }, height);
    return found({ state: 'mined', blockHeight: 900, confirmations: 100 }, height);
  }
  override async transaction(id: string) {
    if (this.has === 'no header') return absent(height);
    return found({ pending: false, header: { ...this.transactionJson, id } }, height);
  }
  override async txOffset() {
    if (this.has === 'no place') return absent(height);
    return found({ end: BigInt(this.bytes.length), size: this.bytes.length }, height);
  }
  override async chunk(offset: bigint, isRight: (chunk: NodeChunk) => boolean): Promise<LookUp<NodeChunk>> {
    this.asked.push(offset);
    if (this.has === 'no chunks') return absent(height);
    const place = chunksOf(this.bytes.length).findIndex(({ end }) => offset <= BigInt(end));
    const { start, end } = chunksOf(this.bytes.length)[place] ?? assert.fail();
    const { dataPath } = dataTreeOf(this.bytes).proof(place);
    const chunk = { chunk: this.bytes.subarray(start, end), dataPath, txPath: Buffer.alloc(0) };
    return isRight(chunk) ? found(chunk, height) : notKnown(new Error('another chunk'));
  }
}

/** Three items waited when the backup was made, and one came after the restore; the chain has a bundle of two and a stranger's. */
async function restored(t: TestContext, open: OpenForTest) {
  const sql = await open(testMigrations);
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-look-back-'));
  const blobs = await DiskBlobStore.open({ folder });
  const store = (...texts: string[]) =>
    storeItems(
      { sql, blobs },
      texts.map((text) => Buffer.from(text)),
    );
  const items = await store('one', 'two', 'three');
  const [one, two, three] = items.map(({ id }) => id);
  const chain = new Chain();
  const inBundle = [
    { id: stranger.id, bytes: stranger.bytes },
    ...items.slice(0, 2).map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), bytes })),
  ];
  const list = encodeBundleHeader(inBundle.map(({ id, bytes }) => ({ id, size: bytes.length })));
  /** The wallet has signed for these bytes. */
  const mine = async (bytes: Buffer): Promise<void> => {
    chain.bytes = bytes;
    const unsigned = newTransaction({
      ...{ lastTx: Buffer.alloc(48, 7), reward: 5n, dataSize: bytes.length },
      ...{ dataRoot: dataTreeOf(bytes).root, tags: bundleTags },
    });
    chain.transactionJson = transactionToJson(
      await signTransactionAsync(unsigned, testArweaveKey.privateKey),
      'header',
    );
  };
  await mine(Buffer.concat([list, ...inBundle.map(({ bytes }) => bytes)]));
  const txId = chain.transactionJson.id;
  const gateway = { height: height + 55, since: 0, isAway: false, asked: 0, wait: () => Promise.resolve() };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', async () => {
      gateway.asked += 1;
      await gateway.wait();
      response.statusCode = gateway.isAway ? 503 : 200;
      const data = Buffer.concat(parts).includes('newest')
        ? {
            newest: { edges: [{ node: { height: gateway.height } }] },
            oldest: { edges: [{ node: { height: 5, timestamp: gateway.since } }] },
          }
        : {
            transactions: {
              pageInfo: { hasNextPage: false },
              edges: [
                {
                  cursor: 'a',
                  node: { id: chain.transactionJson.id, data: { size: '9' }, block: { timestamp: 50 } },
                },
              ],
            },
          };
      response.end(JSON.stringify({ data }));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await blobs.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await sql.transaction((tx) => noteRestore(tx, { since: 40_000, restoredAt: 2 }));
  const [later] = (await store('later')).map(({ id }) => id);
  await sql.run('UPDATE upload_items SET received_at = 3 WHERE id = ?', later ?? '');
  const { log, lines } = rememberingLog();
  const time = { now: 10 };
  const make = (wallets: readonly string[] = [testArweaveKey.address], seen: Sql = sql) =>
    new LookBack({
      ...{ sql: seen, nodes: chain, log, now: () => time.now, pollMs: 10, wallets, blocksToWait: 55 },
      gatewayUrls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`],
    });
  return {
    ...{ sql, chain, gateway, txId, time, lines, make, mine, one, two, three, later, look: make() },
    plan: () => planBundle(sql, limits, 1e6),
    itemsOf: async (plan: string | undefined) =>
      (
        await sql.all<{ id: string }>(
          'SELECT id FROM upload_items WHERE bundle = ? ORDER BY position',
          plan ?? '',
        )
      ).map(({ id }) => id),
    found: async () => {
      const row = await sql.get<{ plan: string }>('SELECT plan FROM upload_bundles WHERE tx_id = ?', txId);
      return row && findBundle(sql, row.plan);
    },
    isHeld: async () => (await findRestore(sql)) !== undefined,
    errors: () => lines.filter(({ level }) => level === 50 || level === 'error').map(({ msg }) => msg),
  };
}

describe('after a restore', () => {
  forEachEngine((_engine, open) => {
    it('items that wait are taken into their bundle on the chain, and the others are bundled', async (t) => {
      const bench = await restored(t, open);
      const { sql, look, txId, plan, itemsOf, found, isHeld, chain, lines, errors } = bench;
      const { one, two, three, later } = bench;
      assert.deepEqual(await itemsOf(await plan()), [later], 'what came later is not held up');
      assert.equal(await plan(), undefined, 'what waited then is');
      assert.equal(await look.turn(), undefined);
      const bundle = await found();
      assert.ok(bundle !== undefined);
      const { state, item_count, others, size, anchor_height, tx } = bundle;
      assert.deepEqual(
        { state, item_count, others, size, anchor_height, tx: JSON.parse(tx ?? '') },
        {
          ...{ state: 'seeded', item_count: 2, others: 1, size: chain.bytes.length, anchor_height: 900 },
          tx: chain.transactionJson,
        },
      );
      assert.deepEqual(await itemsOf(bundle.plan), [one, two]);
      const places = await sql.all<{ position: number; bundle_offset: number }>(
        'SELECT position, bundle_offset FROM upload_items WHERE bundle = ? ORDER BY position',
        bundle.plan,
      );
      const start = 32 + 3 * 64 + stranger.bytes.length;
      assert.deepEqual(
        places.map((row) => [row.position, row.bundle_offset]),
        [
          [1, start],
          [2, start + (chain.bytes.length - start) / 2],
        ],
      );
      assert.equal(await isHeld(), false);
      assert.deepEqual([lines.at(-1)?.looks, errors()], [1, []]);
      assert.deepEqual([lines.at(-2)?.items, lines.at(-2)?.others], [2, 1]);
      assert.deepEqual(await itemsOf(await plan()), [three]);
      const told = (await toldWallets(sql)).map(({ type, data }) => [type, data.id, data.bundle]);
      assert.deepEqual(told, [
        ['upload.bundled', one, txId],
        ['upload.bundled', two, txId],
      ]);
    });

    it('nothing is bundled before a gateway knows all blocks that may have it', async (t) => {
      const { look, gateway, plan, itemsOf, isHeld, found, three, chain } = await restored(t, open);
      await plan();
      gateway.height -= 1;
      assert.equal(await look.turn(), 10);
      // It is counted from the first look on, however the chain grows.
      chain.top += 1_000;
      assert.equal((await found())?.item_count, 2, 'what is there is taken in at once');
      gateway.height += 1;
      gateway.since = 41;
      assert.equal(await look.turn(), 20, 'it does not know what lies before');
      assert.ok(await isHeld());
      assert.equal(await plan(), undefined);
      gateway.since = 40;
      assert.equal(await look.turn(), undefined);
      assert.deepEqual(await itemsOf(await plan()), [three]);
    });

    it('nobody waits longer than six hours for a gateway that is behind', async (t) => {
      const { sql, look, chain, gateway, time, isHeld, errors } = await restored(t, open);
      gateway.height -= 1;
      const restoredAt = 1_700_000_000_000;
      await sql.transaction((tx) => noteRestore(tx, { since: 40_000, restoredAt }));
      for (const waited of [1, 6 * hour]) {
        time.now = restoredAt + waited;
        assert.notEqual(await look.turn(), undefined);
        assert.ok(await isHeld());
      }
      time.now += 1;
      chain.top = height + 54;
      assert.notEqual(await look.turn(), undefined, 'the clock alone makes nothing late');
      chain.top = height + 55;
      assert.equal(await look.turn(), undefined);
      assert.equal(await isHeld(), false);
      assert.deepEqual(errors(), [
        'no gateway knows all blocks since the backup: what waits is bundled, perhaps once more',
      ]);
    });

    it('a bundle is taken in once, by whoever looks', async (t) => {
      const { sql, make, gateway } = await restored(t, open);
      gateway.height = height;
      const [first, second] = [make(), make()];
      await Promise.all([first.turn(), second.turn()]);
      await first.stop();
      await second.turn();
      await second.stop();
      const rows = await sql.all('SELECT plan FROM upload_bundles WHERE tx_id IS NOT NULL');
      assert.equal(rows.length, 1);
    });

    it('what another wallet signed is not believed, whoever lists it', async (t) => {
      const { make, plan, itemsOf, found, one, two, three, errors } = await restored(t, open);
      await plan();
      assert.equal(await make(['a'.repeat(43)]).turn(), undefined);
      assert.deepEqual(errors(), [], 'nobody need read it');
      assert.equal(await found(), undefined);
      assert.deepEqual(await itemsOf(await plan()), [one, two, three]);
    });

    it('nor is a transaction that was changed', async (t) => {
      const { look, chain, found } = await restored(t, open);
      chain.transactionJson = { ...chain.transactionJson, ...{ reward: '6' } };
      assert.equal(await look.turn(), undefined);
      assert.equal(await found(), undefined);
    });

    it('items of a bundle that nobody can read are bundled anew', async (t) => {
      const { look, chain, gateway, plan, itemsOf, isHeld, errors, one, two, three } = await restored(
        t,
        open,
      );
      await plan();
      gateway.height -= 1;
      for (const has of ['nothing', 'no block', 'no header', 'no place', 'no chunks'] as const) {
        chain.has = has;
        assert.notEqual(await look.turn(), undefined, 'it may be read later');
        assert.ok(await isHeld());
      }
      gateway.height += 1;
      assert.equal(await look.turn(), undefined);
      assert.deepEqual(errors(), [
        'a bundle of before the restore cannot be read: items of it that wait are bundled anew',
      ]);
      assert.deepEqual(await itemsOf(await plan()), [one, two, three]);
    });

    it('whatever nodes lack of a bundle, it is said that it cannot be read', async (t) => {
      const { look, chain, sql, errors } = await restored(t, open);
      for (const [index, has] of (['nothing', 'no header', 'no place'] as const).entries()) {
        chain.has = has;
        await sql.transaction((tx) => noteRestore(tx, { since: 40_000, restoredAt: 2 }));
        assert.equal(await look.turn(), undefined);
        assert.equal(errors().length, index + 1, has);
      }
    });

    it('a height that a node made up is not waited for', async (t) => {
      const { look, chain, isHeld } = await restored(t, open);
      chain.top = height + 1_000;
      assert.notEqual(await look.turn(), undefined);
      assert.ok(await isHeld());
      chain.top = height;
      assert.equal(await look.turn(), undefined);
    });

    it('a bundle that is not mined yet is waited for', async (t) => {
      const { look, chain, isHeld, found } = await restored(t, open);
      chain.has = 'no block';
      assert.notEqual(await look.turn(), undefined);
      assert.ok(await isHeld());
      chain.has = 'all';
      assert.equal(await look.turn(), undefined);
      assert.ok((await found()) !== undefined);
    });

    it('a bundle that is not mined in time is told', async (t) => {
      const { look, chain, time, isHeld, errors } = await restored(t, open);
      chain.has = 'no block';
      assert.notEqual(await look.turn(), undefined);
      time.now += 6 * hour;
      chain.top = height + 55;
      assert.equal(await look.turn(), undefined);
      assert.equal(await isHeld(), false);
      assert.match(String(errors()), /cannot be read: items of it that wait are bundled anew/);
    });

    it('what is no bundle, or has a list that is too long, is read no further than that is known', async (t) => {
      const { look, mine, chain, gateway, found, errors } = await restored(t, open);
      gateway.height -= 1;
      const count = Buffer.alloc(32);
      // More items than there are bytes for, and more than a list of 16 MiB has.
      for (const [items, bytes] of [
        [9_000, 262_145],
        [262_144, 17 * 1024 * 1024],
      ] as const) {
        count.writeUInt32LE(items);
        await mine(Buffer.concat([count], bytes));
        chain.asked.length = 0;
        assert.notEqual(await look.turn(), undefined);
        assert.deepEqual(chain.asked, [1n]);
        assert.equal(await found(), undefined);
      }
      assert.deepEqual(errors(), []);
    });

    it('a bundle none of whose items was here is read once, as is one whose items do not wait', async (t) => {
      const { look, gateway, chain, sql, found, one, two } = await restored(t, open);
      gateway.height -= 1;
      await sql.run("UPDATE upload_items SET state = 'failed'");
      await look.turn();
      assert.equal(chain.asked.length, 1);
      await look.turn();
      assert.equal(chain.asked.length, 2, 'an item that is here may wait again');
      await sql.run("UPDATE upload_items SET state = 'new', size = size + 1");
      await look.turn();
      assert.equal(await found(), undefined, 'what has another size is another item');
      await sql.run('DELETE FROM upload_items WHERE id IN (?, ?)', one ?? '', two ?? '');
      await look.turn();
      assert.equal(chain.asked.length, 4);
      await look.turn();
      assert.equal(chain.asked.length, 4);
    });

    it('of a bundle whose items do not wait, or are of others, nothing is said', async (t) => {
      for (const change of ["UPDATE upload_items SET state = 'failed'", 'DELETE FROM upload_items']) {
        const { look, sql, lines } = await restored(t, open);
        await sql.run(change);
        assert.equal(await look.turn(), undefined);
        assert.deepEqual(
          lines.map(({ msg }) => msg),
          ['bundles of before the restore were looked for: what waits is bundled'],
        );
      }
    });

    it('an item that was given up while its bundle was read stays so', async (t) => {
      const { sql, make, found, one } = await restored(t, open);
      const seen = watchedSql(sql, async (method) => {
        if (method === 'transaction')
          await sql.run("UPDATE upload_items SET state = 'failed' WHERE id = ?", one ?? '');
      });
      const look = make([testArweaveKey.address], seen);
      await sql.run('UPDATE upload_restores SET height = ?', height);
      assert.equal(await look.turn(), undefined);
      const bundle = await found();
      assert.deepEqual([bundle?.item_count, bundle?.others], [1, 2]);
      assert.deepEqual(await sql.get('SELECT state, bundle FROM upload_items WHERE id = ?', one ?? ''), {
        ...{ state: 'failed', bundle: null },
      });
    });

    it('a bundle whose items were all given up while it was read is not taken in', async (t) => {
      const { sql, make, found } = await restored(t, open);
      await sql.run('UPDATE upload_restores SET height = ?', height);
      const seen = watchedSql(sql, async (method) => {
        if (method === 'transaction') await sql.run("UPDATE upload_items SET state = 'failed'");
      });
      assert.equal(await make([testArweaveKey.address], seen).turn(), undefined);
      assert.equal(await found(), undefined);
    });

    it('nothing is taken in by a process that lost its turn', async (t) => {
      const { sql, make, found } = await restored(t, open);
      await sql.run('UPDATE upload_restores SET height = ?', height);
      const seen = watchedSql(sql, async (method) => {
        if (method === 'transaction') await sql.run("UPDATE upload_leases SET holder = 'another'");
      });
      await assert.rejects(make([testArweaveKey.address], seen).turn(), LostLease);
      assert.equal(await found(), undefined);
    });

    it('nothing is taken in by a service that stops', async (t) => {
      const { look, gateway, found, isHeld } = await restored(t, open);
      const { promise, resolve } = Promise.withResolvers<void>();
      gateway.wait = () => promise;
      look.start();
      await eventually('the look to wait', () => gateway.asked > 0);
      const stopped = look.stop();
      resolve();
      await stopped;
      assert.equal(await found(), undefined);
      assert.ok(await isHeld());
    });

    it('a look that takes its time is not stuck', async (t) => {
      const { look, gateway } = await restored(t, open);
      const { promise, resolve } = Promise.withResolvers<void>();
      gateway.wait = () => promise;
      look.start();
      await eventually('the look to wait', () => gateway.asked > 0);
      const report = () => look.reports()[0];
      const since = report()?.lastStartedAt ?? 0;
      await eventually('time to pass', () => Date.now() > since + 1);
      assert.deepEqual([report()?.state, report()?.stuck], ['running', false]);
      resolve();
      await look.stop();
    });

    it('where nobody answers it is tried again, said, and in the end given up', async (t) => {
      const { look, chain, gateway, time, isHeld, errors, lines } = await restored(t, open);
      gateway.isAway = true;
      await assert.rejects(look.turn(), /no gateway lists bundles/);
      gateway.isAway = false;
      chain.has = 'no answer';
      await assert.rejects(look.turn(), /not all bundles could be read/);
      assert.ok(await isHeld());
      assert.deepEqual(await look.problems(), [], 'it does not run by itself here');
      look.start();
      const problems = await eventually('the problem', async () => (await look.problems())[0]);
      assert.match(problems, /what waited then is not bundled yet/);
      assert.ok(lines.some(({ msg }) => msg === 'bundles of before the restore could not be looked for'));
      time.now += 6 * hour;
      await assert.rejects(look.turn(), /not all/, 'the chain has not grown: the clock is ahead');
      chain.top = height + 55;
      await eventually('the end', async () => !(await isHeld()));
      await look.stop();
      assert.equal(errors().length, 1);
      assert.deepEqual(await look.problems(), []);
    });

    it('items that came while a clock was ahead are held back as the others', async (t) => {
      const { sql, plan, itemsOf, look, three } = await restored(t, open);
      await plan();
      await sql.run('UPDATE upload_items SET received_at = 86400000 WHERE id = ?', three ?? '');
      await sql.transaction((tx) => noteRestore(tx, { since: 50_000, restoredAt: 4 }));
      assert.equal(await plan(), undefined);
      assert.equal(await look.turn(), undefined);
      assert.ok((await itemsOf(await plan())).includes(three ?? ''));
    });

    it('bundles that have a transaction go on with their items', async (t) => {
      const { sql, plan, itemsOf, later } = await restored(t, open);
      const planned = (await plan()) ?? '';
      await sql.run("UPDATE upload_bundles SET state = 'posted', tx_id = 'tx', tx = '{}'");
      await sql.transaction((tx) => noteRestore(tx, { since: 30_000, restoredAt: 4 }));
      const bundle = await findBundle(sql, planned);
      assert.deepEqual([bundle?.state, bundle?.tx_id, bundle?.tx], ['posted', 'tx', '{}']);
      assert.deepEqual(await itemsOf(planned), [later]);
      assert.deepEqual(await sql.all("SELECT id FROM upload_items WHERE state = 'planned'"), [{ id: later }]);
      assert.deepEqual(await findRestore(sql), {
        since: 30_000,
        restoredAt: 4,
        newestAt: 4,
        height: undefined,
      });
    });

    it('bundles without a transaction are dissolved by the restore', async (t) => {
      const { sql, plan, itemsOf, look, later } = await restored(t, open);
      const planned = await plan();
      await sql.transaction((tx) => noteRestore(tx, { since: 50_000, restoredAt: 4 }));
      assert.equal((await findBundle(sql, planned ?? ''))?.state, 'dropped');
      assert.equal((await findRestore(sql))?.since, 40_000, 'the earlier look was not over');
      assert.equal((await findRestore(sql))?.height, undefined, 'it begins anew');
      assert.equal(await plan(), undefined);
      assert.equal(await look.turn(), undefined);
      assert.ok((await itemsOf(await plan())).includes(later ?? ''));
    });
  });
});
