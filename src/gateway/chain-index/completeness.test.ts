import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { gatewayMigrations } from '../migrations.ts';
import { BundleQueue } from '../unbundle/queue.ts';
import { deleteBlocksAbove, insertBlock } from './blocks.ts';
import { CompletenessReader, completenessLimit } from './completeness.ts';
import { EventBatch } from './event-batch.ts';
import { SqlGatewayIndex } from './sql-index.ts';
import { digest, entry, header } from './testing.ts';

describe('completeness', () => {
  forEachEngine((_engine, open) => {
    async function fresh(heights: readonly number[] = []) {
      const sql = await open(gatewayMigrations);
      const index = new SqlGatewayIndex(sql);
      const queue = new BundleQueue(sql, { now: () => 1_000 });
      await queue.useFilters({ always: true }, { always: true });
      const reader = new CompletenessReader(sql, { indexesAllItems: true });
      const importBlocks = async (...added: number[]) => {
        await sql.transaction(async (tx) => {
          for (const height of added) {
            await insertBlock(tx, {
              height,
              id: digest(`block ${height}`),
              previous: digest(`block ${height - 1}`),
              timestamp: height,
              txCount: 1,
              blockSize: '0',
              weaveSize: '0',
              json: Buffer.from('{}'),
            });
          }
        });
        await index.refresh();
      };
      const add = (name: string, height: number | null, matches = true) =>
        sql.transaction((tx) =>
          queue.add(tx, {
            id: digest(name),
            root: digest(name),
            depth: 0,
            height,
            rank: 2,
            matches,
            bypass: false,
            again: false,
          }),
        );
      const ranges = async (asked = {}) => (await reader.of(asked)).ranges.map(({ min, max }) => [min, max]);
      await importBlocks(...heights);
      return { sql, index, queue, reader, importBlocks, add, ranges };
    }
    const id = (name: string) => digest(name).toString('base64url');

    it('says of an empty index that not even the first block is there', async () => {
      const { reader } = await fresh();
      const { complete, ranges, missingBlocks, min, max } = await reader.of({});
      assert.deepEqual({ complete, ranges, min, max }, { complete: false, ranges: [], min: 0, max: 0 });
      assert.deepEqual(missingBlocks, [{ min: 0, max: 0 }]);
    });

    it('keeps stretches of blocks, whatever order they come in, and cuts them where blocks are taken back', async () => {
      const { sql, importBlocks, ranges } = await fresh([10, 11, 12]);
      assert.deepEqual(await ranges(), [[10, 12]]);
      await importBlocks(9, 8);
      assert.deepEqual(await ranges(), [[8, 12]]);
      await importBlocks(3, 5);
      assert.deepEqual(await ranges(), [
        [3, 3],
        [5, 5],
        [8, 12],
      ]);
      await importBlocks(4, 7, 6);
      assert.deepEqual(await ranges(), [[3, 12]]);
      assert.deepEqual(await sql.all('SELECT first, last FROM block_ranges'), [{ first: 3, last: 12 }]);
      await sql.transaction((tx) => deleteBlocksAbove(tx, 10, new EventBatch(() => {})));
      assert.deepEqual(await ranges({ max: 12 }), [[3, 10]]);
      await sql.transaction((tx) => deleteBlocksAbove(tx, 2, new EventBatch(() => {})));
      assert.deepEqual(await sql.all('SELECT first, last FROM block_ranges'), []);
    });

    it('names blocks, transactions and bundles that are lacking, and what was left out', async () => {
      const { sql, reader, queue, add, ranges } = await fresh([0, 1, 2, 3, 4, 5, 6, 7, 8]);
      assert.equal((await reader.of({})).everything, true);
      await sql.run(
        'INSERT INTO missing_transactions (id, height, block_index, attempts, next_try_at) VALUES (?, 2, 0, 0, 0)',
        digest('missing'),
      );
      await add('late', 4);
      await add('skipped', 6, false);
      await add('pending', null);
      const told = await reader.of({ max: 9 });
      assert.equal(told.complete, false);
      assert.deepEqual(told.missingBlocks, [{ min: 9, max: 9 }]);
      assert.deepEqual(told.missingTransactions, [{ id: id('missing'), height: 2 }]);
      assert.deepEqual(told.unreadBundles, [{ id: id('late'), height: 4, state: 'QUEUED', error: null }]);
      assert.deepEqual(told.leftOutBundles, [
        { id: id('skipped'), height: 6, state: 'SKIPPED', error: null },
      ]);
      assert.deepEqual(await ranges({ max: 9 }), [
        [0, 1],
        [3, 3],
        [5, 8],
      ]);

      const above = await reader.of({ min: 5 });
      assert.deepEqual([above.complete, above.everything], [true, false]);

      // The late one is read, the missing one comes.
      const claimed = await queue.claim('reader');
      assert.ok(claimed);
      await queue.finish(claimed.id, 'reader', {
        itemCount: 1,
        matchedCount: 1,
        duplicatedCount: 0,
        invalidCount: 0,
        remark: undefined,
      });
      await sql.run('DELETE FROM missing_transactions');
      assert.equal((await reader.of({})).complete, true);
    });

    it('counts a bundle that could not be read as lacking, and bytes that are no bundle not', async () => {
      const { reader, queue, add } = await fresh([0, 1]);
      const fail = async (retries: number, error: string, mayRetry: boolean) => {
        const claimed = await queue.claim('reader');
        assert.ok(claimed);
        await queue.fail({ ...claimed, retry_attempt_count: retries }, 'reader', error, mayRetry);
      };
      await add('late', 0);
      await fail(0, 'no source has the bytes', true);
      assert.deepEqual((await reader.of({})).unreadBundles, [
        { id: id('late'), height: 0, state: 'QUEUED', error: 'no source has the bytes' },
      ]);
      await add('gone', 1);
      await fail(24, 'the chain does not have it', true);
      assert.deepEqual((await reader.of({ min: 1 })).unreadBundles, [
        { id: id('gone'), height: 1, state: 'FAILED', error: 'the chain does not have it' },
      ]);
      const other = await fresh([0]);
      await other.add('no bundle', 0);
      const claimed = await other.queue.claim('reader');
      assert.ok(claimed);
      assert.equal((await other.reader.of({})).complete, false);
      await other.queue.fail(claimed, 'reader', 'it is none', false);
      assert.equal((await other.reader.of({})).complete, true);
    });

    it('follows a bundle that a fork brings to another height', async () => {
      const { sql, reader, add, importBlocks } = await fresh([0, 1, 2]);
      await add('moved', 2);
      await sql.transaction((tx) => deleteBlocksAbove(tx, 1, new EventBatch(() => {})));
      assert.deepEqual((await reader.of({ max: 2 })).unreadBundles, []);
      await importBlocks(2, 3);
      assert.equal((await reader.of({})).complete, true);
      await add('moved', 3);
      assert.deepEqual(
        (await reader.of({})).unreadBundles.map(({ height }) => height),
        [3],
      );
    });

    it('knows what an index of an earlier version lacks', async () => {
      const before = gatewayMigrations.filter(({ id }) => id !== 'gateway-004-completeness');
      const old = await open(before, 'earlier');
      for (const height of [3, 4, 5, 8, 9]) {
        await old.run(
          `INSERT INTO blocks (height, id, previous, timestamp, tx_count, block_size, weave_size)
           VALUES (?, ?, ?, 0, 0, '0', '0')`,
          height,
          digest(`block ${height}`),
          digest(`block ${height - 1}`),
        );
      }
      const index = new SqlGatewayIndex(old);
      const roots = [4, 5, 8, 9].map((height) => entry(header(`at ${height}`), { height, blockIndex: 0 }));
      const prepared = await index.writer.prepare(roots);
      await old.transaction((tx) => index.writer.put(tx, prepared));
      for (const [name, state, retries] of [
        ['at 4', 'queued', 0],
        ['at 5', 'failed', 1],
        ['at 8', 'failed', 25],
        ['at 9', 'skipped', 0],
      ] as const) {
        await old.run(
          `INSERT INTO bundles (id, root, depth, format, state, priority, bypass, next_try_at, import_attempt_count,
             retry_attempt_count) VALUES (?, ?, 0, 1, ?, 0, 0, 0, 1, ?)`,
          digest(name),
          digest(name),
          state,
          retries,
        );
      }
      await old.close();
      const sql = await open(gatewayMigrations, 'earlier');
      const told = await new CompletenessReader(sql, { indexesAllItems: true }).of({ min: 3 });
      assert.deepEqual(told.missingBlocks, [{ min: 6, max: 7 }]);
      assert.deepEqual(
        told.unreadBundles.map((bundle) => [bundle.id, bundle.height, bundle.state]),
        [
          [id('at 4'), 4, 'QUEUED'],
          [id('at 8'), 8, 'FAILED'],
        ],
      );
      assert.deepEqual(
        told.leftOutBundles.map(({ height }) => height),
        [9],
      );
    });

    it('tells long lists a part at a time', async () => {
      const heights = Array.from({ length: 2 * completenessLimit + 50 }, (_, index) => index);
      const { reader, add } = await fresh(heights);
      for (const height of heights) if (height % 2 === 1) await add(`bundle ${height}`, height);
      const seen: number[] = [];
      let asks = 0;
      for (let from: number | null = 0; from !== null; asks += 1) {
        const told = await reader.of({ min: from });
        for (const { min, max } of told.ranges) {
          assert.equal(min, max);
          seen.push(min);
        }
        assert.ok(told.ranges.length <= completenessLimit && told.unreadBundles.length <= completenessLimit);
        from = told.next;
      }
      assert.deepEqual(
        seen,
        heights.filter((height) => height % 2 === 0),
      );
      assert.ok(asks >= 2);
    });
  });
});
