import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headerOf, lengthIn, partIn, placeOf } from './answer-head.ts';

test('a header that is there several times counts once', () => {
  assert.equal(headerOf({ etag: ['"a"', '"b"'] }, 'etag'), '"a"');
  assert.equal(headerOf({ etag: '"a"' }, 'etag'), '"a"');
  assert.equal(headerOf({}, 'etag'), undefined);
});

test('a length that no file can have is none', () => {
  assert.equal(lengthIn({ 'content-length': '12' }), 12);
  for (const text of ['', '-1', '1e3', '1.5', ' 1', '1'.repeat(16)]) {
    assert.equal(lengthIn({ 'content-length': text }), undefined, text);
  }
});

test('a part says which bytes it brings', () => {
  const of = (text: string) => partIn({ 'content-range': text });
  assert.deepEqual(of('bytes 3-5/10'), { start: 3, end: 6, size: 10 });
  assert.deepEqual(of('bytes 3-5/*'), { start: 3, end: 6, size: undefined });
  for (const text of [
    'bytes */10',
    'bytes 3-/10',
    'items 3-5/10',
    'bytes 3-5',
    `bytes 0-1/${'1'.repeat(16)}`,
  ]) {
    assert.equal(of(text), undefined, text);
  }
});

test('where a body lies in the whole is known only where the head says all of it', () => {
  const range = { 'content-length': '3', 'content-range': 'bytes 3-5/10' };
  assert.deepEqual(placeOf({ status: 206, headers: range }), { start: 3, size: 10 });
  assert.deepEqual(placeOf({ status: 200, headers: range }), { start: 0, size: 3 });
  assert.equal(placeOf({ status: 200, headers: {} }), undefined);
  assert.equal(placeOf({ status: 206, headers: { 'content-length': '3' } }), undefined);
  assert.equal(placeOf({ status: 206, headers: { 'content-range': 'bytes 3-5/*' } }), undefined);
});
