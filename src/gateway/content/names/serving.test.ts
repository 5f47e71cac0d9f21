/** Names, sandboxes and the apex over HTTP: what each host and path shows, and says about itself. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import {
  type AdminGateway,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { until } from '../../../../test/support/local-gateway.ts';
import { isTxId } from '../../../formats/base64url.ts';
import { buildManifest, manifestContentType } from '../../../formats/manifest/manifest.ts';
import { sandboxLabel } from '../../../formats/sandbox-label.ts';
import type { NameTarget } from './resolver.ts';

const root = 'gateway.test';

function sandboxOf(id: string): string {
  assert.ok(isTxId(id));
  return sandboxLabel(id);
}

describe('names over HTTP', () => {
  let gateway: AdminGateway;
  const names = new Map<string, NameTarget>();
  const ids = { page: '', script: '', site: '', lost: '' };

  before(async () => {
    gateway = await startAdminGateway({
      overrides: { ARNS_ROOT_HOST: `${root},localhost`, TRUSTED_PROXIES: '127.0.0.2' },
      names: [
        {
          name: 'test',
          resolve: async (name, undername) => names.get(undername === '@' ? name : `${undername}_${name}`),
        },
      ],
    });
    const item = (text: string, type: string) =>
      makeItem({ data: Buffer.from(text), tags: [{ name: 'Content-Type', value: type }] });
    const page = await item('<h1>page</h1>', 'text/html');
    const script = await item('run()', 'text/javascript');
    const lost = await item('<h1>nobody here</h1>', 'text/html');
    const paths = new Map([
      ['index.html', page.id],
      ['js/run it.js', script.id],
      ['/rooted.js', script.id],
      ['gw/shadow.js', script.id],
      ['ar-io/shadow.js', script.id],
    ]);
    const manifest = buildManifest({ paths, indexPath: 'index.html' }).toString();
    const site = await item(manifest, manifestContentType);
    Object.assign(ids, { page: page.id, script: script.id, site: site.id, lost: lost.id });
    await postBundle(gateway.stack, [page, script, lost, site]);
    await until('the items are read', async () => (await gateway.inside.index.locate(site.id))?.placement);
    names.set('site', { id: site.id, ttlSeconds: 77, antId: 'ant', undernameLimit: 1, recordIndex: 0 });
    names.set('docs_site', { id: page.id, ttlSeconds: 60, antId: 'ant', undernameLimit: 1, recordIndex: 1 });
    names.set('more_site', { id: page.id, ttlSeconds: 60, antId: 'ant', undernameLimit: 1, recordIndex: 2 });
  });
  after(() => gateway.stop());

  interface Got {
    readonly status: number;
    readonly headers: Record<string, string | string[] | undefined>;
    readonly text: string;
  }

  const get = (
    host: string,
    path: string,
    headers: Record<string, string> = {},
    localAddress = '127.0.0.1',
    method: 'GET' | 'HEAD' | 'POST' = 'GET',
  ): Promise<Got> =>
    new Promise((resolve, reject) => {
      request(`${gateway.url}${path}`, { method, headers: { ...headers, host }, localAddress }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      })
        .once('error', reject)
        .end();
    });
  const html = { accept: 'text/html,*/*;q=0.8' };
  const policyOf = ({ headers }: Got): string => String(headers['content-security-policy'] ?? '');
  /** Hosts that belong to no content: the root, an address, one that nobody listed. */
  const sharedHosts = [root, `www.${root}`, '127.0.0.1', '[::1]:3000', 'unlisted.test', 'localhost'];
  const page = { 'sec-fetch-dest': 'document' };
  const asWorker = { 'service-worker': 'script', 'sec-fetch-dest': 'serviceworker' };

  /** Status line and `Location` of a request written by hand. */
  const byHand = (target: string, ...hosts: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(gateway.url);
      let answer = '';
      const lines = hosts.map((host) => `Host: ${host}\r\n`).join('');
      connect(Number(port), hostname)
        .setEncoding('latin1')
        .on('data', (piece) => {
          answer += String(piece);
        })
        .once('error', reject)
        .once('close', () =>
          resolve(`${answer.slice(9, 12)} ${/^location: (.*)$/im.exec(answer)?.[1] ?? ''}`.trim()),
        )
        .write(`GET ${target} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`);
    });

  test('a sandbox is reached as the request came to the proxy in front, where that is a trusted one', async () => {
    const forwarded = { ...page, 'x-forwarded-proto': 'https', 'x-forwarded-host': 'other.test' };
    const below = `${sandboxOf(ids.page)}.${root}/${ids.page}`;
    const there = await get(root, `/${ids.page}`, forwarded, '127.0.0.2');
    assert.deepEqual([there.status, there.headers.location], [302, `https://${below}`]);
    const forged = await get(root, `/${ids.page}`, forwarded);
    assert.deepEqual([forged.status, forged.headers.location], [302, `http://${below}`]);
  });

  test('a path of a name is answered as such, whatever the gateway has there', async () => {
    for (const path of ['/graphql', '/graphql?query={__typename}', '/raw/x', '/gw/info', '/nowhere']) {
      assert.equal((await get(`site.${root}`, path)).status, 404, path);
    }
  });

  test('a request names one host, which is one', async () => {
    const { page } = ids;
    // The third is answered ahead of the framework, and so would be the others like it.
    for (let time = 0; time < 3; time += 1) assert.equal(await byHand(`/${page}`, root), '200');
    assert.equal(await byHand(`http://${root}/${page}`, root), '200');
    assert.equal(await byHand(`http://site.${root}/index.html`, `site.${root}`), '200');
    assert.equal(await byHand(`http://site.${root}`, `site.${root}`), '200');
    assert.equal(await byHand(`http://evil.test/${page}`, root), '400');
    assert.equal(await byHand('/', `site.${root}`, root), '400');
    assert.equal(await byHand(`/${page}`, root, root), '400');
    assert.equal(await byHand(`/${page}`, `${root}:80@evil.test`), '404');
  });

  test('the resolver says where a name points and for how long', async () => {
    const answer = await get(root, '/gw/resolver/Site');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['cache-control'], 'public, max-age=77');
    assert.equal(answer.headers['x-arns-ttl-seconds'], '77');
    const { resolvedAt, ...body } = JSON.parse(answer.text);
    assert.ok(resolvedAt > 0);
    assert.deepEqual(body, {
      txId: ids.site,
      resolvedId: ids.site,
      protocol: 'arweave',
      ttlSeconds: 77,
      processId: 'ant',
      antId: 'ant',
      index: 0,
      limit: 1,
    });
    const under = await get(root, '/ar-io/resolver/docs_site');
    assert.equal(JSON.parse(under.text).txId, ids.page);
    assert.equal(under.headers['x-arns-record'], 'docs');
    for (const label of ['nobody', 'none_site', '..%2f..%2finfo', 'a%20b', 'x'.repeat(200)]) {
      assert.equal((await get(root, `/gw/resolver/${label}`)).status, 404, label);
    }
  });

  test('a name shows its site with the paths below, and says how it was resolved', async () => {
    const index = await get(`site.${root}`, '/');
    assert.equal(index.text, '<h1>page</h1>');
    assert.equal(index.headers['x-arns-resolved-id'], ids.site);
    assert.equal(index.headers['x-ar-io-data-id'], ids.page);
    assert.equal(index.headers['x-arns-basename'], 'site');
    assert.equal(index.headers['cache-control'], 'public, max-age=77');
    assert.equal((await get(`SITE.${root}:1984`, '/js/run%20it.js')).text, 'run()');
    assert.equal((await get(`site.${root}`, '/js/none.js')).status, 404);
    assert.equal((await get(`site.${root}`, '//index.html')).status, 404, 'a second slash is of the path');
    assert.equal((await get(`site.${root}`, '/%2Frooted.js')).text, 'run()');
    assert.equal((await get(`site.${root}`, '/rooted.js')).status, 404);
    assert.equal((await get(`site.${root}`, '/%zz')).status, 400);
    assert.equal((await get(`site.${root}`, '/info')).status, 404, 'the whole path space is its own');
    assert.equal((await get(`docs_site.${root}`, '/')).text, '<h1>page</h1>');
    assert.equal((await get(`a.site.${root}`, '/')).status, 404);
  });

  test('an undername beyond the limit is 402', async () => {
    const answer = await get(`more_site.${root}`, '/');
    assert.equal(answer.status, 402);
    assert.equal(answer.text, 'ArNS undername limit exceeded. Purchase additional undernames to continue.');
    assert.equal(answer.headers['cache-control'], 'no-store');
  });

  test('an id has an origin of its own', async () => {
    const sandbox = `${sandboxOf(ids.script)}.${root}:88`;
    for (const host of [`${root}:88`, `site.${root}:88`]) {
      const answer = await get(host, `/${ids.script}?x=1`, page);
      assert.equal(answer.status, 302);
      assert.equal(answer.headers.location, `http://${sandbox}/${ids.script}?x=1`);
    }
    assert.equal((await get(sandbox, `/${ids.script}`)).text, 'run()');
    assert.equal((await get(sandbox, '/')).status, 404);
    assert.equal((await get(`${root}:88`, `/raw/${ids.script}`)).text, 'run()');
  });

  test('an uploader’s page runs in no origin but its own, however it is asked for', async () => {
    const sandbox = `${sandboxOf(ids.page)}.${root}`;
    // In turn, so that whatever was kept of one host is asked for at another.
    for (let round = 0; round < 3; round += 1) {
      for (const host of sharedHosts) {
        const inPlace = host.includes(root)
          ? []
          : [`/${ids.page}`, `/${ids.site}/`, `/${ids.site}/index.html`];
        const ways = [
          `/raw/${ids.page}`,
          `/raw/${ids.page}/`,
          `/local/farcaster/frame/${ids.page}`,
          ...inPlace,
        ];
        for (const path of ways) {
          const got = await get(host, path, html);
          assert.deepEqual([got.status, got.text], [200, '<h1>page</h1>'], `${host}${path}`);
          assert.match(policyOf(got), /^sandbox allow-scripts /, `${host}${path}`);
          assert.doesNotMatch(policyOf(got), /allow-same-origin/);
          assert.equal(got.headers['x-content-type-options'], 'nosniff');
          assert.equal(got.headers['content-type'], 'text/html; charset=utf-8');
        }
      }
      for (const [host, path] of [
        [sandbox, `/${ids.page}`],
        [`${sandboxOf(ids.page)}.localhost`, `/${ids.page}`],
        [`${sandboxOf(ids.site)}.${root}`, `/${ids.site}/index.html`],
        [`site.${root}`, '/'],
        [`docs_site.${root}`, '/'],
      ] as const) {
        const got = await get(host, path, html);
        assert.deepEqual([got.status, policyOf(got)], [200, ''], `${host}${path}`);
        assert.equal(got.headers['x-content-type-options'], undefined);
        assert.equal(got.headers.vary, undefined);
      }
    }
  });

  test('a policy and a charset stand on every kind of answer', async () => {
    const raw = `/raw/${ids.page}`;
    const { etag } = (await get(root, raw)).headers;
    const answers: [string, Got, number, RegExp | undefined][] = [];
    const ask = async (
      headers: Record<string, string>,
      method: 'GET' | 'HEAD',
      status: number,
      type?: RegExp,
    ) =>
      answers.push([
        `${method} ${JSON.stringify(headers)}`,
        await get(root, raw, headers, '127.0.0.1', method),
        status,
        type,
      ]);
    const text = /^text\/html; charset=utf-8$/;
    await ask({}, 'HEAD', 200, text);
    await ask({ range: 'bytes=0-3' }, 'GET', 206, text);
    await ask({ range: 'bytes=0-3' }, 'HEAD', 206, text);
    await ask({ range: 'bytes=0-1,4-5' }, 'GET', 206, /^multipart\/byteranges/);
    await ask({ 'if-none-match': String(etag) }, 'GET', 304);
    for (const [what, got, status, type] of answers) {
      assert.equal(got.status, status, what);
      assert.match(policyOf(got), /^sandbox allow-scripts /, what);
      if (type !== undefined) assert.match(String(got.headers['content-type']), type, what);
      assert.equal(got.headers['x-arweave-tag-content-type'], 'text/html', 'the tag stays as it was signed');
    }
    const parts = answers.find(([what]) => what.includes('0-1,4-5'))?.[1].text ?? '';
    assert.equal(parts.match(/^content-type: text\/html; charset=utf-8\r$/gim)?.length, 2);
  });

  test('what is no page is not kept from anybody', async () => {
    const script = await get(root, `/raw/${ids.script}`);
    assert.deepEqual([script.status, policyOf(script)], [200, '']);
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8');
    assert.equal(script.headers['access-control-allow-origin'], '*');
    assert.match(String(script.headers.vary), /Service-Worker/);
    const manifest = await get(root, `/raw/${ids.site}`);
    assert.equal(manifest.headers['content-type'], manifestContentType);
  });

  test('a service worker is given only at hosts of content’s own', async () => {
    for (const host of sharedHosts) {
      for (const path of [
        `/raw/${ids.script}`,
        `/${ids.script}`,
        `/${ids.site}/js/run%20it.js`,
        `/local/farcaster/frame/${ids.script}?format=content`,
        `/tx/${ids.script}/data.js`,
      ]) {
        const got = await get(host, path, asWorker);
        assert.deepEqual(
          [got.status, got.headers['cache-control'], got.headers['content-type']],
          [403, 'no-store', 'text/plain; charset=utf-8'],
          `${host}${path}`,
        );
        assert.ok(!got.text.includes('run()'));
      }
    }
    const sandbox = `${sandboxOf(ids.script)}.${root}`;
    assert.equal((await get(sandbox, `/${ids.script}`, asWorker)).text, 'run()');
    assert.equal((await get(`site.${root}`, '/js/run%20it.js', asWorker)).text, 'run()');
  });

  test('a page opened on localhost goes to its own host below it; programs are answered in place', async () => {
    for (const headers of [page, { 'sec-fetch-dest': 'iframe' }]) {
      const got = await get('localhost:3000', `/${ids.page}?x=1`, headers);
      const there = `http://${sandboxOf(ids.page)}.localhost:3000/${ids.page}?x=1`;
      assert.deepEqual([got.status, got.headers.location], [302, there]);
      assert.equal(got.headers.vary, 'Sec-Fetch-Dest, Accept');
    }
    const fetched = await get('localhost:3000', `/${ids.page}`, { 'sec-fetch-dest': 'empty' });
    assert.deepEqual([fetched.status, fetched.headers.vary], [200, 'Sec-Fetch-Dest, Accept']);
    assert.equal((await get('localhost:3000', `/raw/${ids.page}`, page)).status, 200);
    assert.equal((await get('127.0.0.1:3000', `/${ids.page}`, page)).status, 200);
  });

  test('images, fonts and programs find an id at the root host itself; pages, also of old browsers, go to their own', async () => {
    for (const headers of [
      {},
      { 'sec-fetch-dest': 'image' },
      { 'sec-fetch-dest': 'font' },
      { accept: 'image/*' },
    ]) {
      const got = await get(root, `/${ids.script}`, headers);
      assert.deepEqual(
        [got.status, got.text, got.headers.vary],
        [200, 'run()', 'Sec-Fetch-Dest, Accept, Service-Worker'],
      );
    }
    // Again and again: from the third on no route is asked.
    for (let time = 0; time < 3; time += 1) {
      const inPlace = await get(root, `/${ids.page}`, { 'sec-fetch-dest': 'empty' });
      assert.match(policyOf(inPlace), /^sandbox /, 'should a browser show it after all');
    }
    for (const headers of [page, { accept: 'text/html,*/*;q=0.8' }]) {
      const got = await get(root, `/${ids.page}`, headers);
      assert.deepEqual([got.status, got.headers.vary], [302, 'Sec-Fetch-Dest, Accept']);
    }
    const worker = { 'sec-fetch-dest': 'serviceworker', 'service-worker': 'script' };
    assert.equal((await get(root, `/${ids.script}`, worker)).status, 403);
  });

  test('ISOLATE_ACTIVE_CONTENT=false serves pages at every host as if it were their own', async () => {
    await gateway.restart({ ISOLATE_ACTIVE_CONTENT: 'false' });
    for (const [host, path] of [
      [root, `/raw/${ids.page}`],
      [root, `/local/farcaster/frame/${ids.page}`],
      ['127.0.0.1', `/${ids.page}`],
      ['localhost', `/${ids.page}`],
    ] as const) {
      const got = await get(host, path, { ...html, ...page });
      assert.deepEqual(
        [got.status, policyOf(got), got.headers['x-content-type-options']],
        [200, '', undefined],
      );
    }
    assert.equal((await get(root, `/raw/${ids.script}`, asWorker)).text, 'run()');
  });

  test('a name that nobody has is 404: a page for people, text for programs', async () => {
    const page = await get(`nobody.${root}`, '/', html);
    assert.equal(page.status, 404);
    assert.match(page.text, /<h1>nobody is not registered<\/h1>/);
    assert.equal(page.headers['cache-control'], 'public, max-age=60, must-revalidate');
    const text = await get(`nobody.${root}`, '/');
    assert.deepEqual([text.status, text.text], [404, 'Not found']);
    for (const answer of [page, text]) assert.match(String(answer.headers.vary), /Accept/);
    const under = await get(`none_site.${root}`, '/', html);
    assert.deepEqual([under.status, under.text], [404, 'Not found'], 'undernames have no page');

    await gateway.restart({ ARNS_NOT_FOUND_TX_ID: ids.lost });
    const own = await get(`nobody.${root}`, '/any/path', { ...html, range: 'bytes=0-1' });
    assert.deepEqual([own.status, own.text], [404, '<h1>nobody here</h1>']);
    assert.equal(own.headers['cache-control'], 'public, max-age=60, must-revalidate');
  });

  for (const apex of ['id', 'name'] as const) {
    test(`an apex by ${apex} is the host itself, and leaves the gateway's own paths alone`, async () => {
      await gateway.restart(apex === 'id' ? { APEX_TX_ID: ids.site } : { APEX_ARNS_NAME: 'site' });
      const front = await get(root, '/');
      assert.equal(front.text, '<h1>page</h1>');
      assert.equal(front.headers['x-arns-name'], apex === 'id' ? undefined : 'site');
      const lasting = apex === 'id' ? 'public, max-age=3600, must-revalidate' : 'public, max-age=77';
      assert.equal(front.headers['cache-control'], lasting);
      assert.equal((await get(root, '/js/run%20it.js')).text, 'run()');
      assert.equal((await get(root, '/index.html')).text, '<h1>page</h1>');
      for (const path of ['/nowhere/at/all', '/gw/shadow.js', '/ar-io/shadow.js', '/gw', '/gw/']) {
        assert.equal((await get(root, path)).status, 404, path);
      }
      assert.ok(JSON.parse((await get(root, '/info')).text).network);
      assert.equal((await get(root, `/raw/${ids.script}`)).text, 'run()');
      // It is the operator's: it may have storage and a service worker, and nobody else's page does there.
      for (const host of [root, '127.0.0.1']) {
        const own = [await get(host, '/'), await get(host, '/index.html')];
        assert.deepEqual(own.map(policyOf), ['', '']);
        assert.match(policyOf(await get(host, `/raw/${ids.page}`)), /^sandbox /);
        assert.equal((await get(host, '/js/run%20it.js', asWorker)).text, 'run()');
        for (const path of [
          `/raw/${ids.script}`,
          `/${ids.script}`,
          `/%${ids.script.charCodeAt(0).toString(16)}${ids.script.slice(1)}`,
        ]) {
          assert.equal((await get(host, path, asWorker)).status, 403, path);
        }
      }
    });
  }

  test('what is blocked is 451 on every way there', async () => {
    await gateway.restart({ APEX_TX_ID: ids.site, ARNS_NOT_FOUND_TX_ID: ids.lost });
    for (const id of [ids.page, ids.lost]) await gateway.call('PUT', 'block-data', { id });
    const sandbox = `${sandboxOf(ids.page)}.${root}`;
    for (const [host, path] of [
      [root, `/raw/${ids.page}`],
      [sandbox, `/${ids.page}`],
      [root, '/'],
      [root, '/index.html'],
      [`site.${root}`, '/'],
      [`site.${root}`, '/index.html'],
      [`docs_site.${root}`, '/'],
      [root, '/gw/resolver/docs_site'],
      [`nobody.${root}`, '/'],
    ] as const) {
      assert.equal((await get(host, path, html)).status, 451, `${host}${path}`);
    }
    assert.equal((await get(`site.${root}`, '/js/run%20it.js')).status, 200, 'the rest is served');
    await gateway.call('PUT', 'block-name', { name: 'site' });
    assert.equal((await get(`site.${root}`, '/js/run%20it.js')).status, 451);
    await gateway.restart({ APEX_ARNS_NAME: 'site' });
    assert.equal((await get(root, '/js/run%20it.js')).status, 451, 'the apex too');
  });
});
