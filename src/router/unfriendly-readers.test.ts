import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { behave, benchOf, download, inTurn, large, readiness, small } from './testing/faulty-gateways.ts';

test('ranges and conditions of things that are not cached hurt no gateway', async (t) => {
  const bench = await benchOf(t);
  const range = await bench.get(`/${large.id}`, { headers: { range: 'bytes=0-99' } });
  assert.equal(range.status, 206);
  assert.ok(range.body.equals(large.data.subarray(0, 100)));
  const condition = await bench.get(`/${small.id}`, { headers: { 'if-none-match': `"${small.digest}"` } });
  assert.equal(condition.status, 304);
  assert.equal(await readiness(bench), 200);
});

test('who asks about content that is on its way is told its hash, as soon as that is known', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  behave(bench, { pace: { bytes: 500_000, everyMs: 20 } });
  const reading = download(bench, large);
  while (bench.gateways[0]?.count(/GET \/raw/) === 0) await new Promise(setImmediate);
  const head = await bench.get(`/${large.id}`, { method: 'HEAD' });
  assert.equal(head.headers['x-ar-io-digest'], large.digest);
  assert.equal(head.headers['x-router-verified'], 'true');
  assert.equal(head.headers['content-length'], String(large.data.length));
  assert.ok((await reading)?.body.equals(large.data));
});

test('a gateway that sends for ever is cut off', async (t) => {
  const bench = await benchOf(t, { environment: inTurn });
  // Its length is what the others say: a signature would say none.
  const proofless = { proofless: true };
  behave(bench, { endless: true, ...proofless }, proofless, proofless);
  const got = await bench.get(`/${small.id}`);
  assert.equal(got.status, 200);
  assert.ok(got.body.equals(small.data));
});

test('probes and scrapers may call the router by any name but that of content', async (t) => {
  const bench = await benchOf(t, { environment: { BASE_DOMAIN: 'router.example' } });
  for (const path of [
    '/router/health',
    '/router/ready',
    '/router/metrics',
    '/router/info',
    '/gw/healthcheck',
  ]) {
    assert.equal((await bench.get(path, { host: 'router-1:3000' })).status, 200, path);
    assert.equal((await bench.get(path, { host: 'nobody.router.example' })).status, 404, path);
  }
  for (const path of ['/router/nothing', '/', '/info', `/${small.id}`]) {
    assert.equal((await bench.get(path, { host: 'router-1:3000' })).status, 404, path);
  }
});

test('hostile hosts, paths and heads are refused without harm', async (t) => {
  const bench = await benchOf(t, { environment: { BASE_DOMAIN: 'router.example' } });
  for (const host of [
    'evil.example',
    'a.b.router.example',
    'x@router.example',
    'router.example.evil',
    '-'.repeat(80),
  ]) {
    assert.equal((await bench.get(`/${small.id}`, { host })).status, 404, host);
  }
  const asPage = { host: 'router.example', headers: { accept: 'text/html' } };
  const moved = await bench.get(`/${small.id}?a=1`, asPage);
  assert.equal(moved.status, 302);
  assert.match(
    String(moved.headers.location),
    new RegExp(`^//[a-z2-7]{52}\\.router\\.example/${small.id}\\?a=1$`),
  );
  const sandbox = new URL(`http:${moved.headers.location}`).host;
  assert.equal((await bench.get(`/${small.id}`, { host: sandbox })).status, 200);
  assert.equal(
    (await bench.get(`/${large.id}`, { host: sandbox })).status,
    302,
    'another id has another origin',
  );
  assert.equal((await bench.get('/app.js', { host: sandbox })).status, 404);
  for (const head of [
    'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nX: y\nSmuggled: z\r\n\r\n',
  ]) {
    const socket = connect(Number(new URL(bench.router.url).port), '127.0.0.1');
    socket.write(head);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 4\d\d /);
    socket.destroy();
  }
  assert.equal((await bench.get('/router/health')).status, 200);
});

test('a forged X-Forwarded-For gives no new allowance', async (t) => {
  const bench = await benchOf(t, {
    environment: { RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_MAX_REQUESTS: '3', RATE_LIMIT_WINDOW_MS: '600000' },
  });
  const statuses: number[] = [];
  for (let index = 0; index < 5; index += 1) {
    const headers = { 'x-forwarded-for': `10.0.0.${index}` };
    statuses.push((await bench.get(`/${small.id}`, { headers })).status);
  }
  assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
  assert.equal((await bench.get('/gw/healthcheck')).status, 200, 'health is never limited');
});

