import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { silentLog } from '../../kernel/testing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type ExportStatus, gatewayStopping } from '../export/exporter.ts';
import type { ExportRequest } from '../export/write.ts';
import { gatewayMigrations } from '../migrations.ts';
import { ExportSchedule, type ExportScheduleOptions } from './export-schedule.ts';
import type { JobStatus } from './shared-job.ts';

const everyMs = 3_600_000;

/** Exports that end when the test says so, of all processes on a database. */
class StandIn {
  readonly asked: ExportRequest[] = [];
  #running: JobStatus | undefined;
  #end: ((status: ExportStatus) => Promise<void>) | undefined;
  isBusy = false;

  readonly exports: ExportScheduleOptions['exports'] = {
    start: async (request, { onEnd } = {}) => {
      if (this.isBusy) return undefined;
      this.asked.push(request);
      const jobId = `job ${this.asked.length}`;
      this.#running = { status: 'running', jobId };
      this.#end = onEnd;
      return { jobId, stableHeight: 9 };
    },
    status: async () => this.#running ?? { status: 'not_started' },
  };

  async end(status: ExportStatus): Promise<void> {
    await this.#end?.(status);
    this.#running = { ...this.#running, ...status };
  }

  die(): void {
    this.#running = { ...this.#running, status: 'errored' };
  }
}

describe('exports by themselves', () => {
  forEachEngine((_engine, open) => {
    const request = { outputDir: 'latest', startHeight: 0, maxFileRows: 0, heightPartitionSize: 10 };
    const make = (sql: Sql, { exports }: StandIn) =>
      new ExportSchedule({
        ...{ sql, log: silentLog, exports, everyMs, lookEveryMs: 5 },
        request: { ...request, skipL1Transactions: false, skipL1Tags: false },
      });
    /** The time is over. */
    const wait = (sql: Sql) =>
      sql.run("UPDATE operator_jobs SET told_at = told_at - ? WHERE name = 'export-schedule'", everyMs + 1);

    it('are begun when the time is over, by one of the processes, up to what is stable', async (t) => {
      const sql = await open(gatewayMigrations);
      const world = new StandIn();
      const schedules = [make(sql, world), make(sql, world), make(sql, world)];
      t.after(() => Promise.all(schedules.map((one) => one.stop())));
      const [first] = schedules;
      assert.ok(first);
      assert.deepEqual(
        [(await first.state()).lastRunAt, (await first.state()).lastStatus],
        [null, 'not_started'],
      );
      for (const one of schedules) one.start();
      await eventually('the first is begun', async () => (await first.state()).lastStatus === 'running');
      await world.end({ status: 'completed' });
      const state = await first.state();
      assert.deepEqual(
        [state.everyMinutes, state.outputDir, state.lastStatus, state.error],
        [60, 'latest', 'completed', undefined],
      );
      assert.equal(Date.parse(state.nextRunAt) - Date.parse(String(state.lastRunAt)) <= everyMs, true);
      assert.equal(world.asked.length, 1);
      await wait(sql);
      await eventually('the second is begun', () => world.asked.length === 2);
      const [, second] = world.asked;
      assert.deepEqual(
        [second?.resume, second?.endHeight, second?.startHeight],
        [true, Number.MAX_SAFE_INTEGER, 0],
      );
      await eventually('it is told', async () => (await first.state()).lastStatus === 'running');
      await world.end({ status: 'completed' });
    });

    it('are a problem of health while the last one failed, and are tried again soon', async (t) => {
      const sql = await open(gatewayMigrations);
      const world = new StandIn();
      const schedule = make(sql, world);
      t.after(() => schedule.stop());
      schedule.start();
      await eventually('it runs', async () => (await schedule.state()).lastStatus === 'running');
      assert.deepEqual(await schedule.problems(), []);
      await world.end({ status: 'errored', error: 'the disk is full' });
      assert.deepEqual(await schedule.problems(), ['The scheduled Parquet export failed: the disk is full']);
      const wait = Date.parse((await schedule.state()).nextRunAt) - Date.now();
      assert.ok(wait > 0 && wait <= 600_000, `in ${wait} ms`);
      await sql.run("UPDATE operator_jobs SET told_at = 0 WHERE name = 'export-schedule'");
      await eventually('it runs again', async () => (await schedule.state()).lastStatus === 'running');
      await world.end({ status: 'completed' });
      assert.deepEqual(await schedule.problems(), []);
    });

    it('go on at once where a process died or stopped, and wait for an operator’s export', async (t) => {
      const sql = await open(gatewayMigrations);
      const world = new StandIn();
      const schedule = make(sql, world);
      t.after(() => schedule.stop());
      schedule.start();
      await eventually('it runs', async () => (await schedule.state()).lastStatus === 'running');
      world.die();
      await eventually('the next goes on', () => world.asked.length === 2);
      await eventually('it is told', async () => (await schedule.problems()).length === 0);
      await world.end({ status: 'errored', error: gatewayStopping });
      assert.deepEqual(await schedule.problems(), []);
      await eventually('the next goes on', () => world.asked.length === 3);
      await eventually('it is told', async () => (await schedule.state()).lastStatus === 'running');
      world.isBusy = true;
      await world.end({ status: 'completed' });
      await wait(sql);
      await eventually(
        'it is put off',
        async () => Date.parse((await schedule.state()).nextRunAt) > Date.now(),
      );
      assert.deepEqual([(await schedule.state()).lastStatus, world.asked.length], ['completed', 3]);
    });
  });
});
