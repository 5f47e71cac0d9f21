import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestLog } from './request-log.ts';

test('the newest thousand requests are told, oldest first', () => {
  const log = new RequestLog();
  for (let number = 1; number <= 2_345; number += 1) {
    log.note({ method: 'GET', url: `/a/b/c/${number}`, status: 200, milliseconds: 1.4 });
  }
  const lines = log.text().trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => Number(/ GET \/a\/b\/c\/(\d+) 200 1 ms$/.exec(line)?.[1])),
    Array.from({ length: 1_000 }, (_, index) => 1_346 + index),
  );
});

test('few requests are told as they came, without what everybody asks all the time', () => {
  const log = new RequestLog();
  assert.equal(log.text(), '');
  for (const url of ['/a/b/c/one', '/info', '/a/b/c/two'])
    log.note({ method: 'GET', url, status: 404, milliseconds: 0 });
  assert.match(log.text(), /^\S+ GET \/a\/b\/c\/one 404 0 ms\n\S+ GET \/a\/b\/c\/two 404 0 ms\n$/);
});
