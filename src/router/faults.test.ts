import assert from 'node:assert/strict';
import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { whileAwake } from '../../test/support/awake.ts';
import { flipByte } from '../../test/support/damage.ts';
import { withCharset } from '../formats/media-type.ts';
import {
  behave,
  benchOf,
  download,
  inTurn,
  large,
  lying,
  readiness,
  small,
  wrongBytes,
} from './testing/faulty-gateways.ts';
import type { RouterBench } from './testing/router-bench.ts';
import { type TestItem, testItem } from './testing/stub-gateway.ts';

/** Gateways that are asked nothing for now. */
async function opened(bench: RouterBench): Promise<number | undefined> {
  const { gateways } = (await bench.get('/router/ready')).json();
  return (gateways as Record<string, number>).circuitOpen;
}

test('1: a connection that breaks mid-body is continued by another gateway', async (t) => {
  const bench = await benchOf(t);
  behave(bench, { resetAfter: 1_200_000 }, { resetAfter: 1_500_000 });
  for (let round = 0; round < 3; round += 1) {
    const got = await download(bench, large);
    assert.equal(got?.status, 200);
    assert.ok(got?.body.equals(large.data));
  }
  assert.equal(await readiness(bench), 200);
});

test('2: a body that ends too early but cleanly never looks complete', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  behave(bench, { truncateTo: 2_000_000 });
  assert.equal(await download(bench, large), undefined);
  behave(bench, { truncateTo: 5 });
  const got = await download(bench, small);
  assert.equal(got, undefined);
  behave(bench, {});
});

test('3: wrong bytes of one gateway cost the reader nothing and the gateway its place', async (t) => {
  const bench = await benchOf(t, { environment: inTurn });
  behave(bench, lying);
  // It has its turn at once, or where it is overtaken a little later.
  for (let round = 1; (await opened(bench)) === 0; round += 1) {
    assert.ok(round < 100, 'it was never found out');
    const item = await testItem(`item ${round}`);
    for (const gateway of bench.gateways) gateway.items.set(item.id, item);
    const got = await bench.get(`/${item.id}`);
    assert.equal(got.status, 200);
    assert.ok(got.body.equals(item.data));
    assert.equal(
      got.headers['content-type'],
      'text/plain; charset=utf-8',
      'the type is not the serving gateway’s to say',
    );
  }
  const ready = (await bench.get('/router/ready')).json();
  assert.deepEqual(ready.gateways, {
    total: 3,
    healthy: 2,
    unhealthy: 1,
    circuitOpen: 1,
    maxGateways: 1000,
  });
  const stats = await bench.get(`/router/stats/gateways/${encodeURIComponent(bench.gateways[0]?.url ?? '')}`);
  assert.ok(JSON.stringify(stats.json()).includes('"verificationFailed":1'));
});

test('3: with every gateway wrong, nobody gets wrong bytes', async (t) => {
  const bench = await benchOf(t);
  behave(bench, wrongBytes, wrongBytes, wrongBytes);
  const got = await bench.get(`/${small.id}`);
  assert.equal(got.status, 502);
  assert.equal(got.json().error, 'VERIFICATION_FAILED');
  const other = await benchOf(t);
  behave(other, wrongBytes, wrongBytes, wrongBytes);
  assert.equal(await download(other, large), undefined, 'large content is cut before its end');
  behave(other, {}, {}, {});
});

test('3: one fast liar that vouches for itself is not believed', async (t) => {
  const bench = await benchOf(t, { environment: inTurn });
  behave(bench, lying, { delayMs: 30 }, { delayMs: 30 });
  const got = await bench.get(`/${small.id}`);
  assert.equal(got.status, 200);
  assert.ok(got.body.equals(small.data));
});

test('3: two liars that agree are overruled when one gateway is asked alone: the signature decides', async (t) => {
  const bench = await benchOf(t, { count: 2, environment: inTurn });
  behave(bench, {}, lying);
  const got = await bench.get(`/${small.id}`);
  assert.equal(got.status, 200);
  assert.ok(got.body.equals(small.data));
  assert.equal(got.headers['x-router-verification-method'], 'signature');
});

