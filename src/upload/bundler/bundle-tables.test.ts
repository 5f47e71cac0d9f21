/** What each step writes, and that it leaves alone what stands beside it: other bundles and items in other states. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { toldWallets } from '../../events/testing-wallets.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { giveUpAfter } from '../items/missing-blobs.ts';
import { testMigrations } from '../testing.ts';
import { findBundle, nextToLookAt, postedBundle } from './bundle-rows.ts';
import {
  deleteLocalCopies,
  dropBundle,
  dropLostItem,
  failItem,
  makePermanent,
  markPosted,
} from './endings.ts';
import { countMiss, forgetMisses, leaveOut } from './misses.ts';
import { countOnTheWay, countOverdue, planBundle } from './plan.ts';

interface Item {
  readonly id: string;
  readonly state?: string;
  readonly bundle?: string;
  readonly position?: number;
  readonly size?: number;
  readonly received?: number;
  readonly failures?: number;
  readonly misses?: number;
  readonly permanentAt?: number;
  readonly held?: number;
  readonly notBefore?: number;
  readonly deadline?: number;
}

const addItem = (sql: Sql, item: Item) =>
  sql.run(
    `INSERT INTO upload_items (id, owner, signer, signature_type, size, payload_start, content_type, winc, received_at,
       deadline_height, held, state, bundle, position, failures, misses, permanent_at, not_before, segments)
     VALUES (?, 'o', 's', 4, ?, 0, '', '0', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)`,
    item.id,
    item.size ?? 100,
    item.received ?? 1,
    item.deadline ?? 50,
    item.held ?? 1,
    item.state ?? 'new',
    item.bundle ?? null,
    item.position ?? null,
    item.failures ?? 0,
    item.misses ?? 0,
    item.permanentAt ?? null,
    item.notBefore ?? null,
  );

const addBundle = (
  sql: Sql,
  plan: string,
  state = 'planned',
  more: { txId?: string; lookAt?: number } = {},
) =>
  sql.run(
    `INSERT INTO upload_bundles (plan, state, item_count, size, tx_id, seedings, attempts, due_at, created_at, changed_at,
       look_at)
     VALUES (?, ?, 3, 9, ?, 0, 4, 0, 0, 0, ?)`,
    plan,
    state,
    more.txId ?? null,
    more.lookAt ?? null,
  );

/** `id state bundle` of every item. */
const items = async (sql: Sql) =>
  (
    await sql.all<{ id: string; state: string; bundle: string | null }>(
      'SELECT id, state, bundle FROM upload_items ORDER BY id',
    )
  ).map(({ id, state, bundle }) => [id, state, bundle ?? '-'].join(' '));

const column = async (sql: Sql, name: string, id: string) =>
  (await sql.get<Record<string, unknown>>(`SELECT ${name} AS value FROM upload_items WHERE id = ?`, id))
    ?.value;

const told = async (sql: Sql, type: string) =>
  (await toldWallets(sql)).filter((event) => event.type === type).length;

