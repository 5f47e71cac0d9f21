import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { testServer } from '../../testing.ts';
import type { HttpServer } from '../server.ts';
import { greet } from './greeting.ts';
import { escapeHtml, html } from './html.ts';
import { pagePolicy, writePage } from './page.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
let server: HttpServer;

before(async () => {
  server = testServer();
  server.app.get('/', (request, reply) => {
    const isGreeted = greet(request, reply, () => ({
      title: 'A <test>',
      about: 'It is here to be read.',
      badge: 'play money',
      links: [{ path: '/x?a=1&b="2"', what: 'an address' }],
      next: { text: 'Do this:', command: 'curl <here>' },
    }));
    if (!isGreeted) reply.send({ data: true });
  });
  await server.listen();
});
after(() => server.close());

test('values cannot become markup', () => {
  assert.equal(escapeHtml(`<a href='x'>"&`), '&lt;a href=&#39;x&#39;&gt;&quot;&amp;');
  assert.equal(html`<p>${['<', html`<b>${'&'}</b>`]}</p>`.text, '<p>&lt;<b>&amp;</b></p>');
});

test('the policy allows the page’s own style, and no other', () => {
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(writePage('x', 'y')) ?? [];
  assert.ok(pagePolicy.includes(`'sha256-${hash('sha256', style, 'base64')}'`));
  assert.ok(!pagePolicy.includes('unsafe'));
});

test('people are greeted with a page, programs get their data, and caches tell them apart', async () => {
  const page = await fetch(server.url, { headers: { accept: browser } });
  const text = await page.text();
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.equal(page.headers.get('content-security-policy'), pagePolicy);
  assert.equal(page.headers.get('vary'), 'Accept');
  for (const part of [
    'A &lt;test&gt;',
    'play money',
    'href="/x?a=1&amp;b=&quot;2&quot;"',
    'curl &lt;here&gt;',
  ]) {
    assert.ok(text.includes(part), part);
  }
  for (const accept of [
    '*/*',
    'application/json',
    'application/json, text/plain, */*',
    'application/json, text/html',
  ]) {
    const data = await fetch(server.url, { headers: { accept } });
    assert.deepEqual(await data.json(), { data: true }, accept);
    assert.equal(data.headers.get('vary'), 'Accept');
  }
});
