import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { isPaused, whenMoving, whenStill } from './moving.ts';

const never = new AbortController().signal;

afterEach(() => {
  isPaused.value = false;
});

test('what moves goes on at once, or when it is no longer paused', async () => {
  await whenMoving(never);
  isPaused.value = true;
  let isOn = false;
  whenMoving(never).then(() => {
    isOn = true;
  });
  await turn();
  assert.equal(isOn, false);
  isPaused.value = false;
  await turn();
  assert.equal(isOn, true);
});

test('a pause is told to who waits for it, and to nobody who has gone', async () => {
  const gone = new AbortController();
  const told: string[] = [];
  whenStill(never).then(() => told.push('here'));
  whenStill(gone.signal).then(() => told.push('gone'));
  gone.abort();
  isPaused.value = true;
  await turn();
  assert.deepEqual(told, ['here']);
});
