import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Got, type RouterBench, startRouterBench } from '../testing/router-bench.ts';
import { type TestItem, testItem } from '../testing/stub-gateway.ts';

const token = 'moderation-token-of-the-test';
let bench: RouterBench;
let item: TestItem;
let site: TestItem;
before(async () => {
  item = await testItem('asked for again and again');
  site = await testItem(
    JSON.stringify({ manifest: 'arweave/paths', version: '0.1.0', paths: { 'file.txt': { id: item.id } } }),
    'application/x.arweave-manifest+json',
  );
  bench = await startRouterBench({
    items: [item, site],
    // In a day, so that nothing comes back meanwhile.
    environment: {
      MODERATION_ADMIN_TOKEN: token,
      RATE_LIMIT_ENABLED: 'true',
      RATE_LIMIT_WINDOW_MS: '86400000',
    },
  });
});
after(() => bench.stop());

/** The third answer is one that was ready. */
async function third(path: string): Promise<Got> {
  await bench.get(path);
  await bench.get(path);
  return await bench.get(path);
}

const moderate = (method: 'POST' | 'DELETE', path: string, body?: object) =>
  bench.get(`/router/moderation${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const block = (id: string) =>
  moderate('POST', '/block', { type: 'txid', value: id, reason: 'test', blockedBy: 'test' });

/** All that may differ between two answers with the same content. */
const changing = ['date', 'x-request-id', 'x-router-cache-age', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

test('a ready answer says what the long way says', async () => {
  await bench.get(`/${item.id}`);
  const long = await bench.get(`/${item.id}`);
  const ready = await bench.get(`/${item.id}`, { headers: { 'x-request-id': 'mine' } });
  assert.equal(ready.headers['x-request-id'], 'mine');
  assert.ok(Number(ready.headers['x-router-cache-age']) >= Number(long.headers['x-router-cache-age']));
  assert.ok(Number(ready.headers['x-ratelimit-remaining']) <= Number(long.headers['x-ratelimit-remaining']));
  for (const { headers } of [long, ready]) for (const name of changing) delete headers[name];
  assert.deepEqual(ready.headers, long.headers);
  assert.ok(ready.body.equals(item.data));
  const head = await bench.get(`/${item.id}`, { method: 'HEAD' });
  assert.equal(head.headers['content-length'], String(item.data.length));
  assert.equal(head.body.length, 0);
});

test('what is special about a request is never answered with what was ready', async () => {
  const path = `/${item.id}`;
  await third(path);
  const etag = `"${item.digest}"`;
  assert.equal((await bench.get(path, { headers: { range: 'bytes=0-4' } })).body.toString(), 'asked');
  assert.equal((await bench.get(path, { headers: { 'if-none-match': etag } })).status, 304);
  assert.equal((await bench.get(`${path}?mode=route`)).status, 302);
  assert.equal((await bench.get(path, { host: 'somebody.localhost' })).status, 302);
  assert.equal((await bench.get(path, { method: 'POST' })).status, 405);
});

test('a block takes effect at once, also below a manifest, and ends with it', async () => {
  const inSite = `/${site.id}/file.txt`;
  for (const path of [`/${item.id}`, inSite]) assert.equal((await third(path)).headers['x-cache'], 'HIT');
  assert.equal((await block(item.id)).status, 200);
  for (const path of [`/${item.id}`, inSite]) {
    const refused = await bench.get(path);
    assert.equal(refused.status, 403);
    assert.ok(!refused.body.includes(item.data));
  }
  assert.equal((await moderate('DELETE', `/block/txid/${item.id}`)).status, 200);
  assert.equal((await third(inSite)).status, 200);
  assert.equal((await block(site.id)).status, 200);
  assert.equal((await bench.get(inSite)).status, 403, 'the file is not blocked, its manifest is');
  assert.equal((await bench.get(`/${item.id}`)).status, 200);
});
