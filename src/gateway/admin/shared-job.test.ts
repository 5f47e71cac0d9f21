import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogger } from '../../kernel/log.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { gatewayMigrations } from '../migrations.ts';
import { SharedJob } from './shared-job.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });

describe('a job of several processes', () => {
  forEachEngine((_engine, open) => {
    it('runs once, whatever the clock of the machine that asks', async (t) => {
      const sql = await open(gatewayMigrations);
      const here = new SharedJob(sql, 'export', log);
      assert.deepEqual(await here.status(), { status: 'not_started' });
      assert.equal(await here.claim(), true);
      t.mock.method(Date, 'now', () => Date.UTC(2100, 0, 1));
      const elsewhere = new SharedJob(sql, 'export', log);
      assert.equal(await elsewhere.claim(), false);
      assert.deepEqual(await elsewhere.status(), { status: 'running' });
      // As if nothing had been heard of it for long.
      await sql.run('UPDATE operator_jobs SET told_at = told_at - 20000');
      assert.equal((await elsewhere.status()).status, 'errored');
      assert.equal(await elsewhere.claim(), true);
      assert.equal(await here.claim(), false);
    });

    it('is over for everybody once it is said to be', async () => {
      const sql = await open(gatewayMigrations);
      const slow = new Proxy(sql, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== 'function') return value;
          return async (...given: unknown[]) => {
            for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
            return value.apply(target, given);
          };
        },
      });
      const here = new SharedJob(slow, 'export', log);
      assert.equal(await here.claim(), true);
      const work = Promise.withResolvers<void>();
      const job: { status: 'running' | 'completed' } = { status: 'running' };
      const told = here.follow(() => job, work.promise);
      assert.deepEqual(await here.status(), { status: 'running' });
      job.status = 'completed';
      work.resolve();
      assert.deepEqual(await here.status(), { status: 'completed' });
      assert.equal(await new SharedJob(sql, 'export', log).claim(), true);
      await told;
    });

    it('is cancelled by whichever process is asked, once', { timeout: 30_000 }, async () => {
      const sql = await open(gatewayMigrations);
      const here = new SharedJob(sql, 'export', log);
      const there = new SharedJob(sql, 'export', log);
      assert.equal(await there.cancel(), false, 'nothing runs');
      assert.equal(await here.claim(), true);
      const ended = Promise.withResolvers<void>();
      const job: { status: 'running' | 'cancelled' } = { status: 'running' };
      const told = here.follow(
        () => job,
        ended.promise,
        () => {
          job.status = 'cancelled';
          ended.resolve();
        },
      );
      assert.equal(await there.cancel(), true);
      await told;
      assert.deepEqual(await there.status(), { status: 'cancelled' });
      assert.equal(await there.cancel(), false, 'it is over');
      // The next one is not cancelled by what was said of the last.
      assert.equal(await there.claim(), true);
      const row = await sql.get<{ cancelled: number }>('SELECT cancelled FROM operator_jobs');
      assert.equal(row?.cancelled, 0);
    });

    it('ends in a process that was taken for dead', { timeout: 30_000 }, async () => {
      const sql = await open(gatewayMigrations);
      const asleep = new SharedJob(sql, 'export', log);
      assert.equal(await asleep.claim(), true);
      await sql.run('UPDATE operator_jobs SET told_at = 0');
      assert.equal(await new SharedJob(sql, 'export', log).claim(), true);
      const ended = Promise.withResolvers<void>();
      await asleep.follow(
        () => ({ status: 'running' }),
        ended.promise,
        () => ended.resolve(),
      );
    });
  });
});
