/** Each step of a bundle by itself: what it stores, when it is tried again, and what it leaves to others. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { AtOnce } from '../../kernel/background/at-once.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { rememberingLog } from '../../kernel/testing.ts';
import {
  type Anchor,
  ArweaveNodes,
  type ChunkUpload,
  type NodeChunk,
  NodeRefused,
  type TxStatus,
} from '../../outside/arweave/nodes.ts';
import { absent, found, type LookUp, notKnown } from '../../outside/look-up.ts';
import { DiskBlobStore } from '../../storage/blobs/disk/store.ts';
import { readAll } from '../../storage/blobs/testing.ts';
import { LostLease } from '../../storage/sql/lease.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { testArweaveKey } from '../../wallets/testing/keys.ts';
import { PayloadHashes } from '../hashing/payload-hash.ts';
import { createUploadMetrics } from '../metrics.ts';
import { testMigrations } from '../testing.ts';
import { BundleLeases } from './bundle-leases.ts';
import { BundleReader, LostItem } from './bundle-reader.ts';
import { findBundle } from './bundle-rows.ts';
import { planBundle } from './plan.ts';
import { prepareBundle } from './prepare.ts';
import { advanceBundle, longestWaitMs } from './steps.ts';
import { storeItems } from './testing.ts';

const height = 1_000;
const pollMs = 100;
const hashes = new PayloadHashes(1);

/** Nodes that say what a test has them say. */
class ScriptedNodes extends ArweaveNodes {
  cost = 1_000n;
  funds = 1_000n;
  status: LookUp<TxStatus> = found({ state: 'pending' }, height);
  /** What is thrown where a transaction, or a chunk, is given. */
  refusal: Error | undefined;
  chunkRefusal: Error | undefined;
  asked = 0;
  readonly given: ChunkUpload[] = [];
  readonly posted: string[] = [];
  onPrice: () => void = () => {};
  hasChunks = true;

  constructor() {
    super([]);
  }
  override async price(): Promise<bigint> {
    this.onPrice();
    return this.cost;
  }
  override async balance(): Promise<bigint> {
    return this.funds;
  }
  override async anchor(): Promise<Anchor> {
    return { anchor: Buffer.alloc(48, 7), height };
  }
  override async highest(): Promise<number> {
    return height;
  }
  override async txStatus(): Promise<LookUp<TxStatus>> {
    this.asked += 1;
    return this.status;
  }
  override async postTransaction({ id }: { id: string }): Promise<void> {
    this.posted.push(id);
    if (this.refusal !== undefined) throw this.refusal;
  }
  override async postChunk(upload: ChunkUpload): Promise<void> {
    if (this.chunkRefusal !== undefined) throw this.chunkRefusal;
    this.given.push(upload);
  }
  override async txOffset() {
    const size = this.given.at(-1)?.dataSize ?? 0;
    return this.hasChunks ? found({ end: BigInt(size), size }, height) : absent(height);
  }
  override async chunk(_offset: bigint, isRight: (chunk: NodeChunk) => boolean): Promise<LookUp<NodeChunk>> {
    const last = this.given.at(-1);
    assert.ok(last !== undefined);
    const chunk = { chunk: last.chunk, dataPath: last.dataPath, txPath: Buffer.alloc(0) };
    return isRight(chunk) ? found(chunk, height) : notKnown(new Error('another chunk'));
  }
}

/** A signature is dear: the same items always make the same transaction. */
let signed: { readonly tx_id: string; readonly tx: string } | undefined;

