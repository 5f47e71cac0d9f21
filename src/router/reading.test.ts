/** How content is read: ranges, conditions, HEAD, modes, hosts, names that move, with and without verification. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { whileAwake } from '../../test/support/awake.ts';
import { isTxId } from '../formats/base64url.ts';
import { withCharset } from '../formats/media-type.ts';
import { sandboxLabel } from '../formats/sandbox-label.ts';
import { type BenchOptions, type RouterBench, startRouterBench } from './testing/router-bench.ts';
import { type TestItem, testItem } from './testing/stub-gateway.ts';

const manifestType = 'application/x.arweave-manifest+json';
const small = await testItem('0123456789');
const large = await testItem(Buffer.alloc(2_500_000, 'large '), 'video/mp4');
const nothing = await testItem('', 'text/plain');
const manifest = await testItem(
  JSON.stringify({
    manifest: 'arweave/paths',
    version: '0.2.0',
    index: { path: 'film.mp4' },
    paths: {
      'film.mp4': { id: large.id },
      'empty.txt': { id: nothing.id },
      'gone.txt': { id: 'A'.repeat(43) },
    },
  }),
  manifestType,
);
const items = [small, large, nothing, manifest];

async function benchOf(t: TestContext, options: BenchOptions = {}): Promise<RouterBench> {
  const bench = await startRouterBench({ items, ...options });
  t.after(() => bench.stop());
  return bench;
}

function point(bench: RouterBench, name: string, { id }: TestItem, ttlSeconds = 60): void {
  for (const gateway of bench.gateways) gateway.names.set(name, { id, ttlSeconds });
}

/** Content is known by the digests of the gateways alone, however late they are: a signature tells none beforehand. */
function tellDigests(bench: RouterBench): void {
  for (const gateway of bench.gateways) gateway.behaviour = { proofless: true };
}

