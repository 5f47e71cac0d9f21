import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { AuditLine } from '../../kernel/audit-log.ts';
import { type GetOptions, get, type RouterBench, startRouterBench } from '../testing/router-bench.ts';
import { type TestItem, testItem } from '../testing/stub-gateway.ts';
import { createAdminGuard } from './guard.ts';

const token = 'an operator’s long token'.replaceAll(/[^a-z]/g, '-');
let bench: RouterBench;
let item: TestItem;
before(async () => {
  item = await testItem('for the operator');
  bench = await startRouterBench({
    items: [item],
    environment: {
      ADMIN_TOKEN: token,
      MODERATION_ADMIN_TOKEN: 'm'.repeat(20),
      UPLOAD_URL: 'https://uzer7:pazz7@fallback.example/k3y-of-uploads?query-k3y',
      GATEWAY_URL: 'https://gateway.example/k3y-of-gateway',
    },
  });
});
after(() => bench.stop());

const admin = (path: string, options: GetOptions = {}) => get(bench.router.adminUrl ?? '', path, options);
const signed = (options: GetOptions = {}): GetOptions => ({
  ...options,
  headers: { authorization: `Bearer ${token}`, ...options.headers },
});
const posted = (body: unknown): GetOptions =>
  signed({ method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });

test('the page loads nothing from elsewhere and cannot be framed or read by other pages', async () => {
  const document = (await admin('/')).body.toString();
  const files = [...document.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  assert.deepEqual(
    files.map((path) => path.split('.').at(-1)),
    ['css', 'js'],
  );
  for (const path of ['/', ...files]) {
    const got = await admin(path);
    assert.equal(got.status, 200);
    assert.match(String(got.headers['content-security-policy']), /default-src 'none'; script-src 'self'/);
    assert.equal(got.headers['access-control-allow-origin'], undefined);
    assert.doesNotMatch(got.body.toString(), /https?:\/\/(?!www\.w3\.org)/);
    assert.equal((await admin(path, { method: 'HEAD' })).status, 200, 'and probes may ask for it');
  }
  assert.equal((await admin('/assets/other.js')).status, 404);
});

test('every call needs the token', async () => {
  assert.equal((await admin('/api/status')).status, 401);
  assert.equal((await admin('/api/status', { headers: { authorization: 'Bearer wrong' } })).status, 403);
  assert.equal((await admin('/api/status', signed())).status, 200);
  assert.equal((await admin(`/api/status?token=${token}`)).status, 401, 'a token in an address is none');
  assert.equal((await admin('/api/status', { headers: { cookie: `token=${token}` } })).status, 401);
  const form = { method: 'POST', body: `token=${token}`, headers: { 'content-type': 'text/plain' } } as const;
  assert.equal((await admin('/api/moderation/block', form)).status, 401, 'a form of another page has none');
});

test('requests of other origins and rebound names are refused, with the token too', async () => {
  for (const headers of [
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'null' },
  ] as Record<string, string>[]) {
    const got = await admin('/api/status', signed({ headers }));
    assert.equal(got.status, 403);
    assert.equal(got.headers['access-control-allow-origin'], undefined);
  }
  assert.equal((await admin('/api/status', signed({ host: 'evil.example:3001' }))).status, 403);
  const block = posted({ type: 'txid', value: item.id, reason: 'x' });
  const crossed = await admin('/api/moderation/block', {
    ...block,
    headers: { ...block.headers, origin: 'https://evil.example' },
  });
  assert.equal(crossed.status, 403);
  assert.equal((await bench.get(`/${item.id}`)).status, 200, 'nothing was blocked');
});

test('the views say what is going on', async () => {
  await bench.get(`/${item.id}`);
  const status = (await admin('/api/status', signed())).json();
  assert.deepEqual(status.problems, []);
  const gateways = (await admin('/api/gateways', signed())).json();
  assert.equal(gateways.total, 3);
  const telemetry = (await admin('/api/telemetry?range=6h', signed())).json();
  assert.equal(telemetry.enabled, true);
  assert.equal((await admin('/api/telemetry?range=2y', signed())).status, 400);
  const config = (await admin('/api/config', signed())).body.toString();
  assert.ok(config.includes('ROUTING_STRATEGY'));
  assert.ok(!config.includes(token) && !config.includes('m'.repeat(20)), 'no secret is shown');
  assert.ok(config.includes('https://(hidden)@fallback.example/(hidden)'), config);
  // Longer than what a folder made for this run may have in its name.
  assert.doesNotMatch(config, /uzer7|pazz7|k3y-of|query-k3y/, 'nor a key in an address');
});

test('the operator quarantines and releases a gateway, and sees who says what about a name', async () => {
  const gateway = bench.gateways[0]?.url;
  assert.equal((await admin('/api/gateways/quarantine', posted({ gateway }))).json().state, 'quarantined');
  assert.equal(((await bench.get('/router/ready')).json().gateways as Record<string, number>).healthy, 2);
  assert.equal((await admin('/api/gateways/release', posted({ gateway }))).json().state, 'healthy');
  bench.gateways[1]?.names.set('who', { id: item.id, ttlSeconds: 60 });
  const { ballots } = (await admin('/api/names/who', signed())).json();
  assert.equal((ballots as unknown[]).length, 3);
});

test('the operator blocks and unblocks, and it is written down', async () => {
  assert.equal((await bench.get(`/${item.id}`)).status, 200);
  const blocked = await admin(
    '/api/moderation/block',
    posted({ type: 'txid', value: item.id, reason: 'law' }),
  );
  assert.deepEqual(blocked.json(), { ok: true, purgedFromCache: true });
  assert.equal((await bench.get(`/${item.id}`)).status, 403);
  const unblocked = await admin('/api/moderation/unblock', posted({ type: 'txid', value: item.id }));
  assert.deepEqual(unblocked.json(), { ok: true, removed: true });
  assert.equal((await bench.get(`/${item.id}`)).status, 200);
  const { audit } = (await admin('/api/moderation', signed())).json();
  assert.deepEqual(
    (audit as AuditLine[]).map(({ action, who, via, value, result }) => [action, who, via, value, result]),
    ['unblock', 'block', 'release', 'quarantine'].map((action) => [
      action,
      `key ${hash('sha256', token, 'hex').slice(0, 8)}`,
      'admin',
      action.endsWith('block') ? item.id : undefined,
      'done',
    ]),
  );
});

test('an admin page on an IPv6 address is reached by that address', () => {
  const guard = createAdminGuard('fd00::1', () => token);
  // Without a socket: not every machine has IPv6.
  const asked = (host: string) => () => guard.checkOrigin({ headers: { host } });
  assert.doesNotThrow(asked('[fd00::1]:3001'));
  assert.doesNotThrow(asked('localhost:3001'));
  assert.throws(asked('[fd00::2]:3001'));
});
