import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { flipByte } from '../../../test/support/damage.ts';
import { dataRootOf } from '../../formats/arweave/data-root.ts';
import { type BlobStore, BlobStoreUnavailable } from '../../storage/blobs/blobs.ts';
import { DiskBlobStore } from '../../storage/blobs/disk/store.ts';
import { readAll, rottingFiles, seededBytes } from '../../storage/blobs/testing.ts';
import { forEachEngine, type OpenForTest } from '../../storage/sql/testing.ts';
import { PayloadHashes } from '../hashing/payload-hash.ts';
import { testMigrations } from '../testing.ts';
import { BundleReader, LostItem } from './bundle-reader.ts';
import { findBundle } from './bundle-rows.ts';
import { planBundle } from './plan.ts';
import { storeItems } from './testing.ts';

const { signal } = new AbortController();
const hashes = new PayloadHashes(1);

/** A planned bundle of items with payloads of these sizes, and the store that they are in. */
async function planned(t: TestContext, open: OpenForTest, sizes: readonly number[]) {
  const sql = await open(testMigrations);
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bundle-reader-'));
  const blobs = await DiskBlobStore.open({ folder, files: rottingFiles() });
  t.after(async () => {
    await blobs.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const payloads = sizes.map((size, index) => seededBytes(size, index + 1));
  const items = await storeItems({ sql, blobs }, payloads);
  const plan = await planBundle(sql, { maxItems: 1_000, targetBytes: 1e9, maxWaitMs: 0 }, 1e6);
  assert.ok(plan !== undefined);
  const { size = 0 } = (await findBundle(sql, plan)) ?? {};
  return { sql, blobs, plan, items, size };
}

/** The items that are not as they were uploaded, and what is wrong with each. */
const failedOf = async (reader: BundleReader, plan: string, size: number) => {
  const proven = await reader.prove(plan, size, signal);
  return 'failed' in proven ? proven.failed.map(({ id, cause }) => [id, String(cause)] as const) : [];
};

describe('the bytes of a bundle', () => {
  forEachEngine((_engine, open) => {
    it('are those of its items in order, read again or kept', async (t) => {
      // In the database, in a blob that is loaded, and in blobs that are streamed, here and on a thread.
      const { sql, blobs, plan, items, size } = await planned(t, open, [0, 100, 20_000, 300_000, 2_200_000]);
      const reader = new BundleReader({ sql, blobs, hashes });
      const proven = await reader.prove(plan, size, signal);
      assert.ok('tree' in proven);
      const kept = await readAll(reader.bytes(plan));
      assert.equal(kept.length, size);
      assert.ok(kept.subarray(32 + 64 * 5).equals(Buffer.concat(items.map(({ bytes }) => bytes))));
      assert.ok(proven.tree.root.equals(dataRootOf(kept)));
      for (const { digest } of items) if (digest !== undefined) await blobs.delete(digest);
      assert.ok((await readAll(reader.bytes(plan))).equals(kept), 'of a small bundle nothing is read twice');
      reader.seeded(plan);
      await assert.rejects(readAll(reader.bytes(plan)), LostItem);
    });

    it('are those that were uploaded, or each item is named whose bytes are not', async (t) => {
      const { sql, blobs, plan, items, size } = await planned(
        t,
        open,
        [300_000, 30_000, 100, 30_000, 300_000, 2_200_000, 30_000],
      );
      const [large, small, inline, cut, gone, threaded, sound] = items;
      assert.ok(large && small && inline && cut && gone && threaded && sound);
      const reader = new BundleReader({ sql, blobs, hashes });
      assert.deepEqual(await failedOf(reader, plan, size), []);
      for (const { digest = '' } of [large, small, threaded]) flipByte(blobs.path(digest), 29_999);
      truncateSync(blobs.path(cut.digest ?? ''), 29_999);
      await blobs.delete(gone.digest ?? '');
      // No digest tells of what is in the database: the signature does.
      const head = Buffer.from(inline.bytes);
      head.writeUInt8(head.readUInt8(head.length - 1) ^ 1, head.length - 1);
      await sql.run('UPDATE upload_heads SET bytes = ? WHERE id = ?', head, inline.id);
      const failed = await failedOf(reader, plan, size);
      assert.deepEqual(
        failed.map(([id]) => id),
        [large, small, inline, cut, gone, threaded].map(({ id }) => id),
      );
      assert.match(failed[2]?.[1] ?? '', /not what was uploaded: signature/);
      for (const at of [0, 1, 5]) assert.match(failed[at]?.[1] ?? '', /blob [0-9a-f]{64} is damaged/);
      for (const { payload } of [large, small, cut, gone, threaded]) await blobs.put(payload);
      await sql.run('UPDATE upload_heads SET bytes = ? WHERE id = ?', inline.bytes, inline.id);
      assert.deepEqual(await failedOf(reader, plan, size), [], 'the same bytes again make good');
    });

    it('of more items than are fetched at once are those of all, each once', async (t) => {
      const { sql, blobs, plan, items, size } = await planned(t, open, Array(66).fill(1));
      const reader = new BundleReader({ sql, blobs, hashes });
      assert.ok('tree' in (await reader.prove(plan, size, signal)));
      const bytes = await readAll(reader.bytes(plan));
      assert.ok(bytes.subarray(32 + 64 * 66).equals(Buffer.concat(items.map((item) => item.bytes))));
    });

    it('are not read any further once the work is called off', async (t) => {
      const { sql, blobs, plan, size } = await planned(t, open, [100]);
      const reader = new BundleReader({ sql, blobs, hashes });
      const off = AbortSignal.abort(new Error('called off'));
      await assert.rejects(reader.prove(plan, size, off), /called off/);
      await assert.rejects(reader.tree(plan, off), /called off/);
    });

    it('are not those of before once it was read again and an item of it is not there', async (t) => {
      const { sql, blobs, plan, items, size } = await planned(t, open, [100, 100]);
      const reader = new BundleReader({ sql, blobs, hashes });
      assert.deepEqual(await failedOf(reader, plan, size), []);
      await sql.run('DELETE FROM upload_heads WHERE id = ?', items[1]?.id ?? '');
      assert.equal((await failedOf(reader, plan, size)).length, 1);
      await assert.rejects(readAll(reader.bytes(plan)), LostItem);
      await assert.rejects(reader.tree(plan, signal), LostItem);
    });

    it('of another item than its row says are none', async (t) => {
      const { sql, blobs, plan, items, size } = await planned(t, open, [100, 100]);
      const [one, other] = items;
      await sql.run('UPDATE upload_heads SET bytes = ? WHERE id = ?', other?.bytes ?? null, one?.id ?? '');
      const reader = new BundleReader({ sql, blobs, hashes });
      const failed = await failedOf(reader, plan, size);
      assert.deepEqual(
        failed.map(([id]) => id),
        [one?.id],
      );
    });

    it('that are streamed are compared with the signature too, whole blobs of others are none', async (t) => {
      const { sql, blobs, plan, items, size } = await planned(t, open, [300_000, 300_000]);
      const [one, other] = items;
      assert.ok(one && other);
      const reader = new BundleReader({ sql, blobs, hashes });
      await sql.run(
        `UPDATE upload_items SET segments = (SELECT o.segments FROM upload_items o WHERE o.id = ?) WHERE id = ?`,
        other.id,
        one.id,
      );
      const [failed, ...more] = await failedOf(reader, plan, size);
      assert.deepEqual([failed?.[0], more], [one.id, []]);
      assert.match(failed?.[1] ?? '', /not what was uploaded: signature/);
      // All of another item is signed, and not what the row says.
      await sql.run(
        `UPDATE upload_heads SET bytes = (SELECT o.bytes FROM upload_heads o WHERE o.id = ?) WHERE id = ?`,
        other.id,
        one.id,
      );
      assert.deepEqual(
        (await failedOf(reader, plan, size)).map(([id]) => id),
        [one.id],
      );
    });

    it('are not lost where nothing came from the store, though what is in the database did', async (t) => {
      const { sql, blobs, plan, size } = await planned(t, open, [100, 20_000]);
      const away: BlobStore = Object.create(blobs, {
        load: { value: () => Promise.reject(new BlobStoreUnavailable('no answer')) },
      });
      const reader = new BundleReader({ sql, blobs: away, hashes });
      await assert.rejects(reader.prove(plan, size, signal), /1 items cannot be read from the blob store/);
    });

    it('of eight items may be lost alone, of nine it is the store', async (t) => {
      const { sql, blobs, plan, items, size } = await planned(t, open, Array(10).fill(20_000));
      const failing = new Set(items.slice(0, 8).map(({ digest }) => digest));
      const flaky: BlobStore = Object.create(blobs, {
        load: {
          value: async (digest: string, target: Buffer) => {
            if (failing.has(digest)) throw new BlobStoreUnavailable('no answer');
            await blobs.load(digest, target);
          },
        },
      });
      const reader = new BundleReader({ sql, blobs: flaky, hashes });
      assert.equal((await failedOf(reader, plan, size)).length, 8);
      failing.add(items[8]?.digest);
      await assert.rejects(reader.prove(plan, size, signal), /9 items cannot be read/);
      failing.clear();
      // Eight of eight that are not there are lost, where the store answers.
      for (const { digest = '' } of items.slice(0, 8)) await blobs.delete(digest);
      for (const { id } of items.slice(8))
        await sql.run('UPDATE upload_items SET bundle = NULL, position = NULL WHERE id = ?', id);
      assert.equal((await failedOf(reader, plan, size)).length, 8);
    });

    it('are not lost because the store is away', async (t) => {
      const { sql, blobs, plan, items, size } = await planned(t, open, Array(10).fill(20_000));
      const failing = new Set<string>();
      const flaky: BlobStore = Object.create(blobs, {
        load: {
          value: async (digest: string, target: Buffer) => {
            if (failing.has(digest)) throw new BlobStoreUnavailable('no answer');
            await blobs.load(digest, target);
          },
        },
      });
      const reader = new BundleReader({ sql, blobs: flaky, hashes });
      failing.add(items[3]?.digest ?? '');
      const failed = await failedOf(reader, plan, size);
      assert.deepEqual(
        failed.map(([id]) => id),
        [items[3]?.id],
        'one that cannot be read where the others can is its own matter',
      );
      for (const { digest = '' } of items) failing.add(digest);
      await assert.rejects(reader.prove(plan, size, signal), /cannot be read from the blob store/);
      failing.clear();
      for (const { digest = '' } of items) await blobs.delete(digest);
      await assert.rejects(
        reader.prove(plan, size, signal),
        /10 items cannot be read/,
        'a store that has none of many has lost its disk',
      );
    });
  });
});
