/**
 * A page of another origin uses the published clients in Chromium as they come: turbo-sdk streams what it uploads, which
 * the browser does over HTTP/2 alone, arweave-js posts, wayfinder reads. Nothing is between the page and the stack.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { arweaveTestAddress, arweaveTestKey } from '../support/keys.ts';
import { type RunningStack, startStack } from '../support/stack.ts';
import type { App, Services } from './browser-page.ts';
import {
  type Browser,
  bundleForPage,
  noChromium,
  openChromium,
  type Site,
  secureUrl,
  serveSite,
} from './chromium.ts';

const arweaveBundle = readFileSync(
  resolve(import.meta.dirname, 'node_modules/arweave/bundles/web.bundle.min.js'),
  'utf8',
);
const html = '<!doctype html><script src="arweave.js"></script><script type="module" src="app.js"></script>';

interface Made {
  readonly id: string;
}

describe('published clients in Chromium, from another origin, over https', { skip: noChromium }, () => {
  let stack: RunningStack;
  let browser: Browser;
  let page: Page;
  let site: Site;
  let services: Services;
  /** What the network did, by path. */
  const requests: { readonly method: string; readonly url: string; readonly protocol: string }[] = [];

  before(async () => {
    let bundle: string;
    [bundle, stack] = await Promise.all([
      bundleForPage(resolve(import.meta.dirname, 'browser-page.ts')),
      startStack({
        environment: { ALLOW_LISTED_ADDRESSES: arweaveTestAddress, LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '50' },
      }),
    ]);
    const secure = (name: string): string => secureUrl(stack.urls[name] ?? '');
    services = {
      payment: secure('payment'),
      upload: secure('upload'),
      gateway: secure('gateway'),
      arweave: secure('arweave'),
    };
    await fetch(`${stack.urls.arweave}/mint/${arweaveTestAddress}/1000000000000`);
    site = await serveSite(html, { '/app.js': bundle, '/arweave.js': arweaveBundle });
    browser = await openChromium(stack.dataDir);
    const { context } = browser;
    page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    const asked = new Map<string, string>();
    session.on('Network.requestWillBeSent', ({ requestId, request }) => asked.set(requestId, request.method));
    session.on('Network.responseReceived', ({ requestId, response }) =>
      requests.push({
        method: asked.get(requestId) ?? '',
        url: response.url,
        protocol: response.protocol ?? '',
      }),
    );
    await page.goto(site.url);
    await page.waitForFunction(() => 'app' in globalThis);
  });
  after(async () => {
    await browser?.close();
    site?.close();
    await stack?.stop();
  });

  /** Calls a function of the page's application. */
  const call = async (name: keyof App, ...rest: unknown[]): Promise<unknown> =>
    await page.evaluate(
      async ({ name, given }) => await Reflect.get(Reflect.get(globalThis, 'app'), name)(...given),
      { name, given: [services, ...rest] },
    );
  const idOf = (receipt: unknown): string => {
    const id: unknown = Reflect.get(Object(receipt), 'id');
    assert.equal(typeof id, 'string', JSON.stringify(receipt));
    return String(id);
  };
  const served = async (id: string): Promise<Response> => {
    const answer = await fetch(`${stack.urls.gateway}/raw/${id}`);
    assert.equal(answer.status, 200);
    return answer;
  };

  test('uploadFile with a small file streams it in one request, with a preflight, over HTTP/2', async () => {
    requests.length = 0;
    const id = idOf(await call('uploadFile', arweaveTestKey, 5_000));
    assert.equal((await (await served(id)).arrayBuffer()).byteLength, 5_000);
    const posts = requests.filter(({ method, url }) => method === 'POST' && url.startsWith(services.upload));
    assert.deepEqual(
      posts.map(({ url, protocol }) => [new URL(url).pathname, protocol]),
      [['/v1/tx/arweave', 'h2']],
    );
    assert.ok(requests.some(({ method, url }) => method === 'OPTIONS' && url.startsWith(services.upload)));
  });

  test('uploadFile with 12 MB, in parts and as one stream of unknown length', async () => {
    const size = 12_000_000;
    for (const name of ['uploadFile', 'uploadStream'] as const) {
      const bytes = new Uint8Array(
        await (await served(idOf(await call(name, arweaveTestKey, size)))).arrayBuffer(),
      );
      assert.equal(bytes.length, size, name);
      assert.ok(bytes.every((byte) => byte === 7));
    }
  });

  test('upload with text, and uploadFolder with a manifest', async () => {
    const text = 'from a page, ünï ☃';
    const id = idOf(await call('upload', arweaveTestKey, text));
    assert.equal(await (await served(id)).text(), text);
    const folder = await call('uploadFolder', arweaveTestKey);
    const manifest = idOf(Reflect.get(Object(folder), 'manifestResponse') satisfies Made);
    const site = await fetch(`${stack.urls.gateway}/${manifest}/style/site.css`);
    assert.equal(await site.text(), 'body { color: red }');
    assert.equal(await call('read', id), text, 'wayfinder reads it from the gateway');
  });

  test('arweave-js posts to the node', async () => {
    const posted: unknown = await call('postTransaction', arweaveTestKey, 'a transaction of a page');
    assert.equal(Reflect.get(Object(posted), 'status'), 200);
    const known = await fetch(`${stack.urls.arweave}/tx/${idOf(posted)}/status`);
    assert.ok(known.status === 200 || known.status === 202);
  });

  test('an application opens at its own host below localhost, over https', async () => {
    const folder = await call('uploadFolder', arweaveTestKey);
    const id = idOf(Reflect.get(Object(folder), 'manifestResponse') satisfies Made);
    const opened = await browser.context.newPage();
    await opened.goto(`${services.gateway}/${id}/`);
    const { protocol, hostname } = new URL(opened.url());
    assert.equal(protocol, 'https:');
    assert.match(hostname, /^[a-z2-7]{52}\.localhost$/);
    assert.equal(await opened.textContent('h1'), 'here');
  });
});
