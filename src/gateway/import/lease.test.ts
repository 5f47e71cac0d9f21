import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { migrations } from '../index/schema.ts';
import { Lease, LostLease } from './lease.ts';

describe('a lease', () => {
  forEachEngine((_engine, open) => {
    it('has one holder, and another when that one is gone', async () => {
      const sql = await open(migrations);
      const [one, two] = [new Lease(sql, 'work'), new Lease(sql, 'work')];
      assert.deepEqual([await one.hold(), await two.hold(), await one.hold()], [true, false, true]);
      assert.equal(await new Lease(sql, 'other work').hold(), true);
      await one.release();
      assert.deepEqual([await two.hold(), await one.hold()], [true, false]);
    });

    it('does not let one write that slept through its time', async () => {
      const sql = await open(migrations);
      const [one, two] = [new Lease(sql, 'work'), new Lease(sql, 'work')];
      assert.equal(await one.hold(), true);
      const write = (lease: Lease, value: number) =>
        sql.transaction(async (tx) => {
          await lease.fence(tx);
          await tx.run('INSERT INTO chain_state (name, value) VALUES (?, ?)', `row ${value}`, value);
        });
      await write(one, 1);
      // As if its time were over by the database's clock.
      await sql.run('UPDATE leases SET until = 0');
      assert.equal(await two.hold(), true);
      await assert.rejects(write(one, 2), LostLease);
      await write(two, 3);
      assert.deepEqual(await sql.all('SELECT value FROM chain_state ORDER BY value'), [
        { value: 1 },
        { value: 3 },
      ]);
      assert.equal(await one.hold(), false, 'it does not believe to have it any more');
    });
  });
});
