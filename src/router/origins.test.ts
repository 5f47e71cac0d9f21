/** Whose origin an uploader's page runs in: its own host's, or nobody's. And in which charset text is read. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isTxId } from '../formats/base64url.ts';
import { sandboxLabel } from '../formats/sandbox-label.ts';
import { type Got, type RouterBench, startRouterBench } from './testing/router-bench.ts';
import { testItem } from './testing/stub-gateway.ts';

const page = await testItem('<h1>page</h1>', 'text/html');
const script = await testItem('run()', 'application/javascript');
const odd = await testItem('odd', 'text/plain, text/html');
const manifestType = 'application/x.arweave-manifest+json';
const site = await testItem(
  JSON.stringify({
    manifest: 'arweave/paths',
    version: '0.1.0',
    index: { path: 'index.html' },
    paths: { 'index.html': { id: page.id }, 'worker.js': { id: script.id } },
  }),
  manifestType,
);
const root = 'router.example';
const sandboxOf = (id: string): string => {
  assert.ok(isTxId(id));
  return `${sandboxLabel(id)}.${root}`;
};
const policyOf = ({ headers }: Got): string => String(headers['content-security-policy'] ?? '');
const asWorker = { 'service-worker': 'script' };

async function benchOf(t: TestContext, environment: Record<string, string>): Promise<RouterBench> {
  const bench = await startRouterBench({
    items: [page, script, odd, site],
    environment: { BASE_DOMAIN: root, ALLOW_UNKNOWN_HOSTS: 'true', ...environment },
  });
  t.after(() => bench.stop());
  for (const gateway of bench.gateways) gateway.names.set('site', { id: site.id, ttlSeconds: 60 });
  return bench;
}

for (const VERIFICATION_ENABLED of ['true', 'false']) {
  const how = VERIFICATION_ENABLED === 'true' ? 'with verification' : 'without verification';

  test(`${how}: an uploader’s page runs in no origin but its own`, async (t) => {
    const bench = await benchOf(t, { VERIFICATION_ENABLED, ROOT_HOST_CONTENT: site.id });
    // In turn, so that whatever was kept of one host is asked for at another.
    for (let round = 0; round < 3; round += 1) {
      for (const [host, path] of [
        [root, `/raw/${page.id}`],
        [`www.${root}`, `/raw/${page.id}`],
        ['127.0.0.1', `/raw/${page.id}`],
        ['127.0.0.1', `/${page.id}`],
        ['[::1]', `/${page.id}`],
        ['localhost', `/${page.id}`],
        ['unlisted.example', `/${page.id}`],
        ['127.0.0.1', `/${site.id}/`],
        ['127.0.0.1', `/${site.id}/index.html`],
        [root, `/raw/${odd.id}`],
      ] as const) {
        const got = await bench.get(path, { host });
        assert.equal(got.status, 200);
        assert.match(policyOf(got), /^sandbox allow-scripts /, `${host}${path}`);
        assert.doesNotMatch(policyOf(got), /allow-same-origin/);
        assert.equal(got.headers['x-content-type-options'], 'nosniff');
        const { etag } = got.headers;
        for (const headers of [
          { range: 'bytes=0-1' },
          etag === undefined ? {} : { 'if-none-match': String(etag) },
        ]) {
          assert.match(policyOf(await bench.get(path, { host, headers })), /^sandbox /);
        }
        assert.match(policyOf(await bench.get(path, { host, method: 'HEAD' })), /^sandbox /);
      }
      for (const [host, path] of [
        [sandboxOf(page.id), `/${page.id}`],
        [sandboxOf(site.id), `/${site.id}/index.html`],
        [`site.${root}`, '/'],
        [root, '/'],
        ['127.0.0.1', '/index.html'],
      ] as const) {
        const got = await bench.get(path, { host });
        assert.deepEqual(
          [got.status, policyOf(got), got.headers.vary],
          [200, '', undefined],
          `${host}${path}`,
        );
      }
    }
  });

  test(`${how}: a service worker is given only where the origin is the content’s or the operator’s`, async (t) => {
    const bench = await benchOf(t, { VERIFICATION_ENABLED, ROOT_HOST_CONTENT: 'site' });
    for (const [host, path] of [
      [root, `/raw/${script.id}`],
      ['127.0.0.1', `/raw/${script.id}`],
      ['127.0.0.1', `/${script.id}`],
      ['localhost', `/${site.id}/worker.js`],
    ] as const) {
      // Also once it is at hand.
      for (let round = 0; round < 3; round += 1) {
        assert.equal((await bench.get(path, { host })).body.toString(), 'run()');
        const got = await bench.get(path, { host, headers: asWorker });
        assert.deepEqual([got.status, got.headers['cache-control']], [403, 'no-store'], `${host}${path}`);
        assert.equal(got.json().error, 'SERVICE_WORKER_REFUSED');
      }
    }
    assert.equal((await bench.get(`/${script.id}`, { host: root, headers: asWorker })).status, 403);
    for (const [host, path] of [
      [sandboxOf(script.id), `/${script.id}`],
      [sandboxOf(site.id), `/${site.id}/worker.js`],
      [`site.${root}`, '/worker.js'],
      [root, '/worker.js'],
    ] as const) {
      const got = await bench.get(path, { host, headers: asWorker });
      assert.equal(got.body.toString(), 'run()', `${host}${path}`);
    }
  });
}

test('on localhost a page goes to its own host, also when the answer for programs is at hand', async (t) => {
  const bench = await benchOf(t, { BASE_DOMAIN: 'localhost' });
  const there = `//${sandboxOf(page.id).replace(root, 'localhost:3000')}/${page.id}?x=1`;
  for (let round = 0; round < 3; round += 1) {
    const fetched = await bench.get(`/${page.id}`, { host: 'localhost:3000' });
    assert.deepEqual([fetched.status, fetched.headers.vary], [200, 'Sec-Fetch-Dest, Accept']);
    for (const destination of ['document', 'iframe']) {
      const headers = { 'sec-fetch-dest': destination };
      const opened = await bench.get(`/${page.id}?x=1`, { host: 'localhost:3000', headers });
      assert.deepEqual([opened.status, opened.headers.location], [302, there]);
      assert.equal(opened.headers.vary, 'Sec-Fetch-Dest, Accept');
      assert.equal((await bench.get(`/${page.id}`, { host: 'localhost:3000', headers })).status, 302);
    }
  }
});

test('ISOLATE_ACTIVE_CONTENT=false serves pages at every host as if it were their own', async (t) => {
  const bench = await benchOf(t, { ISOLATE_ACTIVE_CONTENT: 'false' });
  assert.equal(policyOf(await bench.get(`/raw/${page.id}`, { host: root })), '');
  assert.equal(policyOf(await bench.get(`/${page.id}`, { host: '127.0.0.1' })), '');
  const worker = await bench.get(`/raw/${script.id}`, { host: root, headers: asWorker });
  assert.equal(worker.body.toString(), 'run()');
});

test('a chain read is no page, whatever type the gateway gives it', async (t) => {
  const bench = await benchOf(t, {});
  for (const gateway of bench.gateways) {
    gateway.behaviour = { status: 200, headers: { 'content-type': 'text/html' } };
  }
  for (const path of [`/tx/${page.id}/data`, '/info', '/chunk/1/data']) {
    const got = await bench.get(path, { host: root });
    assert.equal(got.status, 200, path);
    assert.match(policyOf(got), /^sandbox /, path);
    assert.equal(got.headers['x-content-type-options'], 'nosniff', path);
    assert.equal((await bench.get(path, { host: root, headers: asWorker })).status, 403);
  }
});

test('text is served as UTF-8 where its tag names no charset, in every kind of answer', async (t) => {
  const bench = await benchOf(t, {});
  const served = 'application/javascript; charset=utf-8';
  const path = `/${script.id}`;
  const host = sandboxOf(script.id);
  const typeOf = async (headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    (await bench.get(path, { host, headers, method })).headers['content-type'];
  assert.equal(await typeOf({}, 'HEAD'), served);
  for (let round = 0; round < 3; round += 1) assert.equal(await typeOf(), served);
  assert.equal(await typeOf({}, 'HEAD'), served);
  assert.equal(await typeOf({ range: 'bytes=1-2' }), served);
  const parts = await bench.get(path, { host, headers: { range: 'bytes=0-0,2-2' } });
  assert.equal(parts.body.toString().match(/^content-type: (.*)\r$/gim)?.length, 2);
  assert.match(parts.body.toString(), /^content-type: application\/javascript; charset=utf-8\r$/im);
  assert.equal((await bench.get(`/raw/${odd.id}`)).headers['content-type'], 'text/plain, text/html');
  assert.equal((await bench.get(`/raw/${site.id}`)).headers['content-type'], manifestType);
});

test('text that is proven by its signature is UTF-8 too, whose tag is signed without a charset', async (t) => {
  const bench = await startRouterBench({ items: [script], count: 1 });
  t.after(() => bench.stop());
  const got = await bench.get(`/raw/${script.id}`);
  assert.equal(got.headers['x-router-verification-method'], 'signature');
  assert.equal(got.headers['content-type'], 'application/javascript; charset=utf-8');
});

test('gateways that add the charset agree with those that do not', async (t) => {
  const pages = await Promise.all(['a', 'b', 'c'].map((text) => testItem(text, 'text/html')));
  const bench = await startRouterBench({ items: pages, environment: { ROUTING_STRATEGY: 'round-robin' } });
  t.after(() => bench.stop());
  for (const [at, gateway] of bench.gateways.entries()) {
    gateway.behaviour = {
      proofless: true,
      contentType: at % 2 === 0 ? 'text/html' : 'text/html; charset=utf-8',
    };
  }
  // Whoever serves has no vote: each does once, so that those who vote differ.
  const served = new Set<unknown>();
  for (const { id } of pages) {
    const got = await bench.get(`/raw/${id}`);
    assert.deepEqual([got.status, got.headers['content-type']], [200, 'text/html; charset=utf-8']);
    assert.equal(got.headers['x-router-verification-method'], 'quorum');
    served.add(got.headers['x-router-routed-via']);
  }
  assert.ok(served.size > 1);
});
