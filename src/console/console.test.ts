import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveState, ServiceHealth, SessionInfo } from './api.ts';
import { addressOf } from './forward.ts';
import { ConsoleState } from './state.ts';
import { type StandInRequest, startConsole, startStandIn } from './testing.ts';

const key = 'the-operators-own-key';
const away = 'http://127.0.0.1:9';

/** A service whose routes for operators take the key. */
function service({ request, response, path, body }: StandInRequest): void {
  const isAdmin = /^\/(?:gw\/admin|v1\/admin|api)\//.test(path);
  if (isAdmin && request.headers.authorization !== `Bearer ${key}`)
    response.writeHead(401).end('"Unauthorized"');
  else if (path.startsWith('/gw/admin/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
  } else if (path.startsWith('/gw/admin/large')) response.end(Buffer.alloc(17 * 1024 * 1024));
  else if (path === '/v1/admin/state') response.end('{"problems":["the wallet is empty"]}');
  else if (isAdmin) {
    const { authorization, cookie, origin } = request.headers;
    response
      .writeHead(path.includes('teapot') ? 418 : 200, {
        'set-cookie': 'a=b',
        'content-type': 'application/json',
      })
      .end(JSON.stringify({ path, body, method: request.method, authorization, cookie, origin }));
  } else response.writeHead(404).end();
}

async function signedIn(ask: Awaited<ReturnType<typeof startConsole>>['ask']): Promise<string> {
  const opened = await ask('/api/session', { body: JSON.stringify({ key }) });
  assert.equal(opened.status, 200, opened.text);
  return String(opened.headers['set-cookie']).split(';')[0] ?? '';
}

test('only the page of this console is answered', async (t) => {
  const gateway = await startStandIn(t, service);
  const { ask, url } = await startConsole(t, { services: { gateway: gateway.url } });
  const own = new URL(url).host;
  const cookie = await signedIn(ask);
  const asked = gateway.asked.length;
  const refused = [
    { fromPage: false },
    { headers: { origin: 'https://evil.example' } },
    { headers: { origin: 'null' } },
    // Another port of this machine is the same site and another origin.
    { headers: { origin: 'http://127.0.0.1:1' } },
    { headers: { 'sec-fetch-site': 'same-site' } },
    { headers: { 'sec-fetch-site': 'cross-site' } },
    { headers: { 'sec-fetch-site': 'none' } },
  ];
  for (const path of ['/api/live', '/api/session', '/api/operator/gateway/debug', '/api/local/reset']) {
    for (const options of refused) {
      const headers = { cookie, ...options.headers };
      const answer = await ask(path, { ...options, headers });
      assert.equal(answer.status, 403, `${path} ${JSON.stringify(options)}`);
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
    }
    for (const host of ['evil.example', 'console.localhost', `${'a'.repeat(52)}.localhost:4000`]) {
      assert.equal((await ask(path, { host, headers: { cookie } })).status, 421, `${path} at ${host}`);
    }
  }
  assert.equal(gateway.asked.length, asked, 'nothing was passed on');
  const preflight = await ask('/api/session', { method: 'OPTIONS', fromPage: false });
  assert.notEqual(preflight.status, 204);
  const headers = { cookie, origin: `http://${own}`, 'sec-fetch-site': 'same-origin' };
  assert.equal((await ask('/api/operator/gateway/debug', { headers })).status, 200);
});

test('names of CONSOLE_HOSTS are the console’s too, whatever their case', async (t) => {
  const { ask } = await startConsole(t, {
    services: {},
    environment: { CONSOLE_HOSTS: 'console.example' },
  });
  assert.equal((await ask('/api/session', { host: 'Console.Example:443' })).status, 200);
  assert.equal((await ask('/api/session', { host: 'other.example' })).status, 421);
});

test('a key becomes a session of the services that take it, and is never told again', async (t) => {
  const [gateway, payment] = [await startStandIn(t, service), await startStandIn(t, service)];
  const router = await startStandIn(t, ({ response }) => response.writeHead(403).end());
  const { ask } = await startConsole(t, {
    services: { gateway: gateway.url, payment: payment.url, upload: away, router: router.url },
    routerAdmin: router.url,
  });
  const none = { operator: { gateway: false, payment: false, upload: false, router: false }, until: null };
  assert.deepEqual((await ask('/api/session')).json(), { ...none, ownKeys: false });
  assert.equal((await ask('/api/operator/gateway/debug')).status, 401);

  assert.equal((await ask('/api/session', { body: '{"key":"wrong"}' })).status, 403);
  assert.equal((await ask('/api/session', { body: '{"key":"a\\r\\nb"}' })).status, 403);
  assert.equal((await ask('/api/session', { body: '{"own":true}' })).status, 403, 'not its own to give');
  for (const body of ['{}', '{"key":""}', '{"key":1}', '{"key":"k","for":["card"]}', 'no json'])
    assert.equal((await ask('/api/session', { body })).status, 400, body);

  const opened = await ask('/api/session', { body: JSON.stringify({ key }) });
  const info = opened.json() as SessionInfo;
  assert.deepEqual(info.operator, { gateway: true, payment: true, upload: false, router: false });
  assert.ok((info.until ?? 0) > Date.now() + 29 * 60_000);
  assert.match(String(opened.headers['set-cookie']), /HttpOnly; SameSite=Strict/);
  assert.ok(!opened.text.includes(key));
  assert.equal(opened.headers['cache-control'], 'no-store');

  const cookie = String(opened.headers['set-cookie']).split(';')[0] ?? '';
  const ended = await ask('/api/session', { method: 'DELETE', headers: { cookie } });
  assert.match(String(ended.headers['set-cookie']), /Max-Age=0/);
  assert.equal((await ask('/api/operator/gateway/debug', { headers: { cookie } })).status, 401);
});

test('a key is shown to nobody but whom it is for', async (t) => {
  const [gateway, payment] = [await startStandIn(t, service), await startStandIn(t, service)];
  const { ask } = await startConsole(t, { services: { gateway: gateway.url, payment: payment.url } });
  const opened = await ask('/api/session', { body: JSON.stringify({ key, for: ['gateway'] }) });
  assert.deepEqual((opened.json() as SessionInfo).operator.payment, false);
  assert.deepEqual(payment.asked, []);
});

test('whoever guesses keys is stopped', async (t) => {
  const gateway = await startStandIn(t, service);
  const { ask } = await startConsole(t, { services: { gateway: gateway.url } });
  const statuses: number[] = [];
  for (let index = 0; index < 12; index += 1)
    statuses.push((await ask('/api/session', { body: `{"key":"guess ${index}"}` })).status);
  assert.deepEqual(statuses, [...Array(10).fill(403), 429, 429]);
});

test('what an operator asks goes to the service with the key, and nothing of the page', async (t) => {
  const gateway = await startStandIn(t, service);
  const { ask } = await startConsole(t, { services: { gateway: gateway.url, upload: away } });
  const cookie = await signedIn(ask);
  const headers = { cookie };
  const answer = await ask('/api/operator/gateway/block-data?x=1', { headers, body: '{"id":"a"}' });
  assert.deepEqual(answer.json(), {
    path: '/gw/admin/block-data?x=1',
    body: '{"id":"a"}',
    method: 'POST',
    authorization: `Bearer ${key}`,
  });
  assert.equal(answer.headers['set-cookie'], undefined, 'a service sets no cookie here');
  assert.equal((await ask('/api/operator/gateway/teapot', { headers })).status, 418);
  assert.equal((await ask('/api/operator/payment/state', { headers })).status, 401, 'no key for it');
  assert.equal((await ask('/api/operator/gateway/large', { headers })).status, 502);
  assert.equal((await ask('/api/operator/gateway/x', { headers, body: 'x'.repeat(65_537) })).status, 413);
  const events = await ask('/api/operator/gateway/events', { headers, untilText: 'data: 1' });
  assert.match(String(events.headers['content-type']), /text\/event-stream/);
  for (const path of ['../info', '%2e%2e/info', '..%2finfo', 'a/../../info', '\\..\\info'])
    assert.equal((await ask(`/api/operator/gateway/${path}`, { headers })).status, 404, path);
  assert.ok(!gateway.asked.some((path) => path.includes('info')));
});

test('the path stays below its base however it is spelled', () => {
  const base = 'http://127.0.0.1:4000/gw/admin';
  assert.equal(addressOf({ base, path: 'a/b?c=../d' }), `${base}/a/b?c=../d`);
  assert.equal(addressOf({ base, path: '?a=1' }), `${base}?a=1`);
  assert.equal(addressOf({ base, path: '' }), base);
  for (const path of ['..', '../x', '.%2e/x', 'a/%2E%2E/x', '%2fx', 'a//../../../x', 'a\\b', '#x', 'a b'])
    assert.throws(() => addressOf({ base, path }), path);
});

test('health is told with reasons, also those that only operators hear', async (t) => {
  const gateway = await startStandIn(t, (asked) => {
    if (asked.path !== '/gw/healthcheck') return service(asked);
    asked.response.writeHead(503).end('{"status":"unhealthy","reasons":["the disk is full"]}');
  });
  const upload = await startStandIn(t, service);
  const { ask } = await startConsole(t, {
    services: { gateway: gateway.url, upload: upload.url, payment: away },
  });
  assert.equal((await ask('/api/operator/health')).status, 401);
  const cookie = await signedIn(ask);
  const health = (await ask('/api/operator/health', { headers: { cookie } })).json() as ServiceHealth[];
  const told = Object.fromEntries(
    health.map(({ name, up, problems, ready }) => [name, { up, problems, ready }]),
  );
  assert.deepEqual(told.gateway, { up: false, problems: ['the disk is full'], ready: false });
  assert.deepEqual(told.upload, { up: true, problems: ['the wallet is empty'], ready: undefined });
  assert.deepEqual(told.payment, { up: false, problems: [], ready: false });
});

test('services that are away, or that tell nothing, are shown as unknown', async (t) => {
  const stranger = await startStandIn(t, ({ response }) => response.writeHead(404).end('<html>no'));
  const { ask } = await startConsole(t, {
    services: { gateway: stranger.url, payment: stranger.url, upload: away },
  });
  const { text } = await ask('/api/live', { untilText: '\n\n' });
  const state: LiveState = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '');
  assert.deepEqual(
    Object.entries(state.services).map(([name, { up }]) => [name, up]),
    [
      ['gateway', true],
      ['payment', true],
      ['upload', false],
    ],
  );
  const { height, waitingItems, names, readsPerSecond } = state;
  assert.deepEqual(
    [height, waitingItems, names, readsPerSecond],
    [undefined, undefined, undefined, undefined],
  );
});