/** Items in a bundle that was just planned, and all that works on it. */
async function planned(t: TestContext, open: OpenForTest, { items: count = 1, isWatched = true } = {}) {
  const sql = await open(testMigrations);
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-steps-'));
  const blobs = await DiskBlobStore.open({ folder });
  t.after(async () => {
    await blobs.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const items = await storeItems(
    { sql, blobs },
    Array.from({ length: count }, (_, n) => Buffer.from(`item ${n}`)),
  );
  const plan = await planBundle(sql, { maxItems: 100, targetBytes: 1e9, maxWaitMs: 0 }, 1e6);
  assert.ok(plan !== undefined);
  const nodes = new ScriptedNodes();
  const registry = new Metrics();
  const { log, lines } = rememberingLog('debug');
  const time = { now: 1_000_000 };
  const now = () => time.now;
  const leases = new BundleLeases(sql, 9_000, longestWaitMs(pollMs));
  const deps = {
    ...{ sql, nodes, log, now, pollMs, confirmations: 3, chunkConcurrency: 2 },
    firstLookMs: isWatched ? 5_000 : undefined,
    reader: new BundleReader({ sql, blobs, hashes }),
    credits: createCredits({ sql, now }),
    wallet: testArweaveKey,
    metrics: createUploadMetrics(registry, { disk: { freeBytes: 1, reservedBytes: 0, isLow: false } }),
    posts: new AtOnce(2),
  };
  const stopping = new AbortController();
  const row = async () => {
    const bundle = await findBundle(sql, plan);
    assert.ok(bundle !== undefined);
    return bundle;
  };
  const set = (columns: string) => sql.run(`UPDATE upload_bundles SET ${columns}`);
  return {
    ...{ sql, plan, items, nodes, lines, time, stopping, row, set, leases, deps },
    metrics: () => registry.text(),
    /** Goes on with it as soon as it is due; answers what is stored then. */
    async go() {
      time.now = Math.max(time.now, (await row()).due_at);
      const [lease] = await leases.take(1, time.now);
      assert.ok(lease !== undefined, 'nobody holds it, and it is due');
      await advanceBundle(deps, lease, stopping.signal);
      await lease.end();
      return row();
    },
    /** As if it had come so far. */
    async begin(state: 'prepared' | 'posted' | 'seeded') {
      if (signed === undefined) {
        await prepareBundle(deps, sql, await row(), await deps.reader.tree(plan, stopping.signal));
        const { tx_id, tx } = await row();
        signed = { tx_id: tx_id ?? '', tx: tx ?? '' };
      }
      await sql.run(
        'UPDATE upload_bundles SET state = ?, tx_id = ?, tx = ?, anchor_height = ?',
        state,
        signed.tx_id,
        signed.tx,
        height,
      );
      if (state !== 'prepared') await set('posted_at = 1000000');
    },
    itemStates: async () =>
      (await sql.all<{ state: string }>('SELECT state FROM upload_items ORDER BY received_at')).map(
        ({ state }) => state,
      ),
    isFree: async () => (await sql.all('SELECT plan FROM upload_bundles WHERE holder IS NULL')).length === 1,
  };
}

describe('a bundle', () => {
  forEachEngine((_engine, open) => {
    it('comes to the chain step by step, and is asked for the less often the longer it takes', async (t) => {
      const { nodes, time, go, items, itemStates, metrics, isFree, plan, deps, sql, stopping } =
        await planned(t, open);
      const from = time.now;
      const waiting = await go();
      assert.deepEqual(nodes.posted, [waiting.tx_id]);
      assert.deepEqual(
        nodes.given.map(({ chunk }) => chunk.subarray(32 + 64).equals(items[0]?.bytes ?? Buffer.alloc(0))),
        [true],
      );
      const { state, seedings, attempts, posted_at, seeded_at, anchor_height, due_at } = waiting;
      assert.deepEqual(
        [state, seedings, attempts, posted_at, seeded_at, anchor_height],
        ['seeded', 1, 0, from, from, height],
      );
      assert.deepEqual([due_at - from, waiting.block_height, waiting.last_error], [pollMs, null, null]);
      assert.ok(await isFree());
      // A tenth of the time since it was posted, and a minute at the most.
      nodes.status = found({ state: 'mined', blockHeight: 9, confirmations: 2 }, height);
      time.now = from + 5_000;
      const shallow = await go();
      assert.deepEqual([shallow.state, shallow.block_height, shallow.confirmations], ['seeded', 9, 2]);
      assert.equal(shallow.due_at - time.now, 500);
      time.now = from + 10_000_000;
      assert.equal((await go()).due_at - time.now, 60_000);
      // What the chain took back is not kept.
      nodes.status = found({ state: 'pending' }, height);
      assert.deepEqual([(await go()).block_height, (await go()).confirmations], [null, null]);
      nodes.status = found({ state: 'mined', blockHeight: 9, confirmations: 3 }, height);
      const permanent = await go();
      assert.deepEqual(
        [permanent.state, permanent.block_height, permanent.confirmations],
        ['permanent', 9, 3],
      );
      assert.equal(permanent.look_at, time.now + 5_000);
      assert.ok(await isFree());
      assert.deepEqual(await itemStates(), ['permanent']);
      assert.equal(nodes.posted.length, 1, plan);
      const text = await metrics();
      assert.match(text, /^upload_bundles_total\{end="permanent"\} 1$/m);
      assert.match(text, new RegExp(`^upload_permanence_seconds_sum ${(time.now - 1e6) / 1000}$`, 'm'));
      assert.match(text, /^upload_wallet_winston 1000$/m);
      await sql.run('DELETE FROM upload_heads');
      await assert.rejects(
        deps.reader.tree(plan, stopping.signal),
        LostItem,
        'nothing of it is kept in memory',
      );
    });

    it('is not looked at again where bundles are not watched', async (t) => {
      const { nodes, begin, go, row } = await planned(t, open, { isWatched: false });
      await begin('posted');
      nodes.status = found({ state: 'mined', blockHeight: 9, confirmations: 50 }, height);
      assert.equal((await go()).state, 'permanent');
      assert.equal((await row()).look_at, null);
    });

    it('waits for a wallet that cannot pay, longer each time, and says why', async (t) => {
      const { nodes, go, time, lines, set } = await planned(t, open);
      nodes.funds = 999n;
      const first = await go();
      assert.deepEqual([first.state, first.attempts, first.due_at - time.now], ['planned', 1, pollMs]);
      assert.match(first.last_error ?? '', /has 999 winston, bundle .* costs 1000$/);
      assert.equal(first.last_error_at, time.now);
      assert.deepEqual(
        lines.map(({ level, msg }) => `${level} ${msg}`),
        ['error a bundle has to wait'],
      );
      const second = await go();
      assert.deepEqual([second.attempts, second.due_at - time.now], [2, 2 * pollMs]);
      await set('attempts = 40');
      assert.equal((await go()).due_at - time.now, 5 * 60_000);
    });

    it('tells three causes and no key', async (t) => {
      const { nodes, go, lines } = await planned(t, open);
      const deep = new Error('third', { cause: new Error('fourth') });
      nodes.onPrice = () => {
        throw new Error('first', { cause: new Error('at http://node.test/secret now', { cause: deep }) });
      };
      assert.equal((await go()).last_error, 'first: at http://node.test/(hidden) now: third');
      assert.equal(lines.at(-1)?.level, 'warn');
      nodes.onPrice = () => {
        throw new Error('x'.repeat(600));
      };
      assert.equal((await go()).last_error, 'x'.repeat(500));
    });

    it('is let alone by a process that stops, and by one that lost it', async (t) => {
      const { nodes, go, row, stopping, leases, time, deps, sql, set, lines } = await planned(t, open);
      const seen = async () => {
        const { state, attempts, due_at, last_error, tx_id } = await row();
        return { state, attempts, due_at, last_error, tx_id };
      };
      const before = await seen();
      const [lost] = await leases.take(1, time.now);
      assert.ok(lost !== undefined);
      await set("holder = 'another'");
      await assert.rejects(advanceBundle(deps, lost, stopping.signal), LostLease);
      assert.deepEqual(await seen(), before);
      assert.deepEqual(lines, [], 'it is no trouble of the bundle');
      await lost.end();
      await sql.run('UPDATE upload_bundles SET holder = NULL, held_until = NULL');
      nodes.onPrice = () => {
        stopping.abort();
        throw new Error('cut off');
      };
      await go();
      assert.deepEqual(await seen(), before, 'what fails because it is called off is no failure');
      nodes.onPrice = () => assert.fail('asked after the end');
      await go();
      assert.deepEqual(await seen(), before);
    });

    it('that a node may have taken is not made anew while it can be mined', async (t) => {
      const { nodes, begin, go, time } = await planned(t, open);
      await begin('prepared');
      nodes.refusal = new Error('no answer');
      nodes.status = notKnown(new Error('away'));
      const from = time.now;
      const first = await go();
      assert.deepEqual([first.state, first.attempts, first.posted_at], ['prepared', 1, from]);
      // Refused, and it was offered before.
      nodes.refusal = new NodeRefused(400, 'no');
      nodes.status = absent(height + 55);
      const again = await go();
      assert.deepEqual([again.state, again.attempts, again.posted_at], ['prepared', 2, from]);
      nodes.status = notKnown(new Error('away'));
      assert.equal((await go()).state, 'prepared');
      nodes.refusal = new Error('no answer');
      nodes.status = absent(height + 56);
      assert.equal((await go()).state, 'prepared', 'who did not answer may have it');
      nodes.refusal = new NodeRefused(400, 'no');
      const anew = await go();
      assert.deepEqual([anew.state, anew.attempts, anew.due_at - time.now], ['planned', 5, 16 * pollMs]);
      assert.equal(anew.last_error, 'the node refused with 400: no');
    });

    it('does not wait for a height that a node made up', async (t) => {
      const { nodes, begin, go, set } = await planned(t, open);
      await begin('prepared');
      nodes.refusal = new NodeRefused(400, 'Invalid anchor (last_tx).');
      nodes.status = absent(height);
      await set(`posted_at = 1, anchor_height = ${height + 55}`);
      assert.equal((await go()).anchor_height, height + 55, 'nodes may be behind where they were');
      await set(`anchor_height = ${height + 1_000}`);
      const corrected = await go();
      assert.deepEqual([corrected.state, corrected.anchor_height], ['prepared', height + 55]);
      nodes.status = absent(height + 110);
      assert.equal((await go()).state, 'prepared');
      nodes.status = absent(height + 111);
      assert.equal((await go()).state, 'planned');
    });

    it('that all refuse at the first offer is made anew, and one that some node has goes on', async (t) => {
      const { nodes, begin, go } = await planned(t, open);
      await begin('prepared');
      nodes.refusal = new NodeRefused(400, 'no');
      nodes.status = absent(height);
      assert.equal((await go()).state, 'planned');
      await begin('prepared');
      nodes.status = found({ state: 'pending' }, height);
      assert.equal((await go()).state, 'seeded');
    });

    it('whose chunks are refused is posted again, given up or tried again, as the chain says', async (t) => {
      const { nodes, begin, go, time, itemStates, metrics, isFree } = await planned(t, open);
      await begin('posted');
      nodes.chunkRefusal = new Error('cut off');
      assert.deepEqual([(await go()).state, nodes.asked], ['posted', 0], 'the chain is not asked');
      nodes.chunkRefusal = new NodeRefused(400, 'invalid_proof');
      const refused = await go();
      assert.deepEqual([refused.state, refused.attempts, nodes.asked], ['posted', 2, 1]);
      nodes.status = absent(height + 55);
      const forgotten = await go();
      assert.deepEqual(
        [forgotten.state, forgotten.attempts, forgotten.due_at - time.now, forgotten.last_error],
        ['prepared', 0, pollMs, 'no node knows its transaction any more'],
      );
      await begin('posted');
      nodes.status = absent(height + 56);
      assert.equal((await go()).state, 'dropped');
      assert.deepEqual(await itemStates(), ['new']);
      assert.ok(await isFree());
      assert.match(await metrics(), /^upload_bundles_total\{end="dropped"\} 1$/m);
    });

    it('that is forgotten is posted again, and dropped when it cannot be mined any more', async (t) => {
      const { nodes, begin, go, set } = await planned(t, open);
      await begin('seeded');
      await set('block_height = 9, confirmations = 1');
      nodes.status = absent(height + 55);
      const forgotten = await go();
      assert.deepEqual(
        [forgotten.state, forgotten.block_height, forgotten.confirmations],
        ['prepared', null, null],
      );
      await begin('seeded');
      nodes.status = absent(height + 56);
      assert.equal((await go()).state, 'dropped');
    });

    it('that is mined and cannot be read is seeded again, the twenty-first time made anew', async (t) => {
      const { nodes, begin, go, time, set, itemStates } = await planned(t, open);
      await begin('posted');
      nodes.hasChunks = false;
      nodes.status = found({ state: 'mined', blockHeight: 9, confirmations: 50 }, height);
      const first = await go();
      assert.deepEqual([first.state, first.unreadable, first.due_at - time.now], ['posted', 1, 2 * pollMs]);
      assert.match(first.last_error ?? '', /not all of its chunks can be read back/);
      const second = await go();
      assert.deepEqual([second.unreadable, second.due_at - time.now, second.seedings], [2, 4 * pollMs, 2]);
      // A failure of another kind leaves the count alone.
      nodes.chunkRefusal = new Error('cut off');
      assert.deepEqual([(await go()).unreadable, (await go()).attempts], [2, 2]);
      nodes.chunkRefusal = undefined;
      await set('unreadable = 40');
      assert.equal((await go()).state, 'posted', 'many checks at once, by whatever clocks');
      await set('unreadable = 19, unreadable_since = 0');
      const last = await go();
      assert.deepEqual([last.state, last.unreadable, last.due_at - time.now], ['posted', 20, 256 * pollMs]);
      assert.equal((await go()).state, 'dropped');
      assert.deepEqual(await itemStates(), ['new']);
    });

    it('that was found on the chain with items that are not here is judged and never seeded', async (t) => {
      const { nodes, begin, set, go, itemStates, deps } = await planned(t, open);
      await begin('seeded');
      await set('others = 1, size = size + 300');
      nodes.status = found({ state: 'mined', blockHeight: 990, confirmations: 3 }, height);
      nodes.hasChunks = false;
      const first = await go();
      assert.deepEqual([first.state, first.unreadable], ['posted', 1]);
      const second = await go();
      assert.deepEqual([second.state, second.unreadable, second.last_error === null], ['posted', 2, false]);
      assert.deepEqual([nodes.given.length, deps.nodes.posted.length], [0, 0]);
      await set('unreadable = 20, unreadable_since = 0');
      assert.equal((await go()).state, 'dropped');
      assert.deepEqual(await itemStates(), ['new']);
    });

    it('goes on without an item that cannot be read, and ends where it was the only one', async (t) => {
      const { nodes, go, items, sql, itemStates, metrics, row, time } = await planned(t, open, { items: 2 });
      await sql.run('DELETE FROM upload_heads WHERE id = ?', items[1]?.id ?? '');
      nodes.funds = 0n;
      const alone = await go();
      assert.deepEqual([alone.state, alone.item_count, alone.attempts], ['planned', 1, 1]);
      assert.deepEqual(await itemStates(), ['planned', 'new']);
      const put = await sql.get<{ not_before: number; misses: number }>(
        'SELECT not_before, misses FROM upload_items WHERE id = ?',
        items[1]?.id ?? '',
      );
      assert.deepEqual(put, { not_before: time.now + pollMs, misses: 1 });
      assert.match(await metrics(), /^upload_items_unread_total 1$/m);
      await sql.run('DELETE FROM upload_heads');
      await sql.run("UPDATE upload_items SET misses = 7, missed_since = 0 WHERE state = 'planned'");
      await go();
      assert.equal((await row()).state, 'dropped');
      assert.deepEqual(await itemStates(), ['failed', 'new']);
      assert.match(await metrics(), /^upload_items_lost_total 1$/m);
    });

    it('whose bytes are others than were signed waits for them, and loses the item that never comes', async (t) => {
      const { begin, go, items, sql, itemStates, metrics, lines, nodes } = await planned(t, open);
      await begin('posted');
      const { id, bytes } = items[0] ?? assert.fail();
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(damaged.length - 1) ^ 1, damaged.length - 1);
      await sql.run('UPDATE upload_heads SET bytes = ?', damaged);
      const missed = await go();
      assert.deepEqual(
        [missed.state, missed.attempts, missed.last_error?.startsWith(`the bytes of ${id} are lost`)],
        ['posted', 1, true],
      );
      assert.equal(lines.at(-1)?.level, 'error');
      assert.equal(nodes.given.length, 0);
      await sql.run('UPDATE upload_heads SET bytes = ?', bytes);
      assert.equal((await go()).state, 'seeded', 'the same bytes again make good');
      assert.deepEqual(await sql.get('SELECT misses FROM upload_items'), { misses: 0 });
      await begin('posted');
      await sql.run('UPDATE upload_heads SET bytes = ?', damaged);
      await sql.run('UPDATE upload_items SET misses = 7, missed_since = 0');
      // The tree that was right stays until something is refused.
      nodes.chunkRefusal = new NodeRefused(400, 'invalid_proof');
      await go();
      assert.equal((await go()).state, 'posted', 'what waits to be mined may have been seeded before');
      nodes.status = notKnown(new Error('away'));
      assert.equal((await go()).state, 'posted');
      nodes.status = absent(height);
      assert.equal((await go()).state, 'dropped');
      assert.deepEqual(await itemStates(), ['failed']);
      const text = await metrics();
      assert.match(text, /^upload_items_unread_total 4$/m);
      assert.match(text, /^upload_items_lost_total 1$/m);
    });

    it('that was seeded before its bytes were lost becomes permanent, and is given up where the chain lacks some', async (t) => {
      for (const hasChunks of [true, false]) {
        const { begin, go, set, sql, itemStates, nodes } = await planned(t, open);
        await begin('posted');
        assert.equal((await go()).state, 'seeded');
        await set("state = 'posted'");
        await sql.run('DELETE FROM upload_heads');
        await sql.run('UPDATE upload_items SET misses = 7, missed_since = 0');
        const mined = (confirmations: number) =>
          found({ state: 'mined', blockHeight: height, confirmations } as const, height);
        nodes.status = mined(1);
        assert.equal((await go()).state, 'posted');
        nodes.status = mined(1_000);
        nodes.hasChunks = hasChunks;
        assert.equal((await go()).state, hasChunks ? 'permanent' : 'dropped');
        assert.deepEqual(await itemStates(), [hasChunks ? 'permanent' : 'failed']);
      }
    });

    it('of the service alone is seeded though it was found on the chain, and then its bytes are let go', async (t) => {
      const { begin, set, go, nodes, sql, deps, plan } = await planned(t, open);
      await begin('posted');
      await set('others = 0');
      assert.equal((await go()).state, 'seeded');
      assert.equal(nodes.given.length, 1);
      await set("others = NULL, state = 'planned', tx_id = NULL, tx = NULL");
      assert.equal((await go()).state, 'seeded');
      await sql.run('DELETE FROM upload_heads');
      await assert.rejects(readAll(deps.reader.bytes(plan)), LostItem);
    });

    it('that lost an item while it was seeded is kept in memory no more', async (t) => {
      const { begin, go, sql, nodes, deps, plan, stopping } = await planned(t, open);
      await begin('posted');
      nodes.chunkRefusal = new Error('cut off');
      await go();
      await sql.run('DELETE FROM upload_heads');
      await sql.run('UPDATE upload_items SET misses = 7, missed_since = 0');
      nodes.status = absent(height);
      assert.equal((await go()).state, 'dropped');
      await assert.rejects(deps.reader.tree(plan, stopping.signal), /at least one item/);
    });

    it('that has a transaction is not signed again, and one that ended is left alone', async (t) => {
      const { begin, row, sql, nodes, deps, plan, stopping, leases, time } = await planned(t, open);
      await begin('posted');
      const { tx_id } = await row();
      const tree = await deps.reader.tree(plan, stopping.signal);
      await sql.run("UPDATE upload_bundles SET tx_id = 'paid for'");
      await assert.rejects(prepareBundle(deps, sql, await row(), tree));
      assert.deepEqual([(await row()).state, (await row()).tx_id], ['posted', 'paid for']);
      assert.notEqual(tx_id, null);
      const [lease] = await leases.take(1, time.now);
      assert.ok(lease !== undefined);
      for (const state of ['permanent', 'dropped'] as const)
        await advanceBundle(deps, { ...lease, bundle: { ...lease.bundle, state } }, stopping.signal);
      assert.deepEqual([nodes.asked, nodes.given.length, (await row()).state], [0, 0, 'posted']);
      await lease.end();
    });

    it('that was signed for something else is not seeded', async (t) => {
      const { begin, go, sql, nodes } = await planned(t, open);
      await begin('posted');
      const other = JSON.stringify({
        ...JSON.parse(signed?.tx ?? ''),
        data_root: Buffer.alloc(32).toString('base64url'),
      });
      await sql.run('UPDATE upload_bundles SET tx = ?', other);
      const { state, last_error, plan } = await go();
      assert.deepEqual(
        [state, last_error],
        ['posted', `what is stored of bundle ${plan} is not what was signed`],
      );
      assert.equal(nodes.given.length, 0);
    });
  });
});
