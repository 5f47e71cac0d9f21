import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programUrl, workerUrl } from './trusted.ts';

const page = 'http://localhost:4003/upload';

test('a file of the page is a program of it', () => {
  assert.equal(programUrl('/assets/items-ABC.js', page), '/assets/items-ABC.js');
});

test('nothing else is', () => {
  for (const url of [
    '/raw/x.js',
    'https://localhost:4003/assets/x.js',
    '//evil.example/assets/x.js',
    'data:,x',
  ]) {
    assert.throws(() => programUrl(url, page), TypeError, url);
  }
});

test('a worker is known by the name that the document tells it under', () => {
  const asked: string[] = [];
  const known = (selector: string) => {
    asked.push(selector);
    return selector.includes('worker-items') ? { content: '/assets/items-ABC.js' } : null;
  };
  assert.equal(workerUrl('items', { querySelector: known, baseURI: page }), '/assets/items-ABC.js');
  assert.throws(() => workerUrl('other', { querySelector: known, baseURI: page }), /no worker other/);
  assert.equal(asked.length, 2);
});
