import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSpent } from './patience.ts';

test('patience is spent by tries and time together, and by neither alone', () => {
  const patience = { tries: 3, ms: 100 };
  const since = 1_000;
  const spent = (tried: number, age: number) => isSpent(patience, tried, since, since + age);
  assert.deepEqual([spent(3, 100), spent(4, 101)], [true, true]);
  assert.deepEqual([spent(2, 1_000_000), spent(1_000_000, 99)], [false, false]);
  assert.deepEqual([spent(3, -99), spent(3, -100)], [false, true], 'begun by a clock that was ahead');
});