test('streams end when the console stops, and sessions outlive it', async (t) => {
  const gateway = await startStandIn(t, service);
  const state = new ConsoleState();
  const first = await startConsole(t, { services: { gateway: gateway.url }, state });
  const cookie = await signedIn(first.ask);
  const [, id = ''] = cookie.split('=');
  const watched = first.ask('/api/live');
  const events = first.ask('/api/operator/gateway/events', { headers: { cookie } });
  await first.ask('/api/live', { untilText: '\n\n' });
  const began = performance.now();
  await first.stop();
  assert.ok(performance.now() - began < 1_000, 'nothing waits for a stream');
  assert.match((await watched).text, /event: state/);
  await events.catch(() => {});
  const second = await startConsole(t, { services: { gateway: gateway.url }, state });
  const port = new URL(second.url).port;
  const headers = { cookie: `turnpike-console-${port}=${id}` };
  assert.equal((await second.ask('/api/operator/gateway/debug', { headers })).status, 200);
});

test('of the local network only what is listed is passed on, and in no other world anything', async (t) => {
  const arweave = await startStandIn(t, ({ response, path, body }) =>
    response.end(JSON.stringify({ path, body })),
  );
  const card = await startStandIn(t, ({ request, response, path }) =>
    response.end(JSON.stringify({ path, key: request.headers.authorization })),
  );
  const ownKeys = async () => ({ operator: {}, card: 'sk_test' });
  const services = { arweave: arweave.url, card: card.url };
  const { ask } = await startConsole(t, { services, ownKeys });
  assert.deepEqual((await ask('/api/local')).json(), { path: '/local', body: '' });
  assert.deepEqual((await ask('/api/local/mine', { body: '{"blocks":2}' })).json(), {
    path: '/local/mine',
    body: '{"blocks":2}',
  });
  assert.deepEqual((await ask('/api/local/card/events?limit=5')).json(), {
    path: '/v1/events?limit=5',
    key: 'Bearer sk_test',
  });
  assert.deepEqual((await ask('/api/local/card/events/evt_1/resend', { method: 'POST' })).json(), {
    path: '/test/events/evt_1/resend',
    key: 'Bearer sk_test',
  });
  const before = arweave.asked.length + card.asked.length;
  for (const path of ['/api/local/card/v1/refunds', '/api/local/arweave/mint/a/1', '/api/local/x402/faults'])
    assert.notEqual((await ask(path, { method: 'POST' })).status, 200, path);
  assert.notEqual((await ask('/api/local/reset')).status, 200, 'what acts is no GET');
  assert.equal(arweave.asked.length + card.asked.length, before);

  const elsewhere = await startConsole(t, { services, environment: { WORLD: 'testnet' } });
  const answer = await elsewhere.ask('/api/local/reset', { method: 'POST' });
  assert.ok(answer.status === 404 || answer.status === 405, String(answer.status));
  assert.equal(arweave.asked.length + card.asked.length, before);
});
