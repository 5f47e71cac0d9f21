import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { winc } from '../credits/credits.ts';
import { toldWallets } from '../events/testing-wallets.ts';
import { Lease, LostLease } from '../storage/sql/lease.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { itemOwner } from '../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../wallets/testing/keys.ts';
import { deleteLocalCopies, dropBundle, makePermanent, markPosted } from './bundler/endings.ts';
import { planBundle } from './bundler/plan.ts';
import { deleteUnused, noteBlobs, useNoted } from './items/blob-uses.ts';
import { findItem, type StoredItem } from './items/item-rows.ts';
import { startTestUpload, testMigrations } from './testing.ts';

async function bundledItems(sql: Sql, bundle: string): Promise<StoredItem[]> {
  const rows = await sql.all<{ id: string }>(
    'SELECT id FROM upload_items WHERE bundle = ? ORDER BY position',
    bundle,
  );
  const items = await Promise.all(rows.map(({ id }) => findItem(sql, id)));
  return items.flatMap((item) => item ?? []);
}

const signer = solanaSigner(ed25519TestKey('engines'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(91);
const limits = { maxItems: 10, targetBytes: 20_000, maxWaitMs: 1_000 };

describe('the tables of the upload surface', () => {
  forEachEngine((_engine, open) => {
    /** The bundler never gets a turn of its own here, not even a first one: the test holds its lease. */
    const start = async () => {
      const sql = await open(testMigrations);
      const lease = new Lease(sql, { table: 'upload_leases', name: 'bundler', leaseMs: 3_600_000 });
      assert.equal(await lease.hold(), true);
      const upload = await startTestUpload(
        { BUNDLE_POLL_MS: '3600000', BUNDLE_MAX_WAIT_MS: '99999999' },
        {},
        { sql },
      );
      await upload.give(address, 'solana', 10n ** 12n);
      const post = async (bytes: number): Promise<string> => {
        upload.clock += 1;
        const { status, body } = await upload.post(
          '/v1/tx',
          await signItem({ data: random.bytes(bytes) }, signer),
        );
        assert.equal(status, 200);
        return String(body.id);
      };
      return { sql, upload, post };
    };

    it('take items in once, whoever comes first', async () => {
      const { upload } = await start();
      const item = await signItem({ data: random.bytes(30_000) }, signer);
      const answers = await Promise.all(Array.from({ length: 6 }, () => upload.post('/v1/tx', item)));
      assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 202, 202, 202, 202, 202]);
      assert.equal(await upload.balance(address), 10n ** 12n - 3n * BigInt(item.length));
      assert.equal((await upload.credits.selfCheck()).ok, true);
      await upload.close();
    });

    it('plan bundles by age, number and size, the oldest items first', async () => {
      const { sql, upload, post } = await start();
      const first = [await post(100), await post(200), await post(300)];
      assert.equal(await planBundle(sql, limits, upload.clock), undefined, 'nobody has waited long enough');
      await sql.run('UPDATE upload_items SET not_before = ?', upload.clock + 61_000);
      assert.equal(
        await planBundle(sql, limits, upload.clock + 60_000),
        undefined,
        'all of them are put off',
      );
      const ahead = upload.clock + 86_400_000;
      await sql.run('UPDATE upload_items SET received_at = received_at + ?, not_before = ?', ahead, ahead);
      const forgiven = (await planBundle(sql, limits, upload.clock)) ?? '';
      assert.equal(
        (await bundledItems(sql, forgiven)).length,
        3,
        'they came while the clock was a day ahead',
      );
      await sql.run(
        "UPDATE upload_items SET received_at = received_at - ?, not_before = NULL, state = 'new', bundle = NULL",
        ahead,
      );
      const plan = await planBundle(sql, limits, upload.clock + 1_000);
      assert.ok(plan !== undefined);
      const planned = await bundledItems(sql, plan);
      assert.deepEqual(
        planned.map((item) => item.id),
        first,
      );
      assert.equal(planned[0]?.bundleOffset, 32 + 64 * 3);
      assert.equal(planned[1]?.bundleOffset, 32 + 64 * 3 + (planned[0]?.size ?? 0));

      for (let i = 0; i < 13; i++) await post(50);
      const full = await planBundle(sql, limits, upload.clock);
      assert.equal((await bundledItems(sql, full ?? '')).length, 10, 'full ones do not wait');
      assert.equal(await planBundle(sql, limits, upload.clock), undefined);

      const large = await post(30_000);
      const sized = await planBundle(sql, limits, upload.clock);
      assert.equal((await bundledItems(sql, sized ?? '')).length, 3, 'what fits before the large one');
      const alone = await planBundle(sql, limits, upload.clock);
      assert.deepEqual(
        (await bundledItems(sql, alone ?? '')).map((item) => item.id),
        [large],
      );
      await upload.close();
    });

    it('give items back when a bundle is dropped, and pay back those that fail for good', async () => {
      const { sql, upload, post } = await start();
      const id = await post(100);
      const paid = await upload.balance(address);
      for (let round = 0; round <= 10; round++) {
        const plan = await planBundle(sql, { ...limits, maxWaitMs: 0 }, upload.clock);
        assert.ok(plan !== undefined);
        await dropBundle(sql, upload.credits, plan, upload.clock);
      }
      const item = await findItem(sql, id);
      assert.equal(item?.state, 'failed');
      assert.equal(item?.failedReason, 'too_many_failures');
      assert.equal(await upload.balance(address), paid + (item?.winc ?? 0n));
      assert.equal((await upload.get(`/v1/tx/${id}/status`)).body.status, 'FAILED');
      await upload.close();
    });

    it('take an item that failed for good once more, and charge it again', async () => {
      const { sql, upload } = await start();
      for (const bytes of [100, 50_000]) {
        const item = await signItem({ data: random.bytes(bytes) }, signer);
        const first = await upload.post('/v1/tx', item);
        const id = String(first.body.id);
        const paid = await upload.balance(address);
        for (let round = 0; round <= 10; round++) {
          const plan = await planBundle(sql, { ...limits, maxWaitMs: 0 }, upload.clock);
          await dropBundle(sql, upload.credits, plan ?? '', upload.clock);
        }
        assert.equal((await findItem(sql, id))?.state, 'failed');
        upload.clock += 1_000;
        const again = await upload.post('/v1/tx', item);
        assert.equal(again.status, 200, again.bytes.toString());
        assert.equal(again.body.timestamp, upload.clock);
        assert.equal((await findItem(sql, id))?.state, 'new');
        assert.equal(await upload.balance(address), paid);
        assert.equal((await upload.post('/v1/tx', item)).status, 202);
        assert.ok((await upload.get(`/v1/data-item/${id}`)).bytes.equals(item));
        await planBundle(sql, { ...limits, maxWaitMs: 0 }, upload.clock);
      }
      assert.deepEqual((await upload.credits.selfCheck()).problems, []);
      await upload.close();
    });

    it('plan an item once, whoever else plans at the same time', async () => {
      const { sql, upload, post } = await start();
      for (let i = 0; i < 5; i++) await post(50);
      const now = { ...limits, maxWaitMs: 0 };
      const plans = await Promise.all(Array.from({ length: 6 }, () => planBundle(sql, now, upload.clock)));
      assert.equal(plans.filter((plan) => plan !== undefined).length, 1);
      await upload.close();
    });

    it('give the free allowance once, however many items come first at once', async () => {
      const sql = await open(testMigrations);
      const free = { FREE_UPLOAD_LIMIT: '2000', FREE_BYTES_PER_IP: '6000' };
      const upload = await startTestUpload(free, {}, { sql });
      const items = await Promise.all(
        Array.from({ length: 16 }, () => signItem({ data: random.bytes(1_500) }, signer)),
      );
      const answers = await Promise.all(items.map((item) => upload.post('/v1/tx', item)));
      const taken = answers.filter(({ status }) => status === 200).length;
      assert.equal(taken, Math.floor(6_000 / (items[0]?.length ?? 1)));
      await upload.close();
    });

    it('let go of what is permanent, and of blobs that nobody uses', async () => {
      const { sql, upload, post } = await start();
      const id = await post(50_000);
      const plan = await planBundle(sql, { ...limits, maxWaitMs: 0 }, upload.clock);
      await makePermanent(sql, plan ?? '', { blockHeight: 7, confirmations: 18 }, upload.clock);
      assert.equal(await deleteLocalCopies(sql, 1_000, upload.clock), 0, 'not old enough');
      const hourLater = upload.clock + 3_600_000;
      assert.equal(await deleteUnused(sql, upload.blobs, hourLater, 10), 0);
      assert.equal(await deleteLocalCopies(sql, 1_000, upload.clock + 1_000), 1);
      assert.equal((await findItem(sql, id))?.held, false);
      assert.equal(await deleteUnused(sql, upload.blobs, upload.clock + 300_000, 10), 0, 'not at once');
      assert.equal(await deleteUnused(sql, upload.blobs, hourLater, 10), 1);
      assert.equal((await upload.counts()).upload_blobs, 0);
      await upload.close();
    });

    it('tell wallets what becomes of their items, each step once', async () => {
      const { sql, upload } = await start();
      const friend = solanaSigner(ed25519TestKey('friend of engines'));
      const borrower = itemOwner(4, friend.owner).wallet.address;
      const loan = { id: 'loan', payer: address, approved: borrower, amount: winc(1_000_000n) };
      await upload.credits.approve(loan);
      const items = await Promise.all([
        signItem({ data: random.bytes(50) }, signer),
        signItem({ data: random.bytes(60) }, signer),
        signItem({ data: random.bytes(70) }, friend),
      ]);
      const ids: string[] = [];
      for (const [index, item] of items.entries()) {
        upload.clock += 1;
        const headers = index === 2 ? { 'x-paid-by': address } : {};
        for (const status of [200, 202]) {
          const answer = await upload.post('/v1/tx', item, headers);
          assert.equal(answer.status, status);
          if (status === 200) ids.push(String(answer.body.id));
        }
      }
      const now = { ...limits, maxWaitMs: 0 };
      const plan = (await planBundle(sql, now, upload.clock)) ?? '';
      const prepare = (txId: string) =>
        sql.run("UPDATE upload_bundles SET state = 'prepared', tx_id = ? WHERE plan = ?", txId, plan);
      for (const txId of ['first', 'first', 'second']) {
        await prepare(txId);
        await markPosted(sql, { plan, state: 'prepared', tx_id: txId }, upload.clock);
      }
      await makePermanent(sql, plan, { blockHeight: 7, confirmations: 18 }, upload.clock);
      const told = async (wallet: string) =>
        (await toldWallets(sql, wallet))
          .filter(({ type }) => type.startsWith('upload.'))
          .map(({ type, data }) => [type, ids.indexOf(String(data.id)), data.bundle ?? data.winc]);
      const price = (index: number) => String(3 * (items[index]?.length ?? 0));
      assert.deepEqual(await told(address), [
        ['upload.receipt', 0, price(0)],
        ['upload.receipt', 1, price(1)],
        ['upload.receipt', 2, price(2)],
        ['upload.bundled', 0, 'first'],
        ['upload.bundled', 1, 'first'],
        ['upload.bundled', 0, 'second'],
        ['upload.bundled', 1, 'second'],
        ['upload.permanent', 0, 'second'],
        ['upload.permanent', 1, 'second'],
      ]);
      assert.deepEqual(
        (await told(borrower)).map(([type]) => type),
        ['upload.receipt', 'upload.bundled', 'upload.bundled', 'upload.permanent'],
      );
      await upload.close();
    });

    it('tell all who paid when an item is given up', async () => {
      const { sql, upload } = await start();
      const friend = solanaSigner(ed25519TestKey('friend of engines'));
      const borrower = itemOwner(4, friend.owner).wallet.address;
      const loan = { id: 'loan', payer: address, approved: borrower, amount: winc(1_000_000n) };
      await upload.credits.approve(loan);
      const item = await signItem({ data: random.bytes(50) }, friend);
      const { body } = await upload.post('/v1/tx', item, { 'x-paid-by': address });
      const plan = (await planBundle(sql, { ...limits, maxWaitMs: 0 }, upload.clock)) ?? '';
      await sql.run('UPDATE upload_items SET failures = 10');
      await dropBundle(sql, upload.credits, plan, upload.clock);
      const data = { id: body.id, reason: 'too_many_failures', refundedWinc: body.winc };
      const failed = (await toldWallets(sql)).filter(({ type }) => type === 'upload.failed');
      assert.deepEqual(failed, [
        { wallet: borrower, type: 'upload.failed', data },
        { wallet: address, type: 'upload.failed', data: { ...data, signer: borrower } },
      ]);
      await upload.close();
    });

    it('never delete a blob that is about to be used', async () => {
      const { sql, upload } = await start();
      const segment = { ...(await upload.blobs.put(random.bytes(10_000))), start: 0 };
      const minute = 60_000;
      await noteBlobs(sql, [segment], minute);
      await noteBlobs(sql, [segment], 2 * minute);
      assert.equal(await deleteUnused(sql, upload.blobs, 11 * minute, 10), 0, 'it was noted again');
      await sql.transaction((tx) => useNoted(tx, [segment], 2 * minute));
      assert.equal(await deleteUnused(sql, upload.blobs, 99 * minute, 10), 0);
      assert.equal(await upload.blobs.size(segment.digest), 10_000);
      await sql.run('UPDATE upload_blobs SET uses = 0, deleting = 1');
      await assert.rejects(noteBlobs(sql, [segment], 3 * minute), /being deleted/);
      await assert.rejects(
        sql.transaction((tx) => useNoted(tx, [segment], 3 * minute)),
        /being deleted/,
      );
      await upload.close();
    });

    it('lease work to one process at a time', async () => {
      const { sql, upload, post } = await start();
      const lease = () => new Lease(sql, { table: 'upload_leases', name: 'work', leaseMs: 60_000 });
      const [one, other] = [lease(), lease()];
      assert.equal(await one.renew(), true);
      assert.equal(await other.renew(), false);
      assert.equal(await one.renew(), true);
      // As if its time were over by the database's clock, while it believes that it goes on.
      await sql.run('UPDATE upload_leases SET until = 0');
      assert.equal(await other.renew(), true);
      assert.equal(await one.renew(), false);
      await post(100);
      const due = { ...limits, maxWaitMs: 0 };
      await assert.rejects(planBundle(one.fenced, due, upload.clock), LostLease);
      assert.deepEqual(await sql.all('SELECT plan FROM upload_bundles'), []);
      assert.ok((await planBundle(other.fenced, due, upload.clock)) !== undefined);
      await other.release();
      assert.equal(await one.renew(), true);
      await upload.close();
    });
  });
});
