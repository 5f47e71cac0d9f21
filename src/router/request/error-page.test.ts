import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type RouterBench, startRouterBench } from '../testing/router-bench.ts';
import { type TestItem, testItem } from '../testing/stub-gateway.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
let bench: RouterBench;
let site: TestItem;
before(async () => {
  site = await testItem(
    JSON.stringify({ manifest: 'arweave/paths', version: '0.1.0', paths: {} }),
    'application/x.arweave-manifest+json',
  );
  bench = await startRouterBench({ items: [site], environment: { BASE_DOMAIN: 'router.example' } });
  for (const gateway of bench.gateways) gateway.names.set('site', { id: site.id, ttlSeconds: 60 });
});
after(() => bench.stop());

test('a browser gets a page about what it cannot have, programs get JSON', async () => {
  for (const [host, path, status, code] of [
    ['nobody.router.example', '/', 404, 'ARNS_RESOLUTION_FAILED'],
    ['site.router.example', '/<script>alert(1)</script>', 404, 'MANIFEST_PATH_NOT_FOUND'],
    ['router.example', `/raw/${'A'.repeat(43)}`, 404, 'CONTENT_NOT_FOUND'],
    ['router.example', '/nowhere', 404, 'Not Found'],
  ] as const) {
    const page = await bench.get(path, { host, headers: { accept: browser } });
    const text = page.body.toString();
    assert.equal(page.status, status, path);
    assert.match(String(page.headers['content-type']), /^text\/html/);
    assert.match(String(page.headers['content-security-policy']), /default-src 'none'/);
    assert.equal(page.headers['content-length'], String(page.body.length));
    assert.match(String(page.headers.vary), /Accept/i);
    assert.ok(text.includes(code), text);
    assert.ok(text.includes(String(page.headers['x-request-id'])), 'what to report it by');
    assert.ok(!text.includes('<script'), 'nothing of the address is markup');
    const data = await bench.get(path, { host });
    assert.equal(data.status, status);
    assert.equal(data.json().error, code);
    assert.equal(data.headers['cache-control'], page.headers['cache-control']);
    const head = await bench.get(path, { host, method: 'HEAD', headers: { accept: browser } });
    assert.deepEqual([head.status, head.body.length], [status, 0]);
  }
});

test('what the router says of itself stays data', async () => {
  for (const path of ['/router/stats/gateways/nobody', '/router/moderation/blocklist']) {
    const got = await bench.get(path, { host: 'router.example', headers: { accept: browser } });
    assert.ok(got.status >= 400);
    assert.match(String(got.headers['content-type']), /^application\/json/);
  }
});
