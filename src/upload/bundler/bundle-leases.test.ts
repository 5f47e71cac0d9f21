import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LostLease } from '../../storage/sql/lease.ts';
import { DatabaseUnavailable, type Sql, type SqlExecutor } from '../../storage/sql/sql.ts';
import { forEachEngine, losing } from '../../storage/sql/testing.ts';
import { testMigrations } from '../testing.ts';
import { type BundleLease, BundleLeases } from './bundle-leases.ts';

const addBundle = (sql: SqlExecutor, plan: string, dueAt: number) =>
  sql.run(
    `INSERT INTO upload_bundles (plan, state, item_count, size, seedings, attempts, due_at, created_at, changed_at)
     VALUES (?, 'planned', 1, 1, 0, 0, ?, 0, 0)`,
    plan,
    dueAt,
  );
const plansOf = (leases: readonly BundleLease[]) => leases.map(({ bundle }) => bundle.plan);
const touch = (lease: BundleLease) =>
  lease.fenced.transaction((tx) => tx.run('UPDATE upload_bundles SET attempts = attempts + 1'));
const attemptsOf = async (sql: Sql) =>
  (await sql.get<{ n: number }>('SELECT CAST(SUM(attempts) AS BIGINT) AS n FROM upload_bundles'))?.n;

describe('leases of bundles', () => {
  forEachEngine((_engine, open) => {
    it('give each due bundle to one of those who ask, the longest overdue first', async () => {
      const sql = await open(testMigrations);
      for (const [plan, dueAt] of [
        ['a', 3],
        ['b', 1],
        ['c', 2],
        ['later', 99],
      ] as const)
        await addBundle(sql, plan, dueAt);
      const [one, other] = [new BundleLeases(sql, 9_000, 3_600_000), new BundleLeases(sql, 9_000, 3_600_000)];
      assert.deepEqual(plansOf(await one.take(2, 10)), ['b', 'c']);
      assert.deepEqual(plansOf(await other.take(2, 10)), ['a']);
      assert.deepEqual(plansOf(await one.take(2, 10)), []);
      assert.deepEqual(plansOf(await other.take(0, 100)), []);
      assert.deepEqual(plansOf(await other.take(2, 100)), ['later']);
    });

    it('find what is due behind any number of bundles that ended', async () => {
      const sql = await open(testMigrations);
      await sql.transaction(async (tx) => {
        for (let n = 0; n < 101; n += 1) {
          await addBundle(tx, `permanent ${n}`, 1);
          await addBundle(tx, `dropped ${n}`, 1);
        }
        for (const state of ['permanent', 'dropped'])
          await tx.run(`UPDATE upload_bundles SET state = '${state}' WHERE plan LIKE '${state}%'`);
      });
      await addBundle(sql, 'a', 2);
      const leases = new BundleLeases(sql, 9_000, 3_600_000);
      assert.deepEqual(plansOf(await leases.take(2, 10)), ['a']);
    });

    it('give out what was put off by a clock that was ahead', async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'soon', 60_010);
      await addBundle(sql, 'in another time', 60_011);
      const leases = new BundleLeases(sql, 9_000, 30_000);
      assert.deepEqual(plansOf(await leases.take(2, 10)), ['in another time']);
    });

    it('are worked on by whoever took them before the database failed', async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'a', 1);
      await addBundle(sql, 'b', 2);
      let fails = 0;
      const failing = losing(sql, (_statement, values) => values.includes('b') && fails++ === 0);
      const leases = new BundleLeases(failing, 9_000, 3_600_000);
      const taken = await leases.take(2, 10);
      assert.deepEqual(plansOf(taken), ['a']);
      fails = 0;
      await assert.rejects(leases.take(2, 10), DatabaseUnavailable, 'where there are none it is said');
      assert.deepEqual(plansOf(await leases.take(2, 10)), ['b']);
    });

    it('leave alone what ended, was put off or went to another between the look and the taking', async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'a', 1);
      const taken = async (meanwhile: string) => {
        await sql.run(
          "UPDATE upload_bundles SET state = 'seeded', due_at = 1, holder = NULL, held_until = NULL",
        );
        const late = new Proxy(sql, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            if (name !== 'all') return value.bind(target);
            return async (...values: unknown[]) => {
              const rows: unknown = await value.apply(target, values);
              await sql.run(`UPDATE upload_bundles SET ${meanwhile}`);
              return rows;
            };
          },
        });
        return plansOf(await new BundleLeases(late, 9_000, 3_600_000).take(1, 10));
      };
      assert.deepEqual(await taken("state = 'posted'"), ['a']);
      assert.deepEqual(await taken("state = 'permanent'"), []);
      assert.deepEqual(await taken("state = 'dropped'"), []);
      assert.deepEqual(await taken('due_at = 11'), []);
      const [other] = await new BundleLeases(sql, 9_000, 3_600_000).take(1, 10);
      assert.equal(other, undefined, 'it is put off');
      assert.deepEqual(
        await taken("holder = 'another', held_until = 1000000000000000"),
        ['a'],
        'a clock that was wrong',
      );
      const until = await sql.get<{ held_until: number }>('SELECT held_until FROM upload_bundles');
      assert.deepEqual(await taken(`holder = 'another', held_until = ${until?.held_until}`), []);
    });

    it('split what many take at the same moment', async () => {
      const sql = await open(testMigrations);
      for (let count = 0; count < 12; count += 1) await addBundle(sql, `p${count}`, count);
      const all = Array.from({ length: 4 }, () => new BundleLeases(sql, 9_000, 3_600_000));
      const taken = (await Promise.all(all.map((leases) => leases.take(5, 100)))).flatMap(plansOf);
      assert.equal(new Set(taken).size, 12);
      assert.equal(taken.length, 12, 'no bundle is taken twice');
    });

    it('pass on when their time is over, and whoever slept through it changes nothing', async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'a', 1);
      const [one, other] = [new BundleLeases(sql, 9_000, 3_600_000), new BundleLeases(sql, 9_000, 3_600_000)];
      const [first] = await one.take(1, 10);
      assert.ok(first);
      await touch(first);
      await sql.run('UPDATE upload_bundles SET held_until = 5');
      const [second] = await other.take(1, 10);
      assert.ok(second);
      await assert.rejects(touch(first), LostLease);
      await assert.rejects(
        first.lastly.transaction((tx) => tx.run('UPDATE upload_bundles SET attempts = 99')),
        LostLease,
      );
      assert.equal(first.signal.aborted, false);
      await one.renew();
      assert.equal(first.signal.aborted, true, 'its work is called off');
      await first.end();
      await touch(second);
      assert.equal(await attemptsOf(sql), 2);
      // Who has not noticed gives back nothing that is another's.
      await sql.run('UPDATE upload_bundles SET held_until = 5');
      const [third] = await one.take(1, 10);
      assert.ok(third);
      await second.end();
      await touch(third);
      assert.equal(await attemptsOf(sql), 3);
      await third.end();
      const [fourth] = await other.take(1, 10);
      assert.ok(fourth);
      await other.renew();
      assert.equal(fourth.signal.aborted, false);
    });

    it('that are over are not taken a second time by who is still at work', async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'a', 1);
      const [one, other] = [new BundleLeases(sql, 9_000, 3_600_000), new BundleLeases(sql, 9_000, 3_600_000)];
      const [first] = await one.take(1, 10);
      await sql.run('UPDATE upload_bundles SET held_until = 5');
      assert.deepEqual(await one.take(1, 10), []);
      await one.renew();
      assert.deepEqual(await other.take(1, 10), [], 'nobody took it in between');
      await sql.run('UPDATE upload_bundles SET held_until = 5');
      const [second] = await other.take(1, 10);
      await second?.end();
      await one.renew();
      const [third] = await one.take(1, 10);
      assert.ok(first && third);
      await assert.rejects(
        touch(first),
        LostLease,
        'what it lost it has not got back for the work of before',
      );
      await touch(third);
      // The work of before ends at last: what was taken since is kept.
      await first.end();
      await sql.run('UPDATE upload_bundles SET held_until = 5');
      assert.deepEqual(await one.take(1, 10), []);
      await one.renew();
      assert.deepEqual(await other.take(1, 10), []);
      await touch(third);
    });

    it('last as long as is asked for, and nine seconds at the most', async () => {
      const sql = await open(testMigrations);
      const until = async (leaseMs: number) => {
        await sql.run('DELETE FROM upload_bundles');
        await addBundle(sql, 'a', 1);
        await new BundleLeases(sql, leaseMs, 3_600_000).take(1, 10);
        const row = await sql.get<{ held_until: number }>('SELECT held_until FROM upload_bundles');
        return row?.held_until ?? 0;
      };
      const longer = -(await until(1_000)) + (await until(60_000));
      assert.ok(longer >= 8_000 && longer < 40_000, String(longer));
    });

    it('of a clock that was wrong hold nobody up', async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'a', 1);
      const [one, other] = [new BundleLeases(sql, 9_000, 3_600_000), new BundleLeases(sql, 9_000, 3_600_000)];
      await one.take(1, 10);
      await sql.run('UPDATE upload_bundles SET held_until = held_until + 7200000');
      assert.deepEqual(plansOf(await other.take(1, 10)), ['a']);
    });

    it('go back with the last change, or without one', async () => {
      const sql = await open(testMigrations);
      await addBundle(sql, 'a', 1);
      const leases = new BundleLeases(sql, 9_000, 3_600_000);
      const [first] = await leases.take(1, 10);
      await first?.lastly.transaction((tx) => tx.run('UPDATE upload_bundles SET attempts = 1'));
      const [second] = await leases.take(1, 10);
      assert.equal(second?.bundle.attempts, 1);
      await first?.end();
      assert.deepEqual(await leases.take(1, 10), [], 'who gave it back has nothing to end');
      await second?.end();
      assert.deepEqual(plansOf(await leases.take(1, 10)), ['a']);
    });
  });
});
