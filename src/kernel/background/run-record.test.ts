import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { silentLog } from '../testing.ts';
import { createJob } from './job.ts';
import { jobProblems, RunRecord } from './run-record.ts';
import { WakeableTask } from './wakeable-task.ts';

test('a record tells how the last run went and when the next one is', (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000 });
  t.after(() => mock.timers.reset());
  const record = new RunRecord({ name: 'sweep' });
  assert.deepEqual(record.report({ off: true }).state, 'off');
  record.began();
  assert.equal(record.report({ nextInMs: 5 }).state, 'running');
  assert.equal(record.report({ nextInMs: 5 }).nextAt, null, 'not while it runs');
  mock.timers.tick(250);
  record.failed(new Error('away'));
  assert.deepEqual(record.report({ nextInMs: 500 }), {
    name: 'sweep',
    state: 'failing',
    stuck: false,
    runs: 1,
    failures: 1,
    lastStartedAt: 1_000,
    lastEndedAt: 1_250,
    lastTookMs: 250,
    lastError: 'away',
    lastErrorAt: 1_250,
    nextAt: 1_750,
  });
  record.began();
  record.ended();
  const { state, failures, lastError } = record.report();
  assert.deepEqual([state, failures, lastError], ['waiting', 0, 'away']);
});

test('a run that never ends, and runs that fail again and again, are named without what they said', (t) => {
  mock.timers.enable({ apis: ['Date'], now: 0 });
  t.after(() => mock.timers.reset());
  const slow = new RunRecord({ name: 'slow', stuckAfterMs: 1_000 });
  const patient = new RunRecord({ name: 'patient', stuckAfterMs: Number.POSITIVE_INFINITY });
  const broken = new RunRecord({ name: 'broken' });
  for (const record of [slow, patient]) record.began();
  mock.timers.tick(1_001);
  const reports = () => [slow, patient, broken].map((record) => record.report());
  assert.deepEqual(jobProblems(reports()), [
    'The job "slow" has been running since 1970-01-01T00:00:00.000Z.',
  ]);
  slow.ended();
  for (let count = 0; count < 4; count += 1) broken.failed(new Error('password sesame'));
  assert.deepEqual(jobProblems(reports()), []);
  broken.failed(new Error('password sesame'));
  assert.deepEqual(jobProblems(reports()), ['The job "broken" failed 5 times in a row.']);
});

test('jobs and tasks report under their names', async () => {
  const job = createJob({ name: 'never', everyMs: 0, log: silentLog, run: async () => {} });
  assert.deepEqual(
    job.reports().map(({ name, state }) => [name, state]),
    [['never', 'off']],
  );
  const task = new WakeableTask({
    name: 'woken',
    run: async () => {
      throw new Error('not today');
    },
    failed: () => 60_000,
  });
  task.start();
  await task.settled();
  const [report] = task.reports();
  assert.deepEqual([report?.name, report?.state, report?.lastError], ['woken', 'failing', 'not today']);
  assert.ok((report?.nextAt ?? 0) > Date.now());
  await task.stop();
});
