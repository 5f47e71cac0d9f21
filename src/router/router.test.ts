import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type RouterBench, startRouterBench } from './testing/router-bench.ts';
import { type TestItem, testItem } from './testing/stub-gateway.ts';

describe('a router between three honest gateways', () => {
  let bench: RouterBench;
  let hello: TestItem;
  let large: TestItem;
  let page: TestItem;
  let site: TestItem;
  before(async () => {
    hello = await testItem('hello router');
    large = await testItem(Buffer.alloc(3_000_000, 'turnpike '), 'video/mp4');
    page = await testItem('<h1>page</h1>', 'text/html');
    site = await testItem(
      JSON.stringify({
        manifest: 'arweave/paths',
        version: '0.2.0',
        index: { path: 'index.html' },
        fallback: { id: hello.id },
        paths: { 'index.html': { id: page.id }, 'a b/ü.txt': { id: hello.id }, 'big.mp4': { id: large.id } },
      }),
      'application/x.arweave-manifest+json',
    );
    bench = await startRouterBench({ items: [hello, large, page, site] });
    for (const gateway of bench.gateways) gateway.names.set('site', { id: site.id, ttlSeconds: 60 });
  });
  after(() => bench.stop());

  test('serves an id, proven by the other gateways, and keeps it', async () => {
    // A quorum that is late would find the signature before it.
    for (const gateway of bench.gateways) gateway.behaviour = { proofless: true };
    const first = await bench.get(`/${hello.id}`);
    assert.equal(first.status, 200);
    assert.equal(first.body.toString(), 'hello router');
    assert.equal(first.headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal(first.headers['x-router-verified'], 'true');
    assert.equal(first.headers['x-router-verification-method'], 'quorum');
    assert.match(String(first.headers['x-router-verification-time-ms']), /^[0-9]+$/);
    assert.equal(String(first.headers['x-router-verified-by']).split(', ').length, 2);
    assert.ok(
      !String(first.headers['x-router-verified-by']).includes(String(first.headers['x-router-routed-via'])),
    );
    assert.equal(first.headers['x-cache'], 'MISS');
    const second = await bench.get(`/${hello.id}`);
    assert.equal(second.headers['x-cache'], 'HIT');
    assert.equal(second.headers['x-router-routed-via'], 'cache');
    assert.deepEqual(second.body, first.body);
    assert.equal(second.headers['x-ar-io-digest'], hello.digest);
    assert.equal(second.headers.etag, `"${hello.digest}"`);
    for (const gateway of bench.gateways) gateway.behaviour = {};
  });

  test('streams large content while it is checked, then serves ranges of it', async () => {
    const whole = await bench.get(`/${large.id}`);
    assert.equal(whole.status, 200);
    assert.ok(whole.body.equals(large.data));
    const range = await bench.get(`/${large.id}`, { headers: { range: 'bytes=1000000-1000099' } });
    assert.equal(range.status, 206);
    assert.equal(range.headers['content-range'], 'bytes 1000000-1000099/3000000');
    assert.ok(range.body.equals(large.data.subarray(1_000_000, 1_000_100)));
    const several = await bench.get(`/${large.id}`, { headers: { range: 'bytes=0-9,100-109' } });
    assert.equal(several.status, 206);
    assert.match(String(several.headers['content-type']), /^multipart\/byteranges/);
    const beyond = await bench.get(`/${large.id}`, { headers: { range: 'bytes=3000000-' } });
    assert.equal(beyond.status, 416);
    assert.equal(beyond.headers['content-range'], 'bytes */3000000');
  });

  test('answers conditions and HEAD', async () => {
    const etag = `"${hello.digest}"`;
    assert.equal((await bench.get(`/${hello.id}`, { headers: { 'if-none-match': etag } })).status, 304);
    const head = await bench.get(`/${hello.id}`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.headers['content-length'], '12');
    assert.equal(head.body.length, 0);
  });

  test('resolves manifests from proven bytes', async () => {
    const folder = await bench.get(`/${site.id}?x=1`);
    assert.equal(folder.status, 301);
    assert.equal(folder.headers.location, `/${site.id}/?x=1`);
    const index = await bench.get(`/${site.id}/`);
    assert.equal(index.body.toString(), '<h1>page</h1>');
    assert.equal(index.headers['x-router-manifest-txid'], site.id);
    assert.equal(index.headers['x-router-txid'], page.id);
    const file = await bench.get(`/${site.id}/a%20b/%C3%BC.txt?y=2`);
    assert.equal(file.body.toString(), 'hello router');
    const fallback = await bench.get(`/${site.id}/nowhere`);
    assert.equal(fallback.body.toString(), 'hello router');
    assert.match(String(fallback.headers['cache-control']), /max-age=60/);
    assert.equal((await bench.get(`/${site.id}/%zz`)).status, 400);
    const raw = await bench.get(`/raw/${site.id}`);
    assert.ok(raw.body.equals(site.data));
  });

  test('serves a name at its own host, with the paths below it', async () => {
    const index = await bench.get('/', { host: 'site.localhost' });
    assert.equal(index.status, 200);
    assert.equal(index.body.toString(), '<h1>page</h1>');
    assert.equal(index.headers['x-arns-resolved-id'], site.id);
    assert.match(String(index.headers['cache-control']), /max-age=\d+, must-revalidate/);
    const own = await bench.get('/router/health', { host: 'site.localhost' });
    assert.equal(own.body.toString(), 'hello router', 'the fallback: the path belongs to the site');
    const missing = await bench.get('/', { host: 'nobody.localhost' });
    assert.equal(missing.status, 404);
    assert.equal(missing.json().error, 'ARNS_RESOLUTION_FAILED');
  });

  test('sends readers on in route mode, without its own parameter', async () => {
    const sent = await bench.get(`/${hello.id}?mode=route&smoke=1`);
    assert.equal(sent.status, 302);
    assert.match(String(sent.headers.location), new RegExp(`^http://127.0.0.1:\\d+/${hello.id}\\?smoke=1$`));
    assert.equal(sent.headers['x-router-mode'], 'route');
    const named = await bench.get('/x?mode=route', { host: 'site.localhost' });
    assert.match(String(named.headers.location), new RegExp(`/${site.id}/x$`));
  });

  test('says that content is absent only when nobody has it, and holds it against no gateway', async () => {
    for (let round = 0; round < 5; round += 1) {
      const absent = await bench.get(`/${'A'.repeat(43)}`);
      assert.equal(absent.status, 404);
      assert.equal(absent.json().error, 'CONTENT_NOT_FOUND');
    }
    assert.equal((await bench.get('/router/ready')).status, 200);
    const other = await bench.get(`/${hello.id.slice(0, 42)}_`);
    assert.equal(other.status, 400, 'another spelling of an id is none');
  });

  test('answers every management route', async () => {
    const health = await bench.get('/router/health');
    assert.equal(health.json().status, 'healthy');
    const ready = (await bench.get('/router/ready')).json();
    assert.deepEqual(ready, {
      status: 'ready',
      gateways: { total: 3, healthy: 3, unhealthy: 0, circuitOpen: 0, maxGateways: 1000 },
    });
    assert.equal((await bench.get('/gw/healthcheck')).json().status, 'ok');
    assert.equal((await bench.get('/ar-io/healthcheck')).json().status, 'ok');
    assert.equal((await bench.get('/wayfinder/health')).json().status, 'healthy');
    assert.match((await bench.get('/router/metrics')).body.toString(), /router_upstream_attempts_total/);
    const stats = (await bench.get('/router/stats/gateways')).json();
    assert.equal(stats.count, 4, 'three gateways and the cache');
    const list = (await bench.get('/router/stats/gateways/list')).json();
    assert.deepEqual(list.gateways, ['cache', ...bench.gateways.map(({ url }) => url).sort()]);
    const url = bench.gateways[0]?.url ?? '';
    const one = await bench.get(`/router/stats/gateways/${encodeURIComponent(url)}`);
    assert.equal(one.json().gateway, url);
    assert.equal((await bench.get('/router/stats/gateways/nope')).status, 404);
    assert.equal((await bench.get('/router/stats/gateways?start=yesterday')).status, 400);
    const csv = await bench.get('/router/stats/export?format=csv');
    assert.match(csv.body.toString(), /^gateway,total_requests,/);
    assert.match(
      String(csv.headers['content-disposition']),
      /^attachment; filename="gateway-stats-[^:]+\.csv"$/,
    );
    const exported = (await bench.get('/router/stats/export')).json();
    assert.ok('totals' in exported && 'routerInfo' in exported);
    const info = (await bench.get('/router/info')).json();
    assert.equal(info.mode, 'proxy');
    assert.deepEqual(Object.keys((await bench.get('/')).json()), Object.keys(info));
    const moderation = await bench.get('/router/moderation/check/arns/anything');
    assert.equal(moderation.json().blocked, false);
    const unknown = await bench.get('/router/unknown');
    assert.deepEqual(unknown.json(), { error: 'Not Found', path: '/router/unknown' });
  });

  test('reads content with GET and HEAD only', async () => {
    const posted = await bench.get(`/${hello.id}`, { method: 'POST', body: 'x' });
    assert.equal(posted.status, 405);
    assert.equal(posted.headers.allow, 'GET, HEAD, OPTIONS');
  });

  test('proves what it kept again after a restart', async () => {
    await bench.restart();
    const again = await bench.get(`/${hello.id}`);
    assert.equal(again.headers['x-cache'], 'HIT');
    assert.equal(again.body.toString(), 'hello router');
  });
});

test('fetches once for many who ask together', async (t) => {
  const item = await testItem('asked by twenty');
  // Where there is a second gateway it is asked too, as soon as the first takes longer than usual.
  const bench = await startRouterBench({ items: [item], count: 1 });
  t.after(() => bench.stop());
  const all = await Promise.all(Array.from({ length: 20 }, () => bench.get(`/${item.id}`)));
  assert.ok(all.every(({ status, body }) => status === 200 && body.equals(item.data)));
  assert.equal(bench.gateways[0]?.count(new RegExp(`GET /raw/${item.id}`)), 1);
});

test('a chain read that one gateway cannot answer yet is answered by another', async (t) => {
  const servers = await Promise.all(
    [404, 200].map(async (status) => {
      const server = createServer((_request, response) => response.writeHead(status).end('7'));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.after(() => {
        server.close();
        server.closeAllConnections();
      });
      return server;
    }),
  );
  const others = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const environment = { ROUTING_STRATEGY: 'round-robin' };
  const bench = await startRouterBench({ count: 0, others, environment });
  t.after(() => bench.stop());
  for (let round = 0; round < 4; round += 1) {
    const got = await bench.get(`/tx/${'A'.repeat(43)}/status`);
    assert.deepEqual([got.status, got.body.toString()], [200, '7']);
  }
  const without = await startRouterBench({ count: 0, others: others.slice(0, 1), environment });
  t.after(() => without.stop());
  assert.equal((await without.get('/tx_anchor?x=1')).status, 404);
  assert.equal((await without.get('/tx_anchor?x=1')).json().path, '/tx_anchor');
});

test('a router that cannot resolve names is not ready', async (t) => {
  const bench = await startRouterBench({
    count: 3,
    environment: { CIRCUIT_BREAKER_THRESHOLD: '1', ROUTING_STRATEGY: 'round-robin' },
  });
  t.after(() => bench.stop());
  const ready = async () => {
    const { status, json } = await bench.get('/router/ready');
    return { status, reason: json().reason };
  };
  assert.equal((await ready()).status, 200);
  for (const gateway of bench.gateways.slice(0, 2)) gateway.behaviour = { status: 500 };
  for (let round = 0; round < 3; round += 1) await bench.get('/height');
  assert.deepEqual(await ready(), {
    status: 503,
    reason: 'Too few verification gateways available to resolve names',
  });
});