test('GraphQL counts as what a reader asks for', async (t) => {
  const bench = await benchOf(t, {
    environment: { RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_MAX_REQUESTS: '3', RATE_LIMIT_WINDOW_MS: '600000' },
  });
  const ask = () =>
    bench.get('/graphql', {
      method: 'POST',
      body: JSON.stringify({ query: '{}', variables: { id: small.id } }),
      headers: { 'content-type': 'application/json' },
    });
  const statuses = [];
  for (let round = 0; round < 5; round += 1) statuses.push((await ask()).status);
  assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
});

test('what the router says about itself is limited too, but for what balancers and scrapers ask', async (t) => {
  const bench = await benchOf(t, {
    environment: { RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_MAX_REQUESTS: '2', RATE_LIMIT_WINDOW_MS: '600000' },
  });
  const paths = [
    '/router/stats/gateways',
    '/router/info',
    '/router/stats/export',
    '/router/stats/gateways/list',
  ];
  const statuses = [];
  for (const path of paths) statuses.push((await bench.get(path)).status);
  assert.deepEqual(statuses, [200, 200, 429, 429]);
  const check = await bench.get(`/router/moderation/check/txid/${small.id}`);
  assert.equal(check.status, 429);
  assert.ok(Number(check.headers['retry-after']) > 0);
  for (const path of ['/router/health', '/router/ready', '/router/metrics', '/gw/healthcheck']) {
    assert.equal((await bench.get(path)).status, 200, path);
  }
});

test('a name cannot poison what is cached under an id', async (t) => {
  const bench = await benchOf(t);
  for (const gateway of bench.gateways) gateway.names.set('mine', { id: small.id, ttlSeconds: 60 });
  await bench.get('/', { host: 'mine.localhost' });
  const byId = await bench.get(`/${small.id}`);
  assert.equal(byId.headers['x-arns-name'], undefined);
  assert.match(String(byId.headers['cache-control']), /immutable/);
  const byName = await bench.get('/', { host: 'mine.localhost' });
  assert.match(String(byName.headers['cache-control']), /must-revalidate/);
});

test('thousands of ids that nobody has leave the router as it was', { timeout: 600_000 }, async (t) => {
  const bench = await benchOf(t, { count: 1, environment: { TELEMETRY_ENABLED: 'false' } });
  const ids = Array.from({ length: 1_000 }, (_, index) =>
    Buffer.alloc(32, `${index} `).toString('base64url'),
  );
  let next = 0;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
        assert.equal((await bench.get(`/${id}`)).status, 404);
      }
    }),
  );
  assert.equal(await readiness(bench), 200);
  assert.equal((await bench.get(`/${small.id}`)).status, 200);
});

test('without verification the gateway’s answer is passed on, ranges included', async (t) => {
  const bench = await benchOf(t, { environment: { VERIFICATION_ENABLED: 'false' } });
  const whole = await bench.get(`/${large.id}`);
  assert.equal(whole.headers['x-router-verified'], 'false');
  assert.ok(whole.body.equals(large.data));
  const range = await bench.get(`/${large.id}`, { headers: { range: 'bytes=5-14' } });
  assert.equal(range.status, 206);
  assert.ok(range.body.equals(large.data.subarray(5, 15)));
  behave(bench, { resetAfter: 100_000 }, { resetAfter: 100_000 }, { resetAfter: 100_000 });
  assert.equal(await download(bench, large), undefined, 'a body that breaks off is cut');
});

for (const [how, headers, environment] of [
  ['with verification', '', {}],
  ['with verification', 'range: bytes=2000000-2000009\r\n', {}],
  ['without verification', '', { VERIFICATION_ENABLED: 'false' }],
] as const) {
  const what = headers === '' ? '' : ', of which it wanted a part';
  test(`${how}, nothing is fetched for a reader that left before the answer began${what}`, async (t) => {
    const bench = await benchOf(t, { count: 1, environment });
    const [gateway] = bench.gateways;
    assert.ok(gateway !== undefined);
    const cutOff = new Promise<void>((resolve) => gateway.onClose(resolve));
    behave(bench, { delayMs: 300, pace: { bytes: 10_000, everyMs: 20 } });
    const { hostname, port } = new URL(bench.router.url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET /${large.id} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`);
    while (gateway.count(/GET \/raw/) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    socket.destroy();
    await cutOff;
  });
}
