import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.ts';

test('a cache keeps so many entries and drops the one that was used longest ago', () => {
  const cache = new LRUCache<string, number>(atMost(3));
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index);
  cache.get('a');
  cache.set('d', 3);
  assert.deepEqual([...cache.keys()].sort(), ['a', 'c', 'd']);
});

test('an empty cache takes no room, however much it may keep', () => {
  const before = process.memoryUsage().heapUsed;
  const caches = Array.from({ length: 10 }, () => new LRUCache<string, number>(atMost(1_000_000)));
  const taken = process.memoryUsage().heapUsed - before;
  assert.equal(caches.length, 10);
  assert.ok(taken < 16 * 1024 * 1024, `${taken} bytes`);
});