test('3: a gateway that forges the signed type is found out, and no reader sees that type', async (t) => {
  for (const item of [small, large]) {
    const bench = await benchOf(t, { count: 2, environment: inTurn });
    const forged = bench.gateways[0]?.served(/graphql/);
    behave(
      bench,
      { forgedType: 'text/html' },
      { digest: () => undefined, ...(forged === undefined ? {} : { until: forged }) },
    );
    for (let attempt = 1; ; attempt += 1) {
      const got = await download(bench, item);
      if (got !== undefined) {
        assert.equal(got.status, 200);
        assert.ok(got.body.equals(item.data));
        assert.equal(got.type, withCharset(item.contentType));
        break;
      }
      assert.ok(attempt < 2, 'a body that had begun is cut, the next one is right');
    }
    assert.equal(await opened(bench), 1, 'it is in quarantine');
  }
});

test('3: gateways that agree on the bytes and not on their type leave it to the owner', async (t) => {
  const bench = await benchOf(t, { environment: inTurn });
  behave(bench, { contentType: 'text/html' });
  for (const item of [small, large]) {
    const got = await bench.get(`/${item.id}`);
    assert.equal(got.headers['content-type'], withCharset(item.contentType));
    assert.ok(got.body.equals(item.data));
  }
});

test('a single gateway is enough: its bytes are proven by their signature', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  const got = await bench.get(`/${small.id}`);
  assert.equal(got.headers['x-router-verification-method'], 'signature');
  assert.ok(got.body.equals(small.data));
  behave(bench, lying);
  const item = await testItem('forged');
  bench.gateways[0]?.items.set(item.id, item);
  assert.equal((await bench.get(`/${item.id}`)).status, 502);
});

test('content that nobody can prove is not served', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  behave(bench, { proofless: true });
  const got = await bench.get(`/${small.id}`);
  assert.equal(got.status, 502);
  assert.equal(got.json().error, 'VERIFICATION_FAILED');
});

test('4: a gateway that does not begin to answer is overtaken', { timeout: 120_000 }, async (t) => {
  // Whoever waited for the five minutes that a gateway has here would not be done in time.
  const bench = await benchOf(t, { environment: { ...inTurn, HTTP_REQUEST_TIMEOUT_MS: '300000' } });
  behave(bench, { stalled: true });
  const got = await bench.get(`/${small.id}`);
  assert.equal(got.status, 200);
  behave(bench, { stalled: true }, { stalled: true }, { stalled: true });
  await bench.restart({ HTTP_REQUEST_TIMEOUT_MS: '200', CONTENT_CACHE_ENABLED: 'false' });
  const late = await bench.get(`/${(await testItem('nobody answers')).id}`);
  assert.equal(late.status, 504);
  assert.equal(late.json().error, 'GATEWAY_TIMEOUT');
});

test('4: a body that stalls is continued elsewhere', async (t) => {
  await whileAwake(400, async () => {
    const bench = await benchOf(t, { environment: { ...inTurn, STREAM_TIMEOUT_MS: '800' } });
    behave(bench, { stallAfter: 1_500_000 });
    const got = await download(bench, large);
    assert.ok(got?.body.equals(large.data));
    assert.ok(bench.gateways.filter((one) => one.count(/GET \/raw/) > 0).length > 1);
  });
});

test('5: two against one agree on a name, and the third is known', async (t) => {
  const bench = await benchOf(t);
  const [one, two, three] = bench.gateways;
  one?.names.set('flip', { id: large.id, ttlSeconds: 60 });
  two?.names.set('flip', { id: small.id, ttlSeconds: 60 });
  three?.names.set('flip', { id: small.id, ttlSeconds: 60 });
  // Those who agree are enough: the second answers after the one that does not.
  if (one !== undefined && two !== undefined) two.behaviour = { until: one.served(/resolver/) };
  const got = await bench.get('/', { host: 'flip.localhost' });
  assert.equal(got.status, 200);
  assert.ok(got.body.equals(small.data));
  assert.match(
    (await bench.get('/router/metrics')).body.toString(),
    new RegExp(`router_arns_consensus_mismatch_total\\{gateway="${one?.url}"\\} 1`),
  );
});

test('5: three that all disagree are a conflict, verifiers that are down are no absence', async (t) => {
  const bench = await benchOf(t);
  const other = await testItem('other');
  [small.id, large.id, other.id].forEach((id, index) => {
    bench.gateways[index]?.names.set('odd', { id, ttlSeconds: 60 });
  });
  const conflict = await bench.get('/', { host: 'odd.localhost' });
  assert.equal(conflict.status, 502);
  assert.equal(conflict.json().error, 'ARNS_CONSENSUS_MISMATCH');
  behave(bench, { status: 500 }, { status: 500 }, {});
  const down = await bench.get('/', { host: 'somebody.localhost' });
  assert.equal(down.status, 503);
  assert.equal(down.json().error, 'ARNS_RESOLUTION_UNAVAILABLE');
  assert.equal(down.headers['retry-after'], '5');
});

