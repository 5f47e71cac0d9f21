import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isolate, opensPage, type WebOrigin } from './isolation.ts';

function isolated(contentType: string, origin: WebOrigin, given: Record<string, string> = {}) {
  const headers = { ...given };
  isolate(headers, contentType, origin);
  return headers;
}

test('content at a host of its own is left alone', () => {
  assert.deepEqual(isolated('text/html', 'own', { vary: 'Accept' }), { vary: 'Accept' });
});

test('a page at another host runs in no origin, and never in the host’s', () => {
  for (const origin of ['shared', 'shared-without-pages'] as const) {
    for (const type of [
      'text/html; charset=utf-8',
      'image/svg+xml',
      'application/xml',
      '',
      'x/y, text/html',
    ]) {
      const policy = isolated(type, origin)['content-security-policy'] ?? '';
      assert.match(policy, /^sandbox allow-scripts( |$)/, type);
      assert.doesNotMatch(policy, /allow-same-origin|allow-top-navigation/);
    }
  }
});

test('no browser guesses a type where it could find a page', () => {
  assert.deepEqual(isolated('application/octet-stream', 'shared'), { 'x-content-type-options': 'nosniff' });
  assert.deepEqual(isolated('image/png', 'shared'), { 'x-content-type-options': 'nosniff' });
});

test('caches are told what an answer depends on beside its address', () => {
  assert.equal(isolated('image/png', 'shared-without-pages').vary, 'Sec-Fetch-Dest, Accept');
  assert.equal(isolated('text/javascript', 'shared', { vary: 'Accept' }).vary, 'Accept, Service-Worker');
  assert.equal(isolated('text/plain', 'shared', { vary: 'Accept' }).vary, 'Accept');
});

test('only what opens a page is one: images, fonts, media and programs are answered in place', () => {
  const root = 'gateway.example';
  for (const destination of ['document', 'iframe', 'frame', 'embed', 'object']) {
    assert.equal(opensPage({ 'sec-fetch-dest': destination, accept: '*/*' }, root), true, destination);
    assert.equal(opensPage({ 'sec-fetch-dest': destination }, 'localhost:4000'), true, destination);
  }
  for (const destination of ['image', 'video', 'audio', 'font', 'style', 'script', 'empty', 'track']) {
    assert.equal(opensPage({ 'sec-fetch-dest': destination, accept: 'text/html' }, root), false, destination);
  }
  // Browsers that do not say what for.
  const oldBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
  assert.equal(opensPage(oldBrowser, root), true);
  assert.equal(opensPage(oldBrowser, 'localhost'), false);
  assert.equal(opensPage({ accept: 'image/avif,image/webp,*/*;q=0.8' }, root), false);
  assert.equal(opensPage({ accept: '*/*' }, root), false);
  assert.equal(opensPage({}, root), false);
});