for (const VERIFICATION_ENABLED of ['true', 'false']) {
  const how = VERIFICATION_ENABLED === 'true' ? 'with verification' : 'without verification';
  /** What a gateway says is passed on as it is. */
  const typeOf = ({ contentType }: TestItem): string =>
    VERIFICATION_ENABLED === 'true' ? withCharset(contentType) : contentType;

  test(`${how}: ranges, also of something below a manifest that was never asked for before`, async (t) => {
    for (const path of [`/${large.id}`, `/${manifest.id}/film.mp4`, `/${manifest.id}/`]) {
      for (const [range, start, end] of [
        ['bytes=2000000-2000009', 2_000_000, 2_000_010],
        ['bytes=2499990-', 2_499_990, 2_500_000],
        ['bytes=-7', 2_499_993, 2_500_000],
        ['bytes=0-0', 0, 1],
        ['bytes=2499999-9999999', 2_499_999, 2_500_000],
      ] as const) {
        const bench = await benchOf(t, { count: 1, environment: { VERIFICATION_ENABLED } });
        const got = await bench.get(path, { headers: { range } });
        assert.equal(got.status, 206, `${path} ${range}`);
        assert.equal(got.headers['content-range'], `bytes ${start}-${end - 1}/2500000`);
        assert.ok(got.body.equals(large.data.subarray(start, end)));
        await bench.stop();
        if (path !== `/${manifest.id}/film.mp4`) break;
      }
    }
    const bench = await benchOf(t, { count: 1, environment: { VERIFICATION_ENABLED } });
    const beyond = await bench.get(`/${small.id}`, { headers: { range: 'bytes=10-' } });
    assert.equal(beyond.status, 416);
    assert.equal(beyond.headers['content-range'], 'bytes */10');
    const malformed = await bench.get(`/${small.id}`, { headers: { range: 'lines=1-2' } });
    assert.equal(malformed.status, 200);
  });

  test(`${how}: conditions`, async (t) => {
    const bench = await benchOf(t, { environment: { VERIFICATION_ENABLED } });
    tellDigests(bench);
    const etag = `"${large.digest}"`;
    for (const path of [`/${large.id}`, `/${manifest.id}/film.mp4`]) {
      const same = await bench.get(path, { headers: { 'if-none-match': etag } });
      assert.equal(same.status, 304, path);
      assert.equal(same.body.length, 0);
      assert.equal(same.headers.etag, etag);
      const other = await bench.get(path, { headers: { 'if-none-match': '"other"' } });
      assert.equal(other.status, 200);
    }
  });

  test(`${how}: HEAD says what GET would, without a body`, async (t) => {
    const bench = await benchOf(t, { environment: { VERIFICATION_ENABLED } });
    tellDigests(bench);
    for (const [path, item] of [
      [`/${small.id}`, small],
      [`/${manifest.id}/film.mp4`, large],
      [`/raw/${manifest.id}`, manifest],
      [`/${nothing.id}`, nothing],
    ] as const) {
      for (const time of ['unknown', 'known']) {
        const head = await bench.get(path, { method: 'HEAD' });
        assert.equal(head.status, 200, `${path} ${time}`);
        assert.equal(head.body.length, 0);
        assert.equal(head.headers['content-length'], String(item.data.length));
        assert.equal(head.headers['content-type'], typeOf(item));
        assert.equal(head.headers['x-ar-io-digest'], item.digest);
        const got = await bench.get(path);
        assert.ok(got.body.equals(item.data));
        assert.equal(got.headers.etag, head.headers.etag);
      }
    }
    assert.equal((await bench.get(`/${'A'.repeat(43)}`, { method: 'HEAD' })).status, 404);
    assert.equal((await bench.get(`/${manifest.id}/gone.txt`)).status, 404);
    assert.equal((await bench.get(`/${manifest.id}/nowhere`)).status, 404);
    assert.equal((await bench.get(`/${manifest.id}//film.mp4`)).status, 404, 'a second slash is of the path');
    assert.equal((await bench.get(`/${small.id}/below`)).status, 404, 'there is nothing below a file');
  });

  test(`${how}: HEAD tells where an item lies in its bundle, as gateways do, and GET what HEAD told`, async (t) => {
    const bench = await benchOf(t, { environment: { VERIFICATION_ENABLED } });
    const place = {
      'x-ar-io-root-transaction-id': manifest.id,
      'x-ar-io-root-data-offset': '301',
      'x-ar-io-data-item-offset': '160',
    };
    const told = ({ headers }: { headers: Record<string, unknown> }) =>
      Object.fromEntries(Object.keys(place).map((name) => [name, headers[name]]));
    const nowhere = { ...place, 'x-ar-io-root-transaction-id': 'no id' };
    for (const gateway of bench.gateways) gateway.behaviour = { headers: nowhere };
    const wrong = await bench.get(`/${small.id}`, { method: 'HEAD' });
    assert.equal(
      wrong.headers['x-ar-io-root-transaction-id'],
      undefined,
      'what is no place is not passed on',
    );
    for (const gateway of bench.gateways) gateway.behaviour = { headers: place };
    for (const time of ['unknown', 'known']) {
      assert.deepEqual(told(await bench.get(`/${large.id}`, { method: 'HEAD' })), place, time);
      assert.deepEqual(told(await bench.get(`/${large.id}`)), place, time);
    }
    await bench.restart();
    // It is asked for again, and waited for only briefly.
    const again = async () => told(await bench.get(`/${large.id}`, { method: 'HEAD' }));
    for (let round = 0; round < 100; round += 1) {
      if (isDeepStrictEqual(await again(), place)) break;
      await sleep(100);
    }
    assert.deepEqual(await again(), place, 'after a restart too');
    for (const gateway of bench.gateways) gateway.behaviour = { status: 500 };
    const down = await bench.get(`/${large.id}`, { method: 'HEAD' });
    assert.deepEqual(
      [down.status, told(down)],
      VERIFICATION_ENABLED === 'true' ? [200, place] : [502, told(down)],
    );
  });

  test(`${how}: nothing at all is content too`, async (t) => {
    const bench = await benchOf(t, { environment: { VERIFICATION_ENABLED } });
    for (const path of [`/${nothing.id}`, `/${manifest.id}/empty.txt`, `/${nothing.id}`]) {
      const got = await bench.get(path);
      assert.equal(got.status, 200);
      assert.equal(got.headers['content-length'], '0');
      assert.equal(got.body.length, 0);
    }
  });
}

test('If-Range gives the part only of what it names', async (t) => {
  const bench = await benchOf(t);
  const ask = (value: string) =>
    bench.get(`/${small.id}`, { headers: { range: 'bytes=2-4', 'if-range': value } });
  for (let round = 0; round < 2; round += 1) {
    assert.equal((await ask(`"${small.digest}"`)).body.toString(), '234');
    assert.equal((await ask('"other"')).body.toString(), '0123456789');
  }
});

test('redirect mode sends readers to a gateway, at an origin of the content’s own where it has those', async (t) => {
  const bench = await benchOf(t, {
    environment: { DEFAULT_MODE: 'route', ALLOW_MODE_OVERRIDE: 'false' },
  });
  const stubs = bench.gateways.map(({ url }) => url).join(',');
  await bench.restart({
    ROUTING_STATIC_GATEWAYS: 'https://gw.example:8443',
    VERIFICATION_STATIC_GATEWAYS: stubs,
  });
  point(bench, 'site', manifest);
  assert.ok(isTxId(small.id));
  const byId = await bench.get(`/${small.id}/a%20b?x=1&mode=proxy`);
  assert.equal(byId.status, 302);
  assert.equal(
    byId.headers.location,
    `https://${sandboxLabel(small.id)}.gw.example:8443/${small.id}/a%20b?x=1&mode=proxy`,
    'mode is an ordinary parameter where it may not be chosen',
  );
  assert.equal(byId.headers['cache-control'], 'no-store');
  assert.equal(byId.headers['x-router-mode'], 'route');
  assert.equal(byId.headers['x-router-routed-via'], 'https://gw.example:8443');
  const byName = await bench.get('/film.mp4?y=2', { host: 'site.localhost' });
  assert.equal(byName.headers.location, 'https://site.gw.example:8443/film.mp4?y=2');
  assert.equal(byName.headers['x-arns-resolved-id'], manifest.id);
  assert.equal((await bench.get('/', { host: 'nobody.localhost' })).status, 404);
  assert.equal((await bench.get('/router/health')).status, 200);
});