test('5: what one gateway adds to a name keeps nobody from it', async (t) => {
  const bench = await benchOf(t);
  for (const gateway of bench.gateways) {
    gateway.names.set('site', { id: small.id, ttlSeconds: 60, antId: 'no address\r\nset-cookie: a=b ✓' });
  }
  const got = await bench.get('/', { host: 'site.localhost' });
  assert.equal(got.status, 200);
  assert.equal(got.headers['x-arns-ant-id'], undefined);
});

test('7: what is opened and not read is not fetched to its end', async (t) => {
  const bench = await benchOf(t, {
    count: 1,
    environment: { CONTENT_CACHE_MAX_ITEM_SIZE_BYTES: '1500000' },
  });
  behave(bench, { pace: { bytes: 300_000, everyMs: 400 } });
  let closed = 0;
  bench.gateways[0]?.onClose(() => {
    closed += 1;
  });
  const whole = await bench.get(`/${large.id}`);
  assert.ok(whole.body.equals(large.data));
  for (const [path, headers, status] of [
    [`/${large.id}/below`, {}, 404],
    [`/${large.id}`, { 'if-none-match': `"${large.digest}"` }, 304],
    [`/${large.id}`, { range: 'bytes=9000000-' }, 416],
  ] as const) {
    const before = closed;
    assert.equal((await bench.get(path, { headers: { ...headers } })).status, status);
    while (closed === before) await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test('a type that no header can carry is told without what cannot be carried', async (t) => {
  const odd = await testItem('odd', 'text/plain; x=✓');
  const bench = await benchOf(t, { items: [odd], count: 1 });
  behave(bench, { contentType: 'text/plain' });
  for (const method of ['HEAD', 'GET'] as const) {
    const got = await bench.get(`/${odd.id}`, { method });
    assert.deepEqual([got.status, got.headers['content-type']], [200, 'text/plain; x=']);
  }
});

test('7: content above the limit of the cache is streamed each time and never kept', async (t) => {
  const bench = await benchOf(t, { environment: { CONTENT_CACHE_MAX_ITEM_SIZE_BYTES: '1500000' } });
  for (let round = 0; round < 2; round += 1) {
    const got = await bench.get(`/${large.id}`);
    assert.ok(got.body.equals(large.data));
    assert.equal(got.headers['x-cache'], 'MISS');
  }
  const range = await bench.get(`/${large.id}`, { headers: { range: 'bytes=10-19' } });
  assert.equal(range.status, 206);
  assert.ok(range.body.equals(large.data.subarray(10, 20)));
});

test('8: a cached file that was damaged is fetched again, never served', async (t) => {
  const bench = await benchOf(t);
  assert.equal((await bench.get(`/${large.id}`)).status, 200);
  await bench.get(`/${small.id}`);
  const blobs = () =>
    readdirSync(join(bench.dataDir, 'content-cache', 'blobs'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /^[0-9a-f]{64}$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name));
  await bench.restart();
  const files = blobs();
  assert.equal(files.length, 2);
  for (const file of files) {
    if (statSync(file).size > 1_000) truncateSync(file, 1_000);
    else writeFileSync(file, 'poisoned bytes!');
  }
  await bench.restart();
  const [first, second] = [await bench.get(`/${large.id}`), await bench.get(`/${small.id}`)];
  assert.ok(first.body.equals(large.data));
  assert.ok(second.body.equals(small.data));
  assert.equal(second.headers['x-cache'], 'MISS');
  assert.match((await bench.get('/router/metrics')).body.toString(), /router_cache_corruption_total 2/);
});

test('8: a cached file that is damaged while the router runs is fetched again, never served', async (t) => {
  const bench = await benchOf(t);
  await bench.get(`/${large.id}`);
  const hit = await bench.get(`/${large.id}`);
  assert.equal(hit.headers['x-cache'], 'HIT');
  const folder = join(bench.dataDir, 'content-cache', 'blobs');
  const [file] = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && /^[0-9a-f]{64}$/.test(entry.name),
  );
  const path = join(file?.parentPath ?? '', file?.name ?? '');
  flipByte(path, large.data.length - 1);
  const got = await bench.get(`/${large.id}`);
  assert.deepEqual([got.status, got.headers['x-cache']], [200, 'MISS']);
  assert.ok(got.body.equals(large.data));
  assert.match((await bench.get('/router/metrics')).body.toString(), /router_cache_corruption_total 1/);
  flipByte(path, large.data.length - 1);
  const part = await bench.get(`/${large.id}`, { headers: { range: 'bytes=0-9' } });
  assert.equal(part.status, 206);
  assert.ok(part.body.equals(large.data.subarray(0, 10)));
  assert.match((await bench.get('/router/metrics')).body.toString(), /router_cache_corruption_total 2/);
});

test('9: a drain lets streams finish to their last byte', async (t) => {
  const bench = await benchOf(t);
  behave(bench, { delayMs: 150 }, { delayMs: 150 }, { delayMs: 150 });
  const running = [download(bench, large), download(bench, small)];
  const asked = (item: TestItem) =>
    bench.gateways.some((one) => one.count(new RegExp(`GET /raw/${item.id}`)) > 0);
  while (!asked(large) || !asked(small)) await new Promise(setImmediate);
  await bench.router.drain(60_000);
  const [first, second] = await Promise.all(running);
  assert.ok(first?.body.equals(large.data));
  assert.ok(second?.body.equals(small.data));
  await assert.rejects(bench.get('/router/health'), 'no new connections');
});

test('11: a telemetry database that cannot be opened does not keep the router from serving', async (t) => {
  const bench = await benchOf(t, { count: 1, environment: { TELEMETRY_DB_PATH: '/dev/null/telemetry.db' } });
  assert.equal((await bench.get(`/${small.id}`)).status, 200);
  const health = (await bench.get('/router/health')).json();
  assert.equal(health.degraded, true);
  assert.match(String(health.degradedReason), /telemetry/);
  const { reasons } = (await bench.get('/gw/healthcheck')).json();
  assert.doesNotMatch(`${health.degradedReason} ${reasons}`, /\/dev\/null/, 'files are nobody’s business');
  assert.equal((await bench.get('/router/stats/gateways')).status, 500);
});

test('11: a telemetry database that is locked loses no figure and holds up no reader', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  const total = async () => {
    const { gateways } = (await bench.get('/router/stats/gateways')).json();
    const own = (gateways as { gateway: string; totalRequests: number }[]).find(
      ({ gateway }) => gateway === 'cache',
    );
    return own?.totalRequests ?? 0;
  };
  await bench.get(`/${small.id}`);
  assert.equal(await total(), 0);
  const other = new DatabaseSync(join(bench.dataDir, 'telemetry.db'));
  other.exec('BEGIN EXCLUSIVE');
  assert.equal((await bench.get(`/${small.id}`)).status, 200);
  let answered = false;
  const waiting = bench.get('/router/stats/gateways').then((got) => {
    answered = true;
    return got.status;
  });
  for (let round = 1; round < 10; round += 1) {
    assert.equal((await bench.get(`/${small.id}`)).status, 200);
  }
  assert.equal(answered, false, 'the figures wait for the lock; readers do not');
  other.exec('COMMIT');
  other.close();
  await waiting;
  assert.equal(await total(), 10, 'and every one of them is there');
});

test('12: with all gateways down, what is cached and known by name is still served', async (t) => {
  const bench = await benchOf(t, { environment: { ARNS_CACHE_TTL_MS: '0' } });
  for (const gateway of bench.gateways) gateway.names.set('site', { id: small.id, ttlSeconds: 60 });
  assert.equal((await bench.get('/', { host: 'site.localhost' })).status, 200);
  behave(bench, { status: 500 }, { status: 500 }, { status: 500 });
  await bench.restart();
  for (let round = 0; round < 4; round += 1) {
    const failing = await bench.get(`/${large.id}`);
    assert.ok([502, 503].includes(failing.status), String(failing.status));
    assert.notEqual(failing.status, 404);
  }
  assert.equal(await readiness(bench), 503);
  assert.equal((await bench.get(`/${small.id}`)).status, 200);
  const named = await bench.get('/', { host: 'site.localhost' });
  assert.equal(named.status, 200);
  assert.ok(named.body.equals(small.data));
});
