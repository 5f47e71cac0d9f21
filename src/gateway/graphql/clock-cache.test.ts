import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClockCache } from './clock-cache.ts';

test('what is asked for stays, what is not leaves, and the weight is kept', () => {
  const cache = new ClockCache<number, string>(100);
  for (let key = 0; key < 1_000; key += 1) {
    cache.set(key, String(key), 10);
    assert.equal(cache.get(0), '0', 'it is asked for all the time');
    assert.ok(cache.weight <= 100);
  }
  assert.equal(cache.get(500), undefined);
  assert.equal(cache.get(999), '999');
  assert.equal(cache.weight, 100);
});

test('when all were asked for the oldest leaves; what is too heavy is not taken; a key has one value', () => {
  const cache = new ClockCache<string, number>(3);
  for (const key of ['a', 'b', 'c']) cache.set(key, 1, 1);
  for (const key of ['a', 'b', 'c']) cache.get(key);
  cache.set('d', 2, 1);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => cache.get(key)),
    [undefined, 1, 1, 2],
  );
  cache.set('heavy', 1, 4);
  assert.equal(cache.get('heavy'), undefined);
  cache.set('d', 3, 2);
  assert.equal(cache.get('d'), 3);
  assert.ok(cache.weight <= 3);
  cache.delete('d');
  cache.delete('d');
  assert.ok(cache.weight <= 1);
});