test('the root host shows what it is told to, by id and by name, and keeps its own routes', async (t) => {
  for (const [content, environment] of [
    [manifest.id, {}],
    ['site', {}],
    ['site', { RESTRICT_TO_ROOT_HOST: 'true' }],
  ] as const) {
    const bench = await benchOf(t, { count: 1, environment: { ROOT_HOST_CONTENT: content, ...environment } });
    point(bench, 'site', manifest);
    const got = await bench.get('/film.mp4', { host: 'localhost' });
    assert.equal(got.status, 200);
    assert.ok(got.body.equals(large.data));
    assert.doesNotMatch(String(got.headers['cache-control']), /immutable/, 'it may be told something else');
    assert.equal((await bench.get('/info', { host: 'localhost' })).status, 404, 'a path of the site');
    assert.equal((await bench.get('/router/health', { host: 'localhost' })).json().status, 'healthy');
    const named = await bench.get('/film.mp4', { host: 'site.localhost' });
    const byId = await bench.get(`/${small.id}`, { host: 'localhost' });
    if ('RESTRICT_TO_ROOT_HOST' in environment) {
      assert.deepEqual([named.status, byId.status], [404, 404]);
      assert.equal(named.json().message, 'This router is configured to serve root domain content only.');
      const { endpoints } = (await bench.get('/router/info')).json();
      assert.equal((endpoints as { arns: unknown }).arns, null);
    } else assert.deepEqual([named.status, byId.status], [200, 200]);
    await bench.stop();
  }
});

test('info shows the addresses of a trusted proxy, and nobody else makes it show others', async (t) => {
  const bench = await benchOf(t, { count: 1, environment: { BASE_DOMAIN: 'gw.example' } });
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'gw.example' };
  const endpoints = async () => {
    const got = await bench.get('/router/info', { host: '127.0.0.1:3000', headers: forwarded });
    const { arns, txid } = got.json().endpoints as { arns: string; txid: string };
    return [arns, txid];
  };
  assert.deepEqual(await endpoints(), ['http://{arnsName}.gw.example:3000', 'http://127.0.0.1:3000/{txId}']);
  await bench.restart({ TRUSTED_PROXIES: '127.0.0.1' });
  assert.deepEqual(await endpoints(), ['https://{arnsName}.gw.example', 'https://gw.example/{txId}']);
});

test('while a list of gateways cannot be read, health says so and what is used instead', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  assert.ok(!('network' in (await bench.get('/router/health')).json()));
  const [stub] = bench.gateways;
  await bench.restart({
    ROUTING_GATEWAY_SOURCE: 'network',
    NETWORK_REGISTRY_URL: `${stub?.url}/registry?key=secret`,
    NETWORK_FALLBACK_GATEWAYS: stub?.url ?? '',
  });
  const { status, degraded, network } = (await bench.get('/router/health')).json();
  assert.deepEqual([status, degraded], ['healthy', true]);
  assert.deepEqual(network, { gatewayCount: 1, fetchFailures: 1, lastError: `${stub?.url} answered 404` });
});

test('a name that moves while its content is on its way poisons nothing', async (t) => {
  const bench = await benchOf(t, { environment: { ARNS_CACHE_TTL_MS: '0' } });
  const other = await testItem(Buffer.alloc(2_000_000, 'other '), 'text/html');
  for (const gateway of bench.gateways) {
    gateway.items.set(other.id, other);
    gateway.behaviour = { pace: { bytes: 400_000, everyMs: 20 } };
  }
  point(bench, 'site', large);
  const first = bench.get('/', { host: 'site.localhost' });
  while (bench.gateways.every((gateway) => gateway.count(/GET \/raw/) === 0)) await new Promise(setImmediate);
  point(bench, 'site', other);
  point(bench, 'twin', other);
  const [got, twin] = await Promise.all([first, bench.get('/', { host: 'twin.localhost' })]);
  assert.ok(got.body.equals(large.data), 'what was begun is finished as it was');
  assert.equal(got.headers['x-arns-resolved-id'], large.id);
  assert.ok(twin.body.equals(other.data));
  for (const item of [large, other]) {
    const byId = await bench.get(`/${item.id}`);
    assert.ok(byId.body.equals(item.data));
    assert.equal(byId.headers['content-type'], withCharset(item.contentType));
    assert.equal(byId.headers['x-arns-name'], undefined);
    assert.match(String(byId.headers['cache-control']), /immutable/);
  }
});

