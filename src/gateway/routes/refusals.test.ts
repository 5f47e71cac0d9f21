/** What is asked in another way than the contract has it: other methods, paths that cannot be read, HEAD for GET. */
import assert from 'node:assert/strict';
import { type ClientRequest, request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AdminGateway,
  type MadeItem,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../test/support/admin-gateway.ts';
import { until } from '../../../test/support/local-gateway.ts';
import { buildManifest, manifestContentType } from '../../formats/manifest/manifest.ts';

describe('requests beside the contract', () => {
  let gateway: AdminGateway;
  let page: MadeItem;
  let site: MadeItem;
  before(async () => {
    gateway = await startAdminGateway();
    page = await makeItem({
      data: Buffer.from('<h1>page</h1>'),
      tags: [{ name: 'Content-Type', value: 'text/html' }],
    });
    const paths = new Map([['index.html', page.id]]);
    site = await makeItem({
      data: buildManifest({ paths, indexPath: 'index.html' }),
      tags: [{ name: 'Content-Type', value: manifestContentType }],
    });
    await postBundle(gateway.stack, [page, site]);
    await until('both are placed', async () => (await gateway.inside.index.locate(site.id))?.placement);
  });
  after(() => gateway.stop());

  /** The path goes out as it stands here. */
  function ask(method: string, path: string, headers: Record<string, string> = {}) {
    const { hostname, port } = new URL(gateway.url);
    return new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: string }>(
      (resolve, reject) => {
        request({ hostname, port, method, path, headers, agent: false }, (answer) => {
          let body = '';
          answer.setEncoding('utf8').on('data', (text: string) => {
            body += text;
          });
          answer.on('end', () =>
            resolve({ status: answer.statusCode, headers: { ...answer.headers }, body }),
          );
        })
          .on('error', reject)
          .end();
      },
    );
  }

  test('large bodies are refused where those that are on their way fill the memory', async () => {
    const { hostname, port } = new URL(gateway.url);
    const large = 14 * 1024 * 1024;
    const senders: ClientRequest[] = [];
    /** Says how large the body is and sends the beginning; undefined while the rest is waited for. */
    const begin = (length: number, sent: string) => {
      const headers = { 'content-type': 'application/json', 'content-length': length };
      const sender = request({ hostname, port, method: 'POST', path: '/tx', headers, agent: false });
      senders.push(sender);
      const answered = new Promise<number | undefined>((resolve) => {
        sender.on('response', (answer) => resolve(answer.resume().statusCode));
        sender.on('error', () => resolve(-1));
      });
      sender.write(sent);
      return Promise.race([answered, sleep(200)]);
    };
    try {
      await until('there is no room', async () => (await begin(large, '{')) === 503);
      assert.ok(senders.length >= 9, 'there was room for some');
      const small = () => begin(2, '{}');
      await until('small ones are read all the same', async () => (await small()) === 400);
      for (const sender of senders.splice(0)) sender.destroy();
      await until('there is room again', async () => (await begin(large, '{')) === undefined);
    } finally {
      for (const sender of senders) sender.destroy();
    }
  });

  test('a path with a broken escape is refused in words, on every host', async () => {
    const { port } = new URL(gateway.url);
    for (const [path, host] of [
      [`/${site.id}/%zz`, 'localhost'],
      ['/%', 'localhost'],
      ['/a/%e0%a4%a', `name.localhost:${port}`],
    ] as const) {
      const answer = await ask('GET', path, { host });
      assert.deepEqual([answer.status, answer.body], [400, 'Bad Request: Invalid URL encoding'], path);
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(answer.headers['access-control-allow-origin'], '*');
    }
  });

  test('content and records are read and nothing else', async () => {
    for (const path of [
      `/raw/${page.id}`,
      `/${page.id}`,
      '/info',
      '/',
      '/anything',
      `/${site.id}/index.html`,
    ]) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await ask(method, path);
        assert.deepEqual([answer.status, answer.body], [405, 'Method Not Allowed'], `${method} ${path}`);
        assert.equal(answer.headers.allow, 'GET, HEAD, OPTIONS');
        assert.equal(answer.headers['cache-control'], 'no-store');
      }
    }
    assert.equal((await ask('GET', `/raw/${page.id}`)).body, '<h1>page</h1>');
  });

  test('HEAD says what GET says', async () => {
    const paths = [
      '/',
      '/info',
      '/height',
      '/gw/info',
      '/gw/peers',
      '/ar-io/info',
      `/tx/${page.id}`,
      '/graphql',
    ];
    const content = [`/${page.id}`, `/raw/${page.id}`, `/${site.id}`, `/${site.id}/`, `/${site.id}/none`];
    for (const path of [...paths, ...content, '/graphql?query=%7B__typename%7D', '/raw/short']) {
      const [get, head] = [await ask('GET', path), await ask('HEAD', path)];
      const facts = ({ status, headers }: typeof get) => {
        const { date, 'x-request-id': id, ...same } = headers;
        return { status, ...same, ...(get.status === 301 && { 'content-length': '0' }) };
      };
      assert.deepEqual(facts(head), facts(get), path);
      assert.equal(head.body, '');
    }
    assert.equal((await ask('HEAD', '/gw/healthcheck')).status, 200);
    assert.equal((await ask('HEAD', '/gw/__gateway_metrics')).status, 200);
  });

  test('the record of an item is the same wherever it is asked for; its frame has the data too', async () => {
    const record = JSON.parse((await ask('GET', `/tx/${page.id}`)).body);
    assert.equal(record.owner_address, page.header.owner_address);
    const data = Buffer.from('<h1>page</h1>').toString('base64url');
    for (const method of ['GET', 'POST']) {
      const frame = await ask(method, `/local/social/frame/${page.id}`);
      assert.deepEqual(JSON.parse(frame.body), { ...record, data });
      assert.equal(frame.headers.vary, 'Accept');
      const content = await ask('HEAD', `/raw/${page.id}`);
      const expected = method === 'GET' ? content.headers['cache-control'] : 'no-store';
      assert.equal(frame.headers['cache-control'], expected);
    }
    const html = await ask('GET', `/local/social/frame/${page.id}`, { accept: 'text/html' });
    assert.equal(html.body, '<h1>page</h1>');
  });
});
