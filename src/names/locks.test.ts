import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { namesLedgerMigrations } from '../../test/support/names-bench.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { LockLost, Locks, LockTimeout } from './locks.ts';

forEachEngine((_engine, open) => {
  /** Two processes over one database. */
  async function twoProcesses(options = {}) {
    const [one, two] = [
      await open(namesLedgerMigrations, 'locks'),
      await open(namesLedgerMigrations, 'locks'),
    ];
    return { sql: one, one: new Locks(one, options), two: new Locks(two, options) };
  }

  it('lets one at a time work on a key, across processes, and others on other keys', async () => {
    const { sql, one, two } = await twoProcesses();
    let value = 0;
    let inside = 0;
    const add = async () => {
      inside += 1;
      assert.equal(inside, 1);
      const read = value;
      await sql.get('SELECT 1 AS one');
      value = read + 1;
      inside -= 1;
    };
    const turns = Array.from({ length: 10 }, (_, turn) => (turn % 2 === 0 ? one : two).hold('name a', add));
    await Promise.all(turns);
    assert.equal(value, 10);
    await one.hold('name a', () => two.hold('name b', async () => {}));
    assert.deepEqual(await sql.all('SELECT * FROM arns_locks'), []);
  });

  it('gives up waiting in time, in this process and for another, and has done nothing', async () => {
    const { one, two } = await twoProcesses();
    let worked = false;
    const work = async () => {
      worked = true;
    };
    await one.hold('name a', async () => {
      await assert.rejects(one.hold('name a', work, 30), LockTimeout);
      await assert.rejects(two.hold('name a', work, 30), LockTimeout);
    });
    assert.equal(worked, false);
    await two.hold('name a', work);
    assert.equal(worked, true);
  });

  it('lets only so many wait for a key', async () => {
    const { one } = await twoProcesses({ maxWaiting: 2 });
    await one.hold('name a', async () => {
      const waiting = [one.hold('name a', async () => 1, 50), one.hold('name a', async () => 2, 50)];
      await assert.rejects(
        one.hold('name a', async () => {}),
        LockTimeout,
      );
      assert.deepEqual(
        (await Promise.allSettled(waiting)).map(({ status }) => status),
        ['rejected', 'rejected'],
      );
    });
  });

  it('takes over from a process that died, and keeps what it holds while it works', async () => {
    const { sql, one, two } = await twoProcesses({ leaseMs: 3_000 });
    await sql.run("INSERT INTO arns_locks (name, holder, until) VALUES ('name a', 'dead', 0)");
    await one.hold('name a', async () => {
      const until = async () =>
        (await sql.get<{ until: number }>("SELECT until FROM arns_locks WHERE name = 'name a'"))?.until ?? 0;
      const before = await until();
      await eventually('it was renewed', async () => (await until()) > before);
      await assert.rejects(
        two.hold('name a', async () => {}, 20),
        LockTimeout,
      );
      await sql.transaction((tx) => one.fence(tx, 'name a'));
    });
  });

  it('takes over from one that died while the clock was ahead, also for those who wait briefly each time', async () => {
    const leaseMs = 300;
    const { sql, one } = await twoProcesses({ leaseMs });
    const until = Date.now() + 12 * 3_600_000;
    await sql.run("INSERT INTO arns_locks (name, holder, until) VALUES ('name a', 'dead', ?)", until);
    const started = performance.now();
    await eventually('it was taken', () =>
      one
        .hold('name a', async () => true, leaseMs / 10)
        .catch((error: unknown) => {
          if (error instanceof LockTimeout) return false;
          throw error;
        }),
    );
    assert.ok(performance.now() - started > leaseMs, 'its time was waited for');
  });

  it('keeps one that slept through its time from storing anything, also after its successor is done', async () => {
    const { sql, one, two } = await twoProcesses();
    const store = () =>
      sql.transaction(async (tx) => {
        await one.fence(tx, 'name a');
        await tx.run("INSERT INTO arns_payer (payer) VALUES ('x')");
      });
    await one.hold('name a', async () => {
      // As if its time were over by the database's clock.
      await sql.run('UPDATE arns_locks SET until = 0');
      await two.hold('name a', () => assert.rejects(store(), LockLost));
      await assert.rejects(store(), LockLost);
    });
    assert.deepEqual(await sql.all('SELECT * FROM arns_payer'), []);
    await assert.rejects(store(), LockLost, 'nothing is held any more');
  });

  it('lets go of everything when it stops, and forgets locks of processes that died long ago', async () => {
    const { sql, one, two } = await twoProcesses();
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const working = one.hold('name a', () => stopped);
    await eventually('it holds', async () => (await sql.all('SELECT * FROM arns_locks')).length === 1);
    await one.stop();
    await two.hold('name a', async () => {}, 1_000);
    stop();
    await working;
    await sql.run("INSERT INTO arns_locks (name, holder, until) VALUES ('name b', 'dead', 0)");
    await one.sweep();
    assert.deepEqual(await sql.all('SELECT * FROM arns_locks'), []);
  });
});
