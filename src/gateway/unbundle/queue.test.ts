import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { gatewayMigrations } from '../migrations.ts';
import { BundleQueue } from './queue.ts';

const aheadSeconds = 12 * 3_600;

describe('the queue of bundles', () => {
  forEachEngine((_engine, open) => {
    it('does not wait for as long as a clock was ahead, once that is set back', async () => {
      const sql = await open(gatewayMigrations);
      const clock = { now: 1_000_000 };
      const queue = new BundleQueue(sql, { now: () => clock.now });
      await queue.useFilters({ always: true }, { always: true });
      const id = Buffer.alloc(32, 1);
      const bundle = {
        id,
        root: id,
        depth: 0,
        height: 5,
        rank: 2,
        matches: true,
        bypass: false,
        again: false,
      };
      clock.now += aheadSeconds;
      await sql.transaction((tx) => queue.add(tx, bundle));
      clock.now -= aheadSeconds;
      const queued = await queue.claim('a');
      assert.deepEqual(queued?.id, id, 'it was queued by that clock');
      assert.equal(await queue.claim('b'), undefined, 'it is held by the clock that is right');
      clock.now += aheadSeconds;
      await queue.fail(queued, 'a', 'no chunks', true);
      clock.now -= aheadSeconds;
      assert.equal(await queue.isBusy(), true);
      const failed = await queue.claim('b');
      assert.deepEqual(failed?.id, id, 'it failed by that clock');
      await queue.fail(failed, 'b', 'no chunks', true);
      assert.equal(await queue.isBusy(), false, 'a pause of today is kept');
      assert.equal(await queue.claim('c'), undefined);
    });
  });
});
