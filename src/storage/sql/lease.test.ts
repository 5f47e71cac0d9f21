import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { databaseClock, isLeaseHeld, Lease, LeaseWatch, LostLease } from './lease.ts';
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
CREATE TABLE work (value BIGINT NOT NULL);
CREATE TABLE set_clock (ms BIGINT NOT NULL);
INSERT INTO set_clock (ms) VALUES (0);`,
  },
];
const leaseMs = 1_000;
const setClock = '(SELECT ms FROM set_clock)';
const leaseWith = (sql: Sql, time: { steady: number }) =>
  new Lease(sql, {
    table: 'leases',
    name: 'work',
    leaseMs,
    clocks: { database: setClock, own: () => time.steady },
  });

/**
 * Processes that live, die and sleep, while the database's clock is set forwards and backwards. Time passes for all of
 * them alike; each that is awake asks for the lease four times in its length.
 */
async function model(sql: Sql, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const time = { steady: 0 };
  const processes = Array.from({ length: 3 }, () => ({ lease: leaseWith(sql, time), sleepsUntil: 0 }));
  let heldAt = 0;
  let written = 0;
  for (let step = 0; step < 150; step += 1) {
    const passed = random.between(leaseMs / 8, leaseMs / 4);
    time.steady += passed;
    // A quarter of the time somebody sets the clock, by up to three hours.
    const set = random.below(4) === 0 ? random.between(-10_800_000, 10_800_000) : 0;
    await sql.run('UPDATE set_clock SET ms = ms + ?', passed + set);
    const chosen = random.pick(processes);
    if (random.below(12) === 0) chosen.lease = leaseWith(sql, time);
    if (random.below(12) === 0) chosen.sleepsUntil = time.steady + random.between(leaseMs, 3 * leaseMs);
    const writers: number[] = [];
    for (const [index, { lease, sleepsUntil }] of processes.entries()) {
      if (sleepsUntil > time.steady || !(await lease.hold())) continue;
      const wrote = await lease.fenced
        .transaction((tx) => tx.run('INSERT INTO work (value) VALUES (?)', index))
        .then(
          () => true,
          (error: unknown) => {
            assert.ok(error instanceof LostLease);
            return false;
          },
        );
      if (!wrote) continue;
      writers.push(index);
      written += 1;
    }
    const { holder } = (await sql.get<{ holder: string }>('SELECT holder FROM leases')) ?? {};
    assert.ok(holder !== undefined);
    // Of those that wrote in one moment the later has taken it from the earlier, which then writes no more.
    for (const index of writers.slice(0, -1)) {
      const lost = processes[index]?.lease.fenced.transaction(async () => {});
      if (lost !== undefined) await assert.rejects(lost, LostLease);
    }
    if (writers.length > 0) heldAt = time.steady;
    const asleep = processes.every(({ sleepsUntil }) => sleepsUntil > time.steady);
    if (asleep) heldAt = time.steady;
    assert.ok(time.steady - heldAt <= 2 * leaseMs, `nobody works at step ${step} of seed ${seed}`);
  }
  assert.ok(written > 50);
}

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

    it('goes to another after one length of it, however far ahead the clock was when its holder died', async () => {
      const sql = await open(migrations);
      const time = { steady: 0 };
      const process = () => leaseWith(sql, time);
      await sql.run('UPDATE set_clock SET ms = 7200000');
      assert.equal(await process().hold(), true);
      await sql.run('UPDATE set_clock SET ms = 0');
      const [one, two] = [process(), process()];
      assert.deepEqual([await one.renew(), await two.renew()], [false, false]);
      time.steady = leaseMs;
      assert.deepEqual([await one.renew(), await two.renew()], [false, false], 'it may still be renewed');
      time.steady = leaseMs + 1;
      assert.deepEqual([await one.renew(), await two.renew()], [true, false]);
    });

    it('always finds a holder in time, and never two that write, whatever the clocks do', async () => {
      for (let seed = 1; seed <= 4; seed += 1) await model(await open(migrations, `model${seed}`), seed);
    });

    it('is asked for when half of its time is over, and given back by its holder alone', async () => {
      const sql = await open(migrations);
      const time = { steady: 5_000 };
      const [one, two] = [leaseWith(sql, time), leaseWith(sql, time)];
      const until = async () => (await sql.get<{ until: number }>('SELECT until FROM leases'))?.until;
      const set = (ms: number) => sql.run('UPDATE set_clock SET ms = ?', ms);
      await set(100);
      assert.equal(await one.hold(), true);
      assert.equal(await until(), 1_100);
      await set(200);
      time.steady += leaseMs / 2 - 1;
      assert.deepEqual([await one.hold(), await until()], [true, 1_100], 'not asked again');
      assert.equal(await two.hold(), false);
      time.steady += 1;
      assert.deepEqual([await one.hold(), await until()], [true, 1_200]);
      assert.deepEqual([await one.renew(), await until()], [true, 1_200]);
      await two.release();
      assert.equal(await until(), 1_200, 'what another holds is not given back');
      await one.release();
      assert.equal(await until(), undefined);
      assert.equal(await two.hold(), true);
      await one.release();
      assert.notEqual(await until(), undefined);
      await sql.run('UPDATE leases SET until = 0');
      const three = leaseWith(sql, time);
      assert.equal(await three.hold(), true);
      await two.release();
      assert.notEqual(await until(), undefined, 'it was taken from one that slept');
      await sql.run('DELETE FROM leases');
      assert.equal(await two.hold(), true);
      await assert.rejects(
        one.fenced.transaction(async () => assert.fail()),
        LostLease,
      );
      assert.equal(await one.hold(), false);
      // It ends with its time, not a moment before.
      await set(1_200);
      assert.equal(await one.hold(), false);
      await set(1_201);
      assert.equal(await one.hold(), true);
    });

    it("is somebody's until its time is over, and nobody's where it would last longer than any may", async () => {
      const sql = await open(migrations);
      const options = { table: 'leases', name: 'work', leaseMs } as const;
      const clocks = { database: setClock, own: () => 0 };
      const isHeld = (until: number, name = 'work') =>
        sql
          .run('UPDATE leases SET until = ?', until)
          .then(() => isLeaseHeld(sql, { ...options, name, clocks }));
      assert.equal(await isLeaseHeld(sql, options), false);
      assert.equal(await new Lease(sql, options).hold(), true);
      assert.equal(await isLeaseHeld(sql, options), true);
      await sql.run('UPDATE set_clock SET ms = 500');
      assert.deepEqual(
        [await isHeld(499), await isHeld(500), await isHeld(2_500), await isHeld(2_501)],
        [false, true, true, false],
      );
      assert.equal(await isHeld(600, 'other work'), false);
    });
  });
});

describe('a watch', () => {
  it('takes a lease for abandoned that nobody has renewed for its whole length', () => {
    let now = 10_000;
    const watch = new LeaseWatch(leaseMs, () => now);
    const row = { holder: 'one', until: 5 };
    assert.equal(watch.isAbandoned(row), false, 'seen for the first time');
    now += leaseMs;
    assert.equal(watch.isAbandoned(row), false);
    now += 1;
    assert.equal(watch.isAbandoned(row), true);
    assert.equal(watch.isAbandoned({ ...row, until: 6 }), false, 'renewed');
    now += leaseMs + 1;
    assert.equal(watch.isAbandoned({ ...row, until: 6 }), true);
    assert.equal(watch.isAbandoned({ holder: 'two', until: 6 }), false, 'taken by another');
  });
});

it('the clock of a database is asked for only where it is not the own one', async () => {
  const row = { now: 7 };
  const asking = (engine: Sql['engine'], answer: object | undefined) =>
    databaseClock({ engine, all: async () => [], get: async <T>() => answer as T })();
  assert.equal(await asking('sqlite', row), undefined);
  assert.equal(await asking('postgres', row), 7);
  assert.equal(await asking('postgres', undefined), undefined);
});