test('a circuit that is half open takes one request as a probe, however many there are', async (t) => {
  const environment = {
    ROUTING_STRATEGY: 'fastest',
    CIRCUIT_BREAKER_THRESHOLD: '1',
    CIRCUIT_BREAKER_RESET_MS: '150',
    VERIFICATION_ENABLED: 'false',
  };
  // A gateway that is well and late is overtaken by whoever is left.
  await whileAwake(100, async () => {
    const bench = await benchOf(t, { count: 2, environment });
    const [sick, well] = bench.gateways;
    assert.ok(sick !== undefined && well !== undefined);
    sick.behaviour = { status: 500 };
    well.behaviour = { delayMs: 5 };
    const opened = async () =>
      ((await bench.get('/router/ready')).json().gateways as { circuitOpen: number }).circuitOpen;
    while ((await opened()) === 0) assert.equal((await bench.get(`/${small.id}`)).status, 200);
    while ((await opened()) === 1) await sleep(10);
    sick.requests.length = 0;
    sick.behaviour = { stalled: true };
    const all = await Promise.all(Array.from({ length: 12 }, () => bench.get(`/${small.id}`)));
    assert.ok(all.every(({ status }) => status === 200));
    assert.ok(sick.requests.length <= 1, `${sick.requests.length} requests went to it`);
    sick.dropConnections();
  });
});

test('a second gateway is asked when the first takes longer than usual, and it is counted', async (t) => {
  const bench = await benchOf(t, { count: 2, environment: { ROUTING_STRATEGY: 'round-robin' } });
  for (const gateway of bench.gateways.slice(0, 1)) gateway.behaviour = { stalled: true };
  for (const item of [small, nothing]) assert.equal((await bench.get(`/${item.id}`)).status, 200);
  const metrics = (await bench.get('/router/metrics')).body.toString();
  assert.match(metrics, /router_hedged_requests_total\{won="true"\} [1-9]/);
  bench.gateways[0]?.dropConnections();
});

test('gateways that ask for time are given it, and are no failures', async (t) => {
  const environment = { VERIFICATION_ENABLED: 'false', ROUTING_STRATEGY: 'round-robin' };
  const bench = await benchOf(t, { count: 2, environment });
  const [busy] = bench.gateways;
  assert.ok(busy !== undefined);
  busy.behaviour = { status: 429, headers: { 'retry-after': '60' } };
  for (let round = 0; round < 6; round += 1) assert.equal((await bench.get(`/${small.id}`)).status, 200);
  assert.equal(busy.requests.length, 1, 'asked once, then left alone');
  const detail = await bench.get(`/router/stats/gateways/${encodeURIComponent(busy.url)}`);
  const { hourlyStats } = detail.json() as { hourlyStats: { serverErrors: number }[] };
  assert.equal(hourlyStats[0]?.serverErrors ?? 0, 0);
});

test('the only gateway is asked for other content while it is busy with some, not while it counts requests', async (t) => {
  for (const [status, then] of [
    [503, 200],
    [429, 503],
  ] as const) {
    const bench = await benchOf(t, { count: 1, environment: { VERIFICATION_ENABLED: 'false' } });
    const [only] = bench.gateways;
    assert.ok(only !== undefined);
    only.behaviour = { status, headers: { 'retry-after': '60' } };
    for (let round = 0; round < 4; round += 1) await bench.get(`/${large.id}`);
    only.behaviour = {};
    assert.equal((await bench.get(`/${small.id}`)).status, then, `after ${status}`);
  }
});

test('too many at once are told to come back', async (t) => {
  const bench = await benchOf(t, { count: 1, environment: { MAX_CONCURRENT_REQUESTS: '2' } });
  const [gateway] = bench.gateways;
  assert.ok(gateway !== undefined);
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  gateway.behaviour = { until };
  let answered = 0;
  const all = [small, large, nothing, manifest].map(async ({ id }) => {
    const got = await bench.get(`/raw/${id}`);
    answered += 1;
    return got;
  });
  while (answered < 2) await sleep(5);
  release();
  const shed = (await Promise.all(all)).filter(({ status }) => status === 503);
  assert.equal(shed.length, 2);
  for (const one of shed) {
    assert.equal(one.json().error, 'OVERLOADED');
    assert.equal(one.headers['retry-after'], '1');
  }
  assert.equal((await bench.get('/router/health')).status, 200);
});
