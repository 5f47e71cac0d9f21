import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from './backoff.ts';

test('waits double from the first to the longest', () => {
  const rule = { firstMs: 100, longestMs: 1_000 };
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 1_000_000].map((failures) => backoffMs(rule, failures)),
    [100, 100, 200, 400, 800, 1_000, 1_000],
  );
});