forEachEngine((_engine, open) => {
  describe('a plan', () => {
    const limits = { maxItems: 3, targetBytes: 1_000, maxWaitMs: 500 };

    it('is made when the oldest item has waited, when there are enough, or when they are large enough', async () => {
      const sql = await open(testMigrations);
      assert.equal(await planBundle(sql, limits, 10_000), undefined, 'nothing waits');
      await addItem(sql, { id: 'a', received: 1_000 });
      assert.equal(await planBundle(sql, limits, 1_499), undefined);
      const waited = await planBundle(sql, limits, 1_500);
      assert.ok(waited !== undefined);
      for (const id of ['b', 'c']) await addItem(sql, { id, received: 2_000 });
      assert.equal(await planBundle(sql, limits, 2_000), undefined);
      await addItem(sql, { id: 'd', received: 2_000 });
      const enough = await planBundle(sql, limits, 2_000);
      assert.ok(enough !== undefined);
      await addItem(sql, { id: 'e', received: 3_000, size: 999 });
      assert.equal(await planBundle(sql, limits, 3_000), undefined);
      await addItem(sql, { id: 'f', received: 3_000, size: 1 });
      const large = await planBundle(sql, limits, 3_000);
      assert.deepEqual(await items(sql), [
        `a planned ${waited}`,
        ...['b', 'c', 'd'].map((id) => `${id} planned ${enough}`),
        ...['e', 'f'].map((id) => `${id} planned ${large}`),
      ]);
      const bundle = await findBundle(sql, large ?? '');
      assert.deepEqual([bundle?.item_count, bundle?.size], [2, 32 + 2 * 64 + 1_000]);
      assert.deepEqual(
        [await column(sql, 'position', 'f'), await column(sql, 'bundle_offset', 'f')],
        [1, 32 + 2 * 64 + 999],
      );
    });

    it('takes the oldest that fit, one that is too large alone, and none whose time has not come', async () => {
      const sql = await open(testMigrations);
      await addItem(sql, { id: 'a', received: 1, size: 5_000 });
      await addItem(sql, { id: 'b', received: 2, size: 600 });
      await addItem(sql, { id: 'c', received: 3, size: 400 });
      await addItem(sql, { id: 'd', received: 4, size: 1 });
      await addItem(sql, { id: 'later', received: 0, notBefore: 10_001 });
      await addItem(sql, { id: 'failed', received: 0, state: 'failed' });
      const plans = [];
      for (let n = 0; n < 3; n += 1) plans.push(await planBundle(sql, limits, 10_000));
      assert.equal(await planBundle(sql, limits, 10_000), undefined);
      assert.deepEqual(await items(sql), [
        `a planned ${plans[0]}`,
        `b planned ${plans[1]}`,
        `c planned ${plans[1]}`,
        `d planned ${plans[2]}`,
        'failed failed -',
        'later new -',
      ]);
      assert.ok((await planBundle(sql, limits, 10_001)) !== undefined);
    });

    it('is counted while it is on its way', async () => {
      const sql = await open(testMigrations);
      assert.deepEqual(await countOnTheWay(sql), { items: 0, bundles: 0 });
      for (const state of ['planned', 'posted', 'permanent', 'dropped']) await addBundle(sql, state, state);
      await addItem(sql, { id: 'a' });
      await addItem(sql, { id: 'b', state: 'permanent', deadline: 1 });
      await addItem(sql, { id: 'c', state: 'planned', deadline: 60 });
      assert.deepEqual(await countOnTheWay(sql), { items: 7, bundles: 2 });
      assert.deepEqual([await countOverdue(sql, 50), await countOverdue(sql, 51)], [0, 1]);
      assert.equal(await countOverdue(sql, 61), 2);
    });
  });

  describe('an ending', () => {
    const start = async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'one', 'prepared', { txId: 'tx' });
      await addBundle(sql, 'two', 'prepared', { txId: 'other' });
      await addItem(sql, { id: 'a', state: 'planned', bundle: 'one', position: 0 });
      await addItem(sql, { id: 'b', state: 'planned', bundle: 'one', position: 1, failures: 10 });
      await addItem(sql, { id: 'c', state: 'planned', bundle: 'one', position: 2, failures: 9 });
      await addItem(sql, { id: 'd', state: 'planned', bundle: 'two', position: 0, failures: 10 });
      await addItem(sql, { id: 'e' });
      return { sql, credits: createCredits({ sql }) };
    };

    it('that is posted is told once for each transaction, and only from the state that was read', async () => {
      const { sql } = await start();
      const bundle = { plan: 'one', state: 'prepared', tx_id: 'tx' } as const;
      await markPosted(sql, bundle, 5);
      const { state, attempts, posted_at } = (await findBundle(sql, 'one')) ?? {};
      assert.deepEqual([state, attempts, posted_at], ['posted', 0, 5]);
      assert.equal((await findBundle(sql, 'two'))?.state, 'prepared');
      const once = await told(sql, 'upload.bundled');
      assert.equal(once, 3);
      await assert.rejects(markPosted(sql, bundle, 6));
      assert.equal((await findBundle(sql, 'one'))?.posted_at, 5);
      await markPosted(sql, { ...bundle, state: 'posted' }, 7);
      assert.equal(await told(sql, 'upload.bundled'), once);
      await sql.run("UPDATE upload_bundles SET tx_id = 'again' WHERE plan = 'one'");
      await markPosted(sql, { ...bundle, state: 'posted', tx_id: 'again' }, 8);
      assert.equal(await told(sql, 'upload.bundled'), 2 * once);
    });

    it('that is permanent is so for its items alone', async () => {
      const { sql } = await start();
      await sql.run("UPDATE upload_items SET state = 'failed' WHERE id = 'b'");
      await makePermanent(sql, 'one', { blockHeight: 7, confirmations: 18 }, 5, 99);
      assert.deepEqual(await items(sql), [
        'a permanent one',
        'b failed one',
        'c permanent one',
        'd planned two',
        'e new -',
      ]);
      assert.equal(await column(sql, 'permanent_at', 'a'), 5);
      const { state, block_height, confirmations, look_at } = (await findBundle(sql, 'one')) ?? {};
      assert.deepEqual([state, block_height, confirmations, look_at], ['permanent', 7, 18, 99]);
      assert.equal((await findBundle(sql, 'two'))?.state, 'prepared');
      assert.ok((await told(sql, 'upload.permanent')) > 0);
      await assert.rejects(makePermanent(sql, 'none', { blockHeight: 7, confirmations: 18 }, 5));
    });

    it('that is dropped lets its items wait, but for those that were dropped too often', async () => {
      const { sql, credits } = await start();
      await dropBundle(sql, credits, 'one', 5);
      assert.deepEqual(await items(sql), ['a new -', 'b failed -', 'c new -', 'd planned two', 'e new -']);
      assert.deepEqual([await column(sql, 'failures', 'a'), await column(sql, 'failures', 'c')], [1, 10]);
      assert.equal(await column(sql, 'failed_reason', 'b'), 'too_many_failures');
      assert.equal((await findBundle(sql, 'one'))?.state, 'dropped');
      assert.equal((await findBundle(sql, 'two'))?.state, 'prepared');
      assert.ok((await told(sql, 'upload.failed')) > 0);
      await assert.rejects(dropBundle(sql, credits, 'none', 5));
    });

    it('of a bundle with a lost item fails that one, and counts nothing against the others', async () => {
      const { sql, credits } = await start();
      await dropLostItem(sql, credits, 'one', 'a', 5);
      assert.deepEqual(await items(sql), ['a failed -', 'b new -', 'c new -', 'd planned two', 'e new -']);
      assert.equal(await column(sql, 'failures', 'c'), 9);
      assert.equal((await findBundle(sql, 'one'))?.state, 'dropped');
      await assert.rejects(failItem(sql, credits, 'nothing', 'x', 5));
    });

    it('leaves what is permanent as it is', async () => {
      const { sql, credits } = await start();
      await sql.run("UPDATE upload_items SET state = 'permanent' WHERE id = 'b' OR id = 'd'");
      await dropBundle(sql, credits, 'one', 5);
      await addItem(sql, { id: 'f', state: 'planned', bundle: 'two', position: 1 });
      await dropLostItem(sql, credits, 'two', 'f', 5);
      assert.deepEqual(await items(sql), [
        ...['a new -', 'b permanent one', 'c new -', 'd permanent two', 'e new -', 'f failed -'],
      ]);
    });

    it('of a local copy comes after its time, not while its bundle is damaged', async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'sound', 'permanent');
      await addBundle(sql, 'damaged', 'permanent');
      await sql.run("UPDATE upload_bundles SET damage = 'x' WHERE plan = 'damaged'");
      const item = { state: 'permanent', bundle: 'sound' };
      await addItem(sql, { ...item, id: 'a', permanentAt: 100 });
      await addItem(sql, { ...item, id: 'b', permanentAt: 101 });
      await addItem(sql, { ...item, id: 'c', permanentAt: 100, bundle: 'damaged' });
      await addItem(sql, { ...item, id: 'd', permanentAt: 100, held: 0 });
      await addItem(sql, { id: 'e' });
      for (const id of ['a', 'b']) await sql.run("INSERT INTO upload_heads VALUES (?, '')", id);
      assert.equal(await deleteLocalCopies(sql, 50, 149), 0);
      assert.equal(await deleteLocalCopies(sql, 50, 150), 1);
      assert.equal(await deleteLocalCopies(sql, 50, 150), 0);
      const held = await Promise.all(['a', 'b', 'c', 'e'].map((id) => column(sql, 'held', id)));
      assert.deepEqual(held, [0, 1, 1, 1]);
      assert.deepEqual(await sql.all('SELECT id FROM upload_heads'), [{ id: 'b' }]);
    });
  });

  describe('bytes that are missed', () => {
    const pause = { firstMs: 1_000, longestMs: 60_000 };
    const start = async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'one');
      await addBundle(sql, 'two');
      await addItem(sql, { id: 'a', state: 'planned', bundle: 'one', position: 0, size: 10, misses: 1 });
      await addItem(sql, { id: 'b', state: 'planned', bundle: 'one', position: 1, size: 20, misses: 7 });
      await addItem(sql, { id: 'c', state: 'planned', bundle: 'one', position: 2, size: 30, misses: 2 });
      await addItem(sql, { id: 'd', state: 'planned', bundle: 'two', position: 0, misses: 3 });
      return { sql, credits: createCredits({ sql }) };
    };
    const miss = (id: string, blob = 'first') => ({ id, blob });
    const misses = async (sql: Sql) =>
      Promise.all(['a', 'b', 'c', 'd'].map((id) => column(sql, 'misses', id)));

    const age = (sql: Sql) =>
      sql.run('UPDATE upload_items SET missed_since = missed_since - ?', giveUpAfter.ms);

    it('leave the bundle with what is left, in its order; the eighth time they are lost', async () => {
      const { sql, credits } = await start();
      assert.deepEqual(await leaveOut(sql, credits, 'one', [miss('a'), miss('b')], pause, 100), {
        lost: ['b'],
        items: 1,
      });
      assert.deepEqual(await items(sql), ['a new -', 'b failed -', 'c planned one', 'd planned two']);
      assert.deepEqual(await misses(sql), [2, 8, 2, 3]);
      assert.ok(Number(await column(sql, 'not_before', 'a')) > 100);
      assert.deepEqual(
        [await column(sql, 'position', 'c'), await column(sql, 'bundle_offset', 'c')],
        [0, 32 + 64],
      );
      assert.deepEqual(
        [await column(sql, 'position', 'a'), await column(sql, 'bundle_offset', 'd')],
        [null, null],
        'others stay where they are',
      );
      const { item_count, size } = (await findBundle(sql, 'one')) ?? {};
      assert.deepEqual([item_count, size], [1, 32 + 64 + 30]);
      assert.equal((await findBundle(sql, 'two'))?.size, 9);
      await assert.rejects(leaveOut(sql, credits, 'one', [miss('d')], pause, 100), /is not in bundle/);
      await addItem(sql, { id: 'e', state: 'permanent', bundle: 'two', position: 1 });
      await assert.rejects(leaveOut(sql, credits, 'two', [miss('e')], pause, 100), /is not in bundle/);
      assert.deepEqual(await leaveOut(sql, credits, 'one', [miss('c')], pause, 100), { lost: [], items: 0 });
      assert.equal((await findBundle(sql, 'one'))?.state, 'dropped');
      assert.equal((await findBundle(sql, 'two'))?.state, 'planned');
    });

    it('cost nothing of a bundle that is signed by now', async () => {
      const { sql, credits } = await start();
      await sql.run("UPDATE upload_bundles SET state = 'prepared' WHERE plan = 'one'");
      await assert.rejects(leaveOut(sql, credits, 'one', [miss('a')], pause, 100));
      assert.deepEqual((await items(sql)).slice(0, 1), ['a planned one']);
      assert.equal((await findBundle(sql, 'one'))?.size, 9);
    });

    it('are counted one by one, forgotten for what was read before them, and at the end', async () => {
      const { sql } = await start();
      assert.equal(await countMiss(sql, 'one', miss('c')), false);
      assert.deepEqual(await misses(sql), [0, 0, 3, 3]);
      await sql.run("UPDATE upload_items SET misses = 6 WHERE id = 'a'");
      assert.equal(await countMiss(sql, 'one', miss('a')), false);
      assert.equal(await countMiss(sql, 'one', miss('a')), true);
      assert.deepEqual(await misses(sql), [8, 0, 3, 3]);
      assert.equal(await countMiss(sql, 'two', miss('a')), false, 'it is not in that one');
      assert.equal(await countMiss(sql, 'two', miss('c')), false);
      assert.deepEqual(await misses(sql), [8, 0, 3, 3]);
      assert.equal(await forgetMisses(sql, 'one'), 2);
      assert.deepEqual(await misses(sql), [0, 0, 0, 3]);
    });

    it('of one blob do not count against another of the same item', async () => {
      const { sql, credits } = await start();
      for (const blob of ['first', 'second', 'first']) await countMiss(sql, 'one', miss('b', blob));
      assert.deepEqual(await misses(sql), [0, 1, 2, 3], 'one that was missed before did not say which');
      for (let missed = 2; missed < 8; missed += 1)
        assert.equal(await countMiss(sql, 'one', miss('b')), false);
      await age(sql);
      const missedAnother = await leaveOut(sql, credits, 'one', [miss('b', 'second')], pause, 100);
      assert.deepEqual(missedAnother, { lost: [], items: 2 });
      assert.equal(await column(sql, 'misses', 'b'), 1);
    });

    it('are not lost where many reads at once do not find them, but where it goes on for minutes', async () => {
      const { sql, credits } = await start();
      await sql.run('UPDATE upload_items SET misses = 0');
      for (let missed = 1; missed <= 20; missed += 1)
        assert.equal(await countMiss(sql, 'one', miss('b')), false);
      await age(sql);
      assert.equal(await countMiss(sql, 'one', miss('b')), true);
      assert.equal(await countMiss(sql, 'one', miss('b', 'second')), false, 'the time begins with the count');
      for (let missed = 2; missed <= 20; missed += 1)
        assert.equal(await countMiss(sql, 'one', miss('b', 'second')), false);
      assert.deepEqual((await leaveOut(sql, credits, 'one', [miss('b', 'second')], pause, 100)).lost, []);
      await age(sql);
      await sql.run("UPDATE upload_items SET state = 'planned', bundle = 'one' WHERE id = 'b'");
      assert.deepEqual((await leaveOut(sql, credits, 'one', [miss('b', 'second')], pause, 100)).lost, ['b']);
    });
  });

  it('a bundle has a transaction to show once the chain was given it', async () => {
    const sql = await open(testMigrations);
    for (const state of ['planned', 'prepared', 'posted', 'seeded', 'permanent', 'dropped'])
      await addBundle(sql, state, state, { txId: `tx ${state}` });
    await addBundle(sql, 'without', 'posted');
    const shown = async (plan: string | null) => (await postedBundle(sql, plan))?.txId;
    assert.deepEqual(
      await Promise.all(
        ['planned', 'prepared', 'posted', 'seeded', 'permanent', 'dropped', 'without', null].map(shown),
      ),
      [undefined, undefined, 'tx posted', 'tx seeded', 'tx permanent', undefined, undefined, undefined],
    );
    assert.equal(await nextToLookAt(sql), undefined);
    assert.equal(await findBundle(sql, 'none'), undefined);
    await addBundle(sql, 'later', 'permanent', { lookAt: 9 });
    await addBundle(sql, 'sooner', 'permanent', { lookAt: 5 });
    assert.equal((await nextToLookAt(sql))?.plan, 'sooner');
  });
});
