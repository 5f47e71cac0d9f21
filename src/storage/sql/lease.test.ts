import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Lease, LostLease } from './lease.ts';
import type { Migration, Sql } from './sql.ts';
import { forEachEngine } from './testing.ts';

const migrations: Migration[] = [
  {
    id: 'lease-001',
    up: `
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until BIGINT NOT NULL
);
CREATE TABLE work (value BIGINT NOT NULL);`,
  },
];
const leaseOf = (sql: Sql, name = 'work') => new Lease(sql, { table: 'leases', name, leaseMs: 60_000 });

describe('a lease', () => {
  forEachEngine((_engine, open) => {
    it('has one holder, and another when that one is gone', async () => {
      const sql = await open(migrations);
      const [one, two] = [leaseOf(sql), leaseOf(sql)];
      assert.deepEqual([await one.hold(), await two.hold(), await one.hold()], [true, false, true]);
      assert.equal(await leaseOf(sql, 'other work').hold(), true);
      await one.release();
      assert.deepEqual([await two.hold(), await one.hold()], [true, false]);
    });

    it('does not let one write that slept through its time', async () => {
      const sql = await open(migrations);
      const [one, two] = [leaseOf(sql), leaseOf(sql)];
      assert.equal(await one.hold(), true);
      const write = (lease: Lease, value: number) =>
        lease.fenced.transaction((tx) => tx.run('INSERT INTO work (value) VALUES (?)', value));
      await write(one, 1);
      // As if its time were over by the database's clock.
      await sql.run('UPDATE leases SET until = 0');
      assert.equal(await two.hold(), true);
      await assert.rejects(write(one, 2), LostLease);
      await write(two, 3);
      assert.deepEqual(await sql.all('SELECT value FROM work ORDER BY value'), [{ value: 1 }, { value: 3 }]);
      assert.equal(await one.hold(), false, 'it does not believe to have it any more');
    });
  });
});
