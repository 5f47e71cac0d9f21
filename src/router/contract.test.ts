/** Every route of the contract (interface §4.5) with its exact bodies, words and status codes. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { lintExposition } from '../../test/support/metrics-lint.ts';
import { humanDuration } from './routes/health.ts';
import { type GetOptions, type RouterBench, startRouterBench } from './testing/router-bench.ts';
import { type TestItem, testItem } from './testing/stub-gateway.ts';

const token = 'a-token-for-the-contract';
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the contract of the router', () => {
  let bench: RouterBench;
  let item: TestItem;
  let gateway: string;
  before(async () => {
    item = await testItem('for the contract');
    bench = await startRouterBench({
      items: [item],
      environment: { MODERATION_ENABLED: 'true', MODERATION_ADMIN_TOKEN: token, ADMIN_TOKEN: 'a'.repeat(20) },
    });
    for (const stub of bench.gateways) stub.names.set('flip', { id: item.id, ttlSeconds: 60 });
    await bench.get(`/${item.id}`);
    await bench.get(`/${item.id}`);
    gateway = bench.gateways[0]?.url ?? '';
  });
  after(() => bench.stop());

  const json = async (path: string, options: GetOptions = {}) => {
    const got = await bench.get(path, options);
    assert.equal(got.headers['content-type'], 'application/json; charset=utf-8', path);
    // What wants a token is for no page elsewhere.
    const isOpen = !/\/moderation\/(?!check\/)/.test(path);
    assert.equal(got.headers['access-control-allow-origin'], isOpen ? '*' : undefined, path);
    return { status: got.status, body: got.json(), headers: got.headers };
  };
  const keys = (value: unknown) => Object.keys(value as object);

  test('GET /router/health', async () => {
    const { status, body } = await json('/router/health');
    assert.equal(status, 200);
    assert.deepEqual(keys(body), ['status', 'uptime', 'version']);
    assert.equal(body.status, 'healthy');
    const { ms, human } = body.uptime as { ms: number; human: string };
    assert.ok(Number.isInteger(ms) && ms >= 0);
    assert.equal(human, humanDuration(ms));
    assert.deepEqual([2_366, 62_000, 3_723_000, 90_061_000].map(humanDuration), [
      '2s',
      '1m 2s',
      '1h 2m 3s',
      '1d 1h 1m',
    ]);
  });

  test('GET /router/ready', async () => {
    const gateways = { total: 3, healthy: 3, unhealthy: 0, circuitOpen: 0, maxGateways: 1000 };
    assert.deepEqual((await json('/router/ready')).body, { status: 'ready', gateways });
  });

  test('GET /gw/healthcheck', async () => {
    for (const path of ['/gw/healthcheck', '/ar-io/healthcheck']) {
      const { status, body } = await json(path);
      assert.equal(status, 200);
      assert.deepEqual(keys(body), ['status', 'uptime', 'date', 'reasons']);
      assert.equal(body.status, 'ok');
      assert.equal(typeof body.uptime, 'number');
      assert.match(String(body.date), isoTime);
      assert.deepEqual(body.reasons, []);
    }
  });

  test('GET /router/metrics', async () => {
    const got = await bench.get('/router/metrics');
    assert.match(String(got.headers['content-type']), /^text\/plain; version=0\.0\.4/);
    const text = got.body.toString();
    assert.deepEqual(lintExposition(text), []);
    for (const family of [
      'router_upstream_attempts_total',
      'router_upstream_ttfb_seconds_total',
      'router_first_picks_total',
      'router_hedges_sent_total',
      'router_hedged_requests_total',
      'router_gateway_lies_total',
      'router_gateway_quarantined',
      'router_gateway_list_failed_reads',
      'router_verifications_total',
      'router_arns_resolutions_total',
      'router_arns_consensus_mismatch_total',
      'router_arns_cache_size',
      'router_cache_hits_total',
      'router_cache_misses_total',
      'router_cache_corruption_total',
      'router_cache_evictions_total',
      'router_cache_bytes',
      'router_cache_entries',
      'router_blocked_requests_total',
      'router_rate_limited_total',
      'router_shed_total',
      'router_telemetry_dropped_total',
      'router_blocklist_reload_failures_total',
      'router_gateways',
      'router_gateways_healthy',
      'router_gateways_circuit_open',
      'router_http_in_flight',
      'router_draining',
    ]) {
      assert.match(text, new RegExp(`^# TYPE ${family} (counter|gauge|histogram)$`, 'm'), family);
    }
    assert.match(text, /^router_cache_hits_total 1$/m);
    assert.match(text, /^router_cache_misses_total 1$/m);
  });

  test('GET /router/stats/gateways', async () => {
    const { status, body } = await json('/router/stats/gateways');
    assert.equal(status, 200);
    assert.deepEqual(keys(body), ['period', 'gateways', 'count']);
    assert.deepEqual(body.period, { start: 'last 24 hours', end: 'now' });
    const gateways = body.gateways as Record<string, unknown>[];
    assert.equal(body.count, gateways.length);
    assert.deepEqual(keys(gateways[0]), [
      'gateway',
      'period',
      'totalRequests',
      'successfulRequests',
      'bytesServed',
      'successRate',
      'verificationSuccessRate',
      'consensusAgreementRate',
      'errorRate',
      'avgLatencyMs',
      'p50LatencyMs',
      'p95LatencyMs',
      'p99LatencyMs',
      'hoursActive',
      'hoursMissing',
      'availabilityRate',
    ]);
    const totals = gateways.map(({ totalRequests }) => Number(totalRequests));
    assert.deepEqual(
      totals,
      totals.toSorted((a, b) => b - a),
      'busiest first',
    );
    const period = gateways[0]?.period as { start: string; end: string };
    assert.match(period.start, isoTime);
    assert.equal(Date.parse(period.end) - Date.parse(period.start), 86_400_000);
    const cache = gateways.find((one) => one.gateway === 'cache');
    assert.deepEqual([cache?.totalRequests, cache?.bytesServed], [1, item.data.length]);
    const past = await json('/router/stats/gateways?start=2020-01-01T00:00:00Z&end=2020-01-02T00:00:00Z');
    assert.deepEqual(past.body, {
      period: { start: '2020-01-01T00:00:00Z', end: '2020-01-02T00:00:00Z' },
      gateways: [],
      count: 0,
    });
    for (const query of [
      'start=yesterday',
      'end=1',
      'start=2020-01-02&end=2020-01-01',
      'start=2020-13-45',
      'start=2020-01-01&start=2020-01-02',
    ]) {
      for (const path of ['/router/stats/gateways', '/router/stats/export']) {
        const bad = await json(`${path}?${query}`);
        assert.deepEqual([bad.status, bad.body], [400, { error: 'Invalid time range' }], query);
      }
    }
  });

  test('GET /router/stats/gateways/list', async () => {
    const gateways = ['cache', ...bench.gateways.map(({ url }) => url)].sort();
    assert.deepEqual((await json('/router/stats/gateways/list')).body, { gateways, count: 4 });
  });

  test('GET /router/stats/gateways/:gateway', async () => {
    const { body } = await json(`/router/stats/gateways/${encodeURIComponent(gateway)}`);
    assert.deepEqual(keys(body), ['gateway', 'period', 'summary', 'hourlyStats']);
    assert.equal(body.gateway, gateway);
    assert.deepEqual(keys(body.summary), [
      'totalRequests',
      'successfulRequests',
      'verificationSuccess',
      'verificationFailed',
      'bytesServed',
      'latencySum',
      'latencyCount',
      'successRate',
      'avgLatencyMs',
    ]);
    const [hour] = body.hourlyStats as Record<string, unknown>[];
    assert.deepEqual(keys(hour).toSorted(), [
      'bytesServed',
      'clientErrors',
      'connectionErrors',
      'consensusAgreements',
      'consensusDisagreements',
      'consensusParticipations',
      'gateway',
      'hourBucket',
      'latencyBuckets',
      'latencyCount',
      'latencySum',
      'serverErrors',
      'successfulRequests',
      'timeouts',
      'totalRequests',
      'verificationAttempts',
      'verificationFailed',
      'verificationSkipped',
      'verificationSuccess',
    ]);
    assert.match(String(hour?.hourBucket), /:00:00\.000Z$/);
    assert.ok(keys(hour?.latencyBuckets).every((name) => /^le_(\d+|inf)$/.test(name)));
    const { host } = new URL(gateway);
    assert.equal((await json(`/router/stats/gateways/${host}`)).body.gateway, gateway, 'by its host');
    assert.equal((await json('/router/stats/gateways/cache')).body.gateway, 'cache');
    const none = await json('/router/stats/gateways/nope');
    assert.deepEqual(
      [none.status, none.body],
      [404, { error: 'Gateway not found or no data', gateway: 'nope' }],
    );
    const bad = await json('/router/stats/gateways/%E0%A4%A');
    assert.deepEqual([bad.status, bad.body], [400, { error: 'Invalid gateway parameter encoding' }]);
  });

  test('GET /router/stats/export', async () => {
    const { body } = await json('/router/stats/export?format=xml');
    assert.deepEqual(keys(body), ['exportedAt', 'period', 'routerInfo', 'gateways', 'totals']);
    assert.deepEqual(keys(body.routerInfo), ['routerId', 'version', 'baseDomain']);
    assert.deepEqual(keys(body.totals), [
      'totalRequests',
      'totalBytesServed',
      'totalGateways',
      'activeGateways',
    ]);
    const sum = (body.gateways as { totalRequests: number }[]).reduce(
      (all, one) => all + one.totalRequests,
      0,
    );
    assert.equal((body.totals as { totalRequests: number }).totalRequests, sum);
    const csv = await bench.get('/router/stats/export?format=csv');
    assert.match(String(csv.headers['content-type']), /^text\/csv/);
    assert.match(
      String(csv.headers['content-disposition']),
      /^attachment; filename="gateway-stats-[\w.-]+\.csv"$/,
    );
    const lines = csv.body.toString().split('\n');
    assert.equal(lines.length, 5, 'a head, three gateways and the cache, no empty line at the end');
    assert.equal(
      lines[0],
      'gateway,total_requests,successful_requests,bytes_served,success_rate,verification_success_rate,avg_latency_ms,availability_rate',
    );
    for (const line of lines.slice(1)) {
      assert.match(line, /^[^,]+,\d+,\d+,\d+,\d\.\d{4},\d\.\d{4},\d+\.\d\d,\d\.\d{4}$/);
    }
  });

  test('GET /router/info', async () => {
    const { body } = await json('/router/info');
    for (const name of [
      'name',
      'version',
      'uptime',
      'mode',
      'baseDomain',
      'endpoints',
      'verification',
      'routing',
    ]) {
      assert.ok(name in body, name);
    }
    assert.equal(body.mode, 'proxy');
    const { port } = new URL(bench.router.url);
    assert.deepEqual(body.endpoints, {
      arns: `http://{arnsName}.localhost:${port}`,
      txid: `http://127.0.0.1:${port}/{txId}`,
      health: '/router/health',
      ready: '/router/ready',
      metrics: '/router/metrics',
      stats: '/router/stats/gateways',
      info: '/router/info',
    });
    assert.equal((body.verification as { consensusThreshold: number }).consensusThreshold, 2);
    const text = JSON.stringify(body);
    assert.ok(!text.includes(token) && !text.includes(bench.dataDir) && !text.includes('a'.repeat(20)));
    for (const path of ['/router', '/']) assert.deepEqual(keys((await json(path)).body), keys(body), path);
    const { txid, arns } = body.endpoints as { txid: string; arns: string };
    const byId = new URL(txid.replace('{txId}', item.id));
    assert.equal((await bench.get(byId.pathname, { host: byId.host })).status, 200, 'the address works');
    const byName = new URL(arns.replace('{arnsName}', 'flip'));
    assert.equal((await bench.get('/', { host: byName.host })).status, 200, 'and that of a name');
  });

  const bearer = { authorization: `Bearer ${token}` };
  const post = (path: string, body: unknown) =>
    json(`/router/moderation${path}`, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  test('moderation: who may', async () => {
    for (const [method, path] of [
      ['POST', '/block'],
      ['GET', '/blocklist'],
      ['GET', '/stats'],
      ['DELETE', '/block/arns/x'],
      ['POST', '/reload'],
    ] as const) {
      const without = await json(`/router/moderation${path}`, { method });
      assert.deepEqual(
        [without.status, without.body],
        [401, { error: 'Authorization header required' }],
        path,
      );
      assert.equal(without.headers['www-authenticate'], 'Bearer');
    }
    const wrong = await json('/router/moderation/stats', { headers: { authorization: 'Basic x' } });
    assert.deepEqual([wrong.status, wrong.body], [403, { error: 'Invalid authorization token' }]);
    const lower = await json('/router/moderation/stats', { headers: { authorization: `bearer ${token}` } });
    assert.equal(lower.status, 200);
    const inUrl = await json(`/router/moderation/stats?token=${token}`);
    assert.equal(inUrl.status, 401, 'a token in an address is none');
  });

  test('moderation: block, list, check, stats, unblock, reload', async () => {
    const empty = await post('/block', '');
    assert.deepEqual([empty.status, empty.body], [400, { error: 'Invalid JSON body' }]);
    const broken = await post('/block', '{');
    assert.deepEqual([broken.status, broken.body], [400, { error: 'Invalid JSON body' }]);
    assert.equal(
      (await post('/block', { type: 'arns', value: 'x', reason: 'r'.repeat(17_000) })).status,
      413,
    );
    assert.equal((await post('/block', { type: 'arns', value: 'x', reason: 'r'.repeat(1_025) })).status, 400);

    const blocked = await post('/block', { type: 'arns', value: 'Flip', reason: 'because' });
    assert.deepEqual(
      [blocked.status, blocked.body],
      [
        200,
        {
          success: true,
          blocked: { type: 'arns', value: 'Flip', resolvedTxId: item.id, purgedFromCache: true },
        },
      ],
    );
    const again = await post('/block', { type: 'arns', value: 'FLIP', reason: 'again' });
    assert.deepEqual(again.body, {
      success: true,
      blocked: { type: 'arns', value: 'FLIP', purgedFromCache: false },
    });

    const { body: list } = await json('/router/moderation/blocklist', { headers: bearer });
    const [entry] = list.entries as Record<string, unknown>[];
    assert.equal(list.total, 1);
    assert.match(String(entry?.blockedAt), isoTime);
    const { blockedAt: _, ...rest } = entry ?? {};
    assert.deepEqual(rest, {
      type: 'arns',
      value: 'flip',
      reason: 'because',
      blockedBy: 'api',
      resolvedTxId: item.id,
    });
    const ofType = async (type: string) =>
      (await json(`/router/moderation/blocklist?type=${type}`, { headers: bearer })).body.total;
    assert.deepEqual([await ofType('arns'), await ofType('txid')], [1, 0]);

    const check = (path: string, headers = {}) => json(`/router/moderation/check/${path}`, { headers });
    assert.deepEqual((await check('arns/FLIP')).body, { type: 'arns', value: 'FLIP', blocked: true });
    assert.deepEqual((await check('arns/FLIP', bearer)).body.entry, entry);
    assert.deepEqual((await check(`txid/${item.id}`, bearer)).body, {
      type: 'txid',
      value: item.id,
      blocked: true,
    });
    assert.deepEqual((await check('arns/other')).body, { type: 'arns', value: 'other', blocked: false });
    const odd = await check('name/x');
    assert.deepEqual([odd.status, odd.body], [400, { error: "Invalid type. Must be 'arns' or 'txid'" }]);
    const nothing = await check('arns/');
    assert.deepEqual([nothing.status, nothing.body], [400, { error: 'Value is required' }]);

    const { body: stats } = await json('/router/moderation/stats', { headers: bearer });
    assert.deepEqual(keys(stats), ['totalEntries', 'arnsCount', 'txIdCount', 'lastUpdated', 'filePath']);
    assert.deepEqual([stats.totalEntries, stats.arnsCount, stats.txIdCount], [1, 1, 1]);

    const remove = (path: string) =>
      json(`/router/moderation/block/${path}`, { method: 'DELETE', headers: bearer });
    const unblocked = await remove('arns/FLIP');
    assert.deepEqual(
      [unblocked.status, unblocked.body],
      [200, { success: true, unblocked: { type: 'arns', value: 'FLIP' } }],
    );
    const gone = await remove('arns/FLIP');
    assert.deepEqual([gone.status, gone.body], [404, { error: 'Content not found in blocklist' }]);
    assert.equal((await remove('name/x')).status, 400);

    const reload = await json('/router/moderation/reload', { method: 'POST', headers: bearer });
    assert.equal(reload.status, 200);
    assert.deepEqual(keys(reload.body), ['success', 'message', 'stats']);
    assert.equal(reload.body.message, 'Blocklist reloaded');
    // Clients name a type also where there is no body.
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const headers = { ...bearer, 'content-type': type, 'content-length': '0' };
      const typed = await json('/router/moderation/reload', { method: 'POST', headers });
      assert.deepEqual([type, typed.status], [type, 200]);
      const absent = await json('/router/moderation/block/arns/flip', { method: 'DELETE', headers });
      assert.deepEqual([type, absent.status], [type, 404]);
    }
  });

  test('what is not there says so, below every prefix', async () => {
    for (const path of [
      '/router/nothing',
      '/gw/nothing',
      '/wayfinder/x/y',
      '/ar-io/peers',
      '/router/health/x',
    ]) {
      const { status, body } = await json(`${path}?a=1`);
      assert.deepEqual([status, body], [404, { error: 'Not Found', path }]);
    }
  });
});

test('without telemetry its routes say so, and a database that fails says no more than that', async (t) => {
  const off = await startRouterBench({ count: 1, environment: { TELEMETRY_ENABLED: 'false' } });
  t.after(() => off.stop());
  const broken = await startRouterBench({
    count: 1,
    environment: { TELEMETRY_DB_PATH: '/dev/null/telemetry.db' },
  });
  t.after(() => broken.stop());
  for (const [path, failure] of [
    ['/router/stats/gateways', 'Failed to retrieve stats'],
    ['/router/stats/gateways/list', 'Failed to retrieve stats'],
    [`/router/stats/gateways/x`, 'Failed to retrieve gateway stats'],
    ['/router/stats/export', 'Failed to export data'],
  ]) {
    const none = await off.get(path ?? '');
    assert.deepEqual([none.status, none.json()], [503, { error: 'Telemetry not enabled' }], path);
    const failed = await broken.get(path ?? '');
    assert.deepEqual([failed.status, failed.json()], [500, { error: failure }], path);
  }
});

test('a router that is not ready says why', async (t) => {
  const bench = await startRouterBench({ count: 1, environment: { CIRCUIT_BREAKER_THRESHOLD: '1' } });
  t.after(() => bench.stop());
  const [stub] = bench.gateways;
  if (stub !== undefined) stub.behaviour = { status: 500 };
  await bench.get(`/${'A'.repeat(43)}`);
  const got = await bench.get('/router/ready');
  assert.equal(got.status, 503);
  assert.deepEqual(got.json(), {
    status: 'not_ready',
    reason: 'No healthy gateways available',
    gateways: { total: 1, healthy: 0, unhealthy: 1, circuitOpen: 1, maxGateways: 1000 },
  });
  assert.equal((await bench.get('/router/health')).status, 200, 'the process runs all the same');
});
