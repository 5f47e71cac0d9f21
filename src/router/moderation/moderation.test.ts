import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { type GetOptions, type RouterBench, startRouterBench } from '../testing/router-bench.ts';
import { type TestItem, testItem } from '../testing/stub-gateway.ts';

const token = 'moderation-token-of-the-test';
let bench: RouterBench;
let item: TestItem;
let site: TestItem;
let path: string;
before(async () => {
  item = await testItem('a file');
  site = await testItem(
    JSON.stringify({ manifest: 'arweave/paths', version: '0.1.0', paths: { 'file.txt': { id: item.id } } }),
    'application/x.arweave-manifest+json',
  );
  bench = await startRouterBench({
    items: [item, site],
    environment: { MODERATION_ADMIN_TOKEN: token },
  });
  path = join(bench.dataDir, 'blocklist.json');
  for (const gateway of bench.gateways) {
    gateway.names.set('flip', { id: item.id, ttlSeconds: 60 });
    gateway.names.set('sub_flip', { id: site.id, ttlSeconds: 60 });
    gateway.names.set('other', { id: item.id, ttlSeconds: 60 });
  }
});
after(() => bench.stop());

const call = (url: string, options: GetOptions & { json?: unknown } = {}) =>
  bench.get(`/router/moderation${url}`, {
    ...options,
    ...(options.json === undefined ? {} : { method: 'POST' as const, body: JSON.stringify(options.json) }),
    headers: {
      authorization: `Bearer ${token}`,
      ...(options.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
  });
const statusOf = async (url: string, host?: string) =>
  (await bench.get(url, host === undefined ? {} : { host })).status;
test('the token is needed for everything but the check', async () => {
  const without = await bench.get('/router/moderation/blocklist');
  assert.equal(without.status, 401);
  assert.deepEqual(without.json(), { error: 'Authorization header required' });
  assert.equal(without.headers['www-authenticate'], 'Bearer');
  const wrong = await bench.get('/router/moderation/stats', { headers: { authorization: 'Bearer no' } });
  assert.equal(wrong.status, 403);
  assert.deepEqual(wrong.json(), { error: 'Invalid authorization token' });
  assert.equal((await bench.get(`/router/moderation/check/txid/${item.id}`)).status, 200);
});

test('a request that is wrong is told why and blocks nothing', async () => {
  const reason = 'because';
  for (const [json, error] of [
    [{ type: 'x', value: 'a', reason }, "Invalid type. Must be 'arns' or 'txid'"],
    [{ type: 'arns', reason }, 'Value is required'],
    [{ type: 'arns', value: 'a' }, 'Reason is required'],
    [{ type: 'txid', value: 'short', reason }, 'Invalid transaction ID format (must be 43 base64url chars)'],
    [
      { type: 'txid', value: `${item.id.slice(0, 42)}_`, reason },
      'Invalid transaction ID format (must be 43 base64url chars)',
    ],
    [[], 'Invalid JSON body'],
  ] as const) {
    const got = await call('/block', { json });
    assert.equal(got.status, 400);
    assert.deepEqual(got.json(), { error });
  }
  const broken = await call('/block', {
    method: 'POST',
    body: '{',
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(broken.status, 400);
  assert.equal((await call('/blocklist')).json().total, 0);
});

test('6: a blocked id is unreachable by id, by every name and through manifests, cached or not', async () => {
  // Several times, so that it is in every cache there is.
  for (let round = 0; round < 3; round += 1) {
    for (const path of [`/${item.id}`, `/raw/${item.id}`, `/${site.id}/file.txt`]) {
      assert.equal(await statusOf(path), 200);
    }
    assert.equal(await statusOf('/file.txt', 'sub_flip.localhost'), 200);
  }
  const got = await call('/block', { json: { type: 'txid', value: item.id, reason: 'test' } });
  assert.deepEqual(got.json(), {
    success: true,
    blocked: { type: 'txid', value: item.id, purgedFromCache: true },
  });
  const refused = await bench.get(`/${item.id}`);
  assert.equal(refused.status, 403);
  assert.deepEqual(refused.json(), {
    error: 'Forbidden',
    message: 'This content is not available',
    code: 'CONTENT_BLOCKED',
  });
  assert.equal(refused.headers['cache-control'], 'no-store');
  for (const [url, host] of [
    [`/raw/${item.id}`, undefined],
    [`/${item.id}?mode=route`, undefined],
    [`/${site.id}/file.txt`, undefined],
    ['/', 'flip.localhost'],
    ['/', 'other.localhost'],
    ['/file.txt', 'sub_flip.localhost'],
  ] as const) {
    assert.equal(await statusOf(url, host), 403, `${host} ${url}`);
  }
  const check = (await call(`/check/txid/${item.id}`)).json();
  assert.equal(check.blocked, true);
  assert.equal((check.entry as Record<string, unknown>).blockedBy, 'api');
  const open = (await bench.get(`/router/moderation/check/txid/${item.id}`)).json();
  assert.deepEqual(open, { type: 'txid', value: item.id, blocked: true }, 'why is not for everybody');
  const again = await call('/block', { json: { type: 'txid', value: item.id, reason: 'again' } });
  assert.equal((again.json().blocked as Record<string, unknown>).purgedFromCache, false);
  assert.equal((await call(`/block/txid/${item.id}`, { method: 'DELETE' })).status, 200);
  assert.equal(await statusOf(`/${item.id}`), 200);
  assert.equal((await call(`/block/txid/${item.id}`, { method: 'DELETE' })).status, 404);
});

test('6: a blocked manifest takes the paths below it with it, also those that were read before', async () => {
  for (let round = 0; round < 3; round += 1) assert.equal(await statusOf(`/${site.id}/file.txt`), 200);
  await call('/block', { json: { type: 'txid', value: site.id, reason: 'test' } });
  assert.equal(await statusOf(`/${site.id}/file.txt`), 403);
  assert.equal(await statusOf(`/${item.id}`), 200, 'the file itself is not blocked');
  assert.equal((await call(`/block/txid/${site.id}`, { method: 'DELETE' })).status, 200);
  assert.equal(await statusOf(`/${site.id}/file.txt`), 200);
});

test('6: the data of a blocked id is no chain read either, however the id is written', async () => {
  const path = `/tx/${item.id}/data`;
  assert.equal(await statusOf(path), 404, 'passed on to gateways that have no such route');
  await call('/block', { json: { type: 'txid', value: item.id, reason: 'test' } });
  assert.equal(await statusOf(path), 403);
  assert.equal(await statusOf(`/tx/${item.id}`), 403);
  const asked = bench.gateways.reduce((sum, gateway) => sum + gateway.count(/^GET \/tx\//), 0);
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = last[last.indexOf(item.id.slice(-1)) + 1] ?? '';
  assert.equal(await statusOf(`/tx/${item.id.slice(0, 42)}${other}/data`), 400, 'another spelling of it');
  assert.equal(
    bench.gateways.reduce((sum, gateway) => sum + gateway.count(/^GET \/tx\//), 0),
    asked,
  );
  await call(`/block/txid/${item.id}`, { method: 'DELETE' });
});

test('6: what is blocked while its content is on its way is not begun to be sent', async () => {
  const fetched = await testItem('fetched while it was blocked');
  const page = await testItem(
    JSON.stringify({ manifest: 'arweave/paths', version: '0.1.0', paths: { a: { id: fetched.id } } }),
    'application/x.arweave-manifest+json',
  );
  for (const gateway of bench.gateways) {
    for (const one of [fetched, page]) gateway.items.set(one.id, one);
    gateway.names.set('page', { id: page.id, ttlSeconds: 60 });
  }
  assert.equal(await statusOf(`/raw/${page.id}`), 200);
  const blocked = Promise.withResolvers<void>();
  for (const gateway of bench.gateways) gateway.behaviour = { until: blocked.promise };
  const asked = () => bench.gateways.some((gateway) => gateway.count(new RegExp(fetched.id)) > 0);
  const reading = statusOf(`/${page.id}/a`);
  await eventually('a gateway is asked', async () => asked());
  await call('/block', { json: { type: 'txid', value: page.id, reason: 'test' } });
  blocked.resolve();
  assert.equal(await reading, 403, 'the manifest it was reached by is blocked');
  for (const gateway of bench.gateways) gateway.behaviour = {};
  await call(`/block/txid/${page.id}`, { method: 'DELETE' });
  assert.equal(await statusOf(`/${page.id}/a`), 200);
});

test('6: a name that is blocked while it is looked up sends nobody to a gateway', async () => {
  const blocked = Promise.withResolvers<void>();
  for (const gateway of bench.gateways) {
    gateway.names.set('slow', { id: site.id, ttlSeconds: 60 });
    gateway.behaviour = { until: blocked.promise };
  }
  const reading = statusOf('/?mode=route', 'slow.localhost');
  await eventually('the slow name is asked for', async () =>
    bench.gateways.some((gateway) => gateway.count(/resolver\/slow/) > 0),
  );
  const blocking = call('/block', { json: { type: 'arns', value: 'slow', reason: 'test' } });
  await eventually(
    'the name is blocked',
    async () => (await call('/check/arns/slow')).json().blocked === true,
  );
  blocked.resolve();
  assert.equal(await reading, 403);
  await blocking;
  for (const gateway of bench.gateways) gateway.behaviour = {};
  assert.equal((await call('/block/arns/slow', { method: 'DELETE' })).status, 200);
});

test('6: a blocked name takes what it shows and its undernames with it', async () => {
  const got = await call('/block', { json: { type: 'arns', value: 'Flip', reason: 'test' } });
  assert.equal((got.json().blocked as Record<string, unknown>).resolvedTxId, item.id);
  assert.equal(await statusOf('/', 'flip.localhost'), 403);
  assert.equal(await statusOf('/', 'FLIP.localhost'), 403);
  assert.equal(await statusOf('/file.txt', 'sub_flip.localhost'), 403);
  assert.equal(await statusOf(`/${item.id}`), 403);
  assert.equal((await call('/check/arns/FLIP')).json().blocked, true);
  assert.equal((await call(`/block/txid/${item.id}`, { method: 'DELETE' })).status, 409);
  const stats = (await call('/stats')).json();
  assert.deepEqual([stats.totalEntries, stats.arnsCount, stats.txIdCount], [1, 1, 1]);
  assert.equal((await call('/block/arns/FLIP', { method: 'DELETE' })).status, 200);
  assert.equal(await statusOf('/', 'flip.localhost'), 200);
});

test('10: what was just written to the file by hand outlives a block over HTTP', async () => {
  const other = `${'Q'.repeat(42)}A`;
  writeFileSync(
    path,
    JSON.stringify({ version: 1, entries: [{ type: 'txid', value: other, reason: 'hand' }] }),
  );
  await call('/block', { json: { type: 'txid', value: item.id, reason: 'test' } });
  const values = () =>
    (JSON.parse(readFileSync(path, 'utf8')) as { entries: { value: string }[] }).entries.map(
      ({ value }) => value,
    );
  assert.deepEqual(values(), [other, item.id]);
  for (const value of [other, item.id]) {
    assert.equal((await call(`/block/txid/${value}`, { method: 'DELETE' })).status, 200);
  }
  assert.deepEqual(values(), []);
});

test('10: the file is followed through renames, and a bad one changes nothing', async () => {
  const list = (...ids: string[]) =>
    JSON.stringify({ version: 1, entries: ids.map((value) => ({ type: 'txid', value, reason: 'file' })) });
  const replace = (text: string) => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  for (const text of [list(item.id), list(), list(item.id)]) {
    replace(text);
    const expected = text.includes(item.id) ? 403 : 200;
    await eventually('the new list counts', async () => (await statusOf(`/${item.id}`)) === expected);
  }
  for (const bad of ['{', '{"entries":{}}', '{"entries":[{"type":"txid","value":"x"}]}']) {
    replace(bad);
    const reload = await call('/reload', { method: 'POST' });
    assert.equal(reload.status, 500);
    assert.equal(reload.json().error, 'Failed to reload blocklist');
    assert.equal(await statusOf(`/${item.id}`), 403, 'the last good list stays in force');
  }
  assert.match(String((await bench.get('/router/health')).json().degradedReason), /blocklist/);
  replace(list());
  const good = await call('/reload', { method: 'POST' });
  assert.equal(good.json().message, 'Blocklist reloaded');
  assert.equal(await statusOf(`/${item.id}`), 200);
  const audit = readFileSync(`${path}.audit.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.ok(audit.some(({ action, value }) => action === 'unblock' && value === 'flip'));
  for (const action of ['block', 'unblock']) {
    const isByHand = ({ who, action: done, value }: Record<string, string>) =>
      who === 'file' && done === action && value === item.id;
    assert.ok(audit.some(isByHand), `${action} by hand is written down`);
  }
  const { lines } = (await call('/audit?limit=1')).json() as { lines: Record<string, string>[] };
  assert.equal(lines.length, 1);
  assert.equal((await call('/audit?limit=0')).status, 400);
});

test('10: a bad file, one that is gone and one that is back are followed without being told', async () => {
  const list = (...ids: string[]) =>
    JSON.stringify({ version: 1, entries: ids.map((value) => ({ type: 'txid', value, reason: 'file' })) });
  const degraded = async () => String((await bench.get('/router/health')).json().degradedReason ?? '');
  writeFileSync(path, list(item.id));
  await eventually('the id is blocked by the file', async () => (await statusOf(`/${item.id}`)) === 403);
  writeFileSync(path, '{"entries": [');
  await eventually('the wrong file is reported', async () => (await degraded()).includes('blocklist'));
  assert.equal(await statusOf(`/${item.id}`), 403);
  rmSync(path);
  await eventually('the missing file is reported', async () => (await degraded()).includes('gone'));
  assert.equal(await statusOf(`/${item.id}`), 403, 'no file is not an empty list');
  writeFileSync(`${path}.new`, list());
  renameSync(`${path}.new`, path);
  await eventually('the restored list counts', async () => (await statusOf(`/${item.id}`)) === 200);
  assert.equal(await degraded(), '');
  assert.match(
    (await bench.get('/router/metrics')).body.toString(),
    /^router_blocklist_reload_failures_total [1-9]/m,
  );
});

test('10: a blocklist that cannot be read keeps the router from starting', async () => {
  writeFileSync(path, 'not a list');
  await assert.rejects(bench.restart(), /MODERATION_BLOCKLIST_PATH/);
  writeFileSync(path, '{"version":1,"entries":[]}');
  await bench.restart();
});

test('without moderation its routes are not there', async (t) => {
  const unmoderated = await startRouterBench({ items: [item], environment: { MODERATION_ENABLED: 'false' } });
  t.after(() => unmoderated.stop());
  const answer = await unmoderated.get('/router/moderation/blocklist');
  assert.equal(answer.status, 404);
  assert.deepEqual(answer.json(), { error: 'Not Found', path: '/router/moderation/blocklist' });
  assert.equal((await unmoderated.get(`/${item.id}`)).status, 200);
});
