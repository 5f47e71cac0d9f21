import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { createLogger } from '../../kernel/log.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import { telemetryMigrations } from './migrations.ts';
import { summarize, toCsv } from './summary.ts';
import { bucketOf, Telemetry, type TelemetryOptions } from './telemetry.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const hour = Date.parse('2026-03-04T05:00:00.000Z');

async function open(t: TestContext, options: Partial<TelemetryOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-telemetry-'));
  const path = join(folder, 'telemetry.db');
  const random = seededRandom(3);
  const telemetry = new Telemetry({
    open: () => openSqliteFile(path, telemetryMigrations),
    sampleSuccess: 0.1,
    sampleErrors: 1,
    retentionDays: 30,
    log,
    random: random.fraction,
    now: () => hour + 60_000,
    ...options,
  });
  await telemetry.start();
  t.after(async () => {
    await telemetry.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { telemetry, path };
}

const attempt = (outcome: 'success' | 'server_error', latencyMs = 20) =>
  ({ gateway: 'http://g.test', role: 'content', outcome, status: 200, latencyMs }) as const;

test('totals are exact although events are sampled, and events carry their weight', async (t) => {
  const { telemetry, path } = await open(t);
  for (let index = 0; index < 2_000; index += 1)
    telemetry.attempt(attempt(index % 100 === 0 ? 'server_error' : 'success'));
  const period = { start: new Date(hour), end: new Date(hour + 3_600_000) };
  const [summary] = summarize(await telemetry.hours(period.start, period.end), period);
  assert.equal(summary?.totalRequests, 2_000);
  assert.equal(summary?.errorRate, 0.01);
  assert.equal(summary?.p95LatencyMs, 25);
  const sql = await openSqliteFile(path, telemetryMigrations);
  t.after(() => sql.close());
  const rows = await sql.all<{ outcome: string; n: number; weighed: number }>(
    'SELECT outcome, count(*) AS n, sum(weight) AS weighed FROM gateway_events GROUP BY outcome ORDER BY outcome',
  );
  assert.deepEqual(rows[0], { outcome: 'server_error', n: 20, weighed: 20 });
  const success = rows[1];
  assert.ok(success !== undefined && success.n < 300, 'a sample only');
  assert.ok(Math.abs(success.weighed - 1_980) < 300, `unbiased: ${success.weighed} for 1980`);
});

test('what could not be written is written later, and hours add up', async (t) => {
  const { telemetry } = await open(t);
  telemetry.attempt(attempt('success'));
  await telemetry.flush();
  telemetry.attempt(attempt('success', 40_000));
  telemetry.verification('http://g.test', 'success');
  telemetry.consensus('http://g.test', false);
  telemetry.cacheHit(10, 1);
  const kept = await telemetry.hours(new Date(hour), new Date(hour + 1));
  const own = kept.find(({ gateway }) => gateway !== 'cache');
  assert.equal(own?.hourBucket, bucketOf(new Date(hour)));
  assert.equal(own?.figures.totalRequests, 2);
  assert.equal(own?.figures.latency.at(-1), 1, 'slower than every bound');
  assert.equal(own?.figures.consensusDisagreements, 1);
  assert.deepEqual(await telemetry.gateways(), ['cache', 'http://g.test']);
});

test('figures older than the retention are removed at start', async (t) => {
  const { telemetry, path } = await open(t);
  telemetry.attempt(attempt('success'));
  await telemetry.flush();
  const later = new Telemetry({
    open: () => openSqliteFile(path, telemetryMigrations),
    sampleSuccess: 0,
    sampleErrors: 0,
    retentionDays: 1,
    log,
    now: () => hour + 3 * 86_400_000,
  });
  await later.start();
  t.after(() => later.stop());
  assert.deepEqual(await later.gateways(), []);
});

test('CSV has the columns of the contract', () => {
  assert.equal(
    toCsv([]),
    'gateway,total_requests,successful_requests,bytes_served,success_rate,verification_success_rate,avg_latency_ms,availability_rate',
  );
});
