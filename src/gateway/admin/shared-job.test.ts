import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogger } from '../../kernel/log.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { jobMigrations, SharedJob } from './shared-job.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });

describe('a job of several processes', () => {
  forEachEngine((_engine, open) => {
    it('runs once, whatever the clock of the machine that asks', async (t) => {
      const sql = await open(jobMigrations);
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
  });
});
