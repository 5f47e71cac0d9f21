import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasTriedEnough } from './give-up.ts';

test('what fails is given up after tries and time together, and after neither alone', () => {
  const giveUpAfter = { tries: 3, ms: 100 };
  const since = 1_000;
  const isOver = (tried: number, age: number) => hasTriedEnough(giveUpAfter, tried, since, since + age);
  assert.deepEqual([isOver(3, 100), isOver(4, 101)], [true, true]);
  assert.deepEqual([isOver(2, 1_000_000), isOver(1_000_000, 99)], [false, false]);
  assert.deepEqual([isOver(3, -99), isOver(3, -100)], [false, true], 'begun by a clock that was ahead');
});
