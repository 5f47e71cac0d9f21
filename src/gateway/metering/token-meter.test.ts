/** The meter by itself, with a clock of the test's: what is told holds, and memory is bounded. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { liveMemory } from '../../../test/support/live-memory.ts';
import { memberOf } from '../../formats/json.ts';
import { HttpError } from '../../kernel/errors.ts';
import type { Request } from '../../kernel/http/server.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { forEachEngine, losing } from '../../storage/sql/testing.ts';
import { gatewayMigrations } from '../migrations.ts';
import { Buckets } from './buckets.ts';
import { Clients } from './client.ts';
import { createMeterMetrics } from './metrics.ts';
import { PaidTokens } from './paid.ts';
import { SharedBuckets } from './shared.ts';
import { TokenMeter } from './token-meter.ts';

const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} }) as unknown as Request;

forEachEngine((engine, open) => {
  async function meterAt(at: { now: number }, capacity: number, refillPerSecond: number, max = 100_000) {
    const sql = await open(gatewayMigrations);
    const now = () => at.now;
    const byClient = new Buckets({ capacity, refillPerSecond, max, now });
    const byResource = new Buckets({ capacity: 10 * capacity, refillPerSecond, max, now });
    const meter = new TokenMeter({
      clients: new Clients({ proxies: [], allowed: [] }),
      byClient,
      byResource,
      paid: new PaidTokens(sql),
      payments: undefined,
      metrics: createMeterMetrics(new Metrics(), byClient, byResource),
      isExempt: () => false,
    });
    const refusal = async (bytes: number, client = '192.0.2.1') => {
      try {
        await meter.charge(from(client), bytes, 'data:x', 'text/plain');
        return undefined;
      } catch (error) {
        assert.ok(error instanceof HttpError);
        const retryAfter = error.retryAfter && Math.ceil(error.retryAfter);
        const message = memberOf(error.body, 'message');
        const says = message === 'IP rate limit exceeded' ? {} : { says: message };
        return { status: error.status, retryAfter, ...says };
      }
    };
    return { meter, refusal, byClient, byResource, sql, now };
  }

  it('tells the second after which a request is served, and not one later', async () => {
    const at = { now: 0 };
    const { refusal } = await meterAt(at, 100, 3);
    assert.equal(await refusal(100 * 1024), undefined);
    const refused = await refusal(40 * 1024);
    assert.deepEqual(refused, { status: 429, retryAfter: 14 });
    at.now += 13_000;
    assert.deepEqual(await refusal(40 * 1024), { status: 429, retryAfter: 1 });
    at.now += 1_000;
    assert.equal(await refusal(40 * 1024), undefined);
    const never = await refusal(101 * 1024);
    assert.deepEqual(
      never,
      {
        status: 429,
        retryAfter: undefined,
        says: 'IP rate limit exceeded: it takes 101 tokens of 1 KiB and the limit holds 100, so it will never fit',
      },
      'what never fits is not promised',
    );
  });

  it('keeps a hundred thousand clients in tens of megabytes, each with what is left to it', async () => {
    const { meter, byClient, byResource, refusal } = await meterAt({ now: 0 }, 10, 0);
    const before = liveMemory();
    for (let client = 0; client < 100_000; client += 1) {
      const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
      assert.equal(meter.charge(from(address), 1024, `data:${client}`, 'text/plain'), undefined);
    }
    const grown = (liveMemory() - before) / 1024 / 1024;
    assert.ok(byClient.size <= 100_000 && byClient.size >= 50_000);
    assert.ok(byResource.size <= 100_000);
    assert.ok(grown < 64, `${Math.round(grown)} MiB`);
    assert.equal(byClient.tokens('10.1.134.159'), 9);
    assert.equal((await refusal(10 * 1024, '10.1.134.159'))?.status, 429);
  });

  it('shares what was taken, forgets what is full again, and loses nothing while the database is away', async () => {
    const at = { now: 1_000_000 };
    const { byClient, sql, now } = await meterAt(at, 100, 10);
    let broken = true;
    const failing = losing(sql, (statement) => broken && statement === '');
    const shared = new SharedBuckets(failing, [byClient], { warn() {} } as never, now);
    byClient.take('a', 60);
    await assert.rejects(shared.exchange());
    byClient.take('a', 10);
    broken = false;
    await shared.exchange();
    const rows = () =>
      sql.all<{ bucket: string; millitokens: number }>('SELECT bucket, millitokens FROM meter_buckets');
    assert.deepEqual(await rows(), [{ bucket: 'a', millitokens: 30_000 }], engine);
    assert.equal(await shared.forgetFull(), 0);
    at.now += 9_000;
    byClient.take('b', 1);
    await shared.exchange();
    at.now += 2_000;
    assert.equal(await shared.forgetFull(), 1, 'a has been full for a second');
    assert.deepEqual(
      (await rows()).map(({ bucket }) => bucket),
      ['b'],
    );
  });
});
