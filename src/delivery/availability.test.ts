import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerTo, availabilityOf, together } from './availability.ts';

test('only a proven absence may be kept', () => {
  assert.deepEqual(answerTo('absent'), {
    status: 404,
    cacheControl: 'public, max-age=60, must-revalidate',
  });
  for (const state of ['pending', 'not-asked', 'unreadable'] as const) {
    assert.equal(answerTo(state).cacheControl, 'no-store', state);
  }
});

test('what one gateway answers for a state, another reads as no more than that', () => {
  for (const state of ['pending', 'not-asked', 'unreadable', 'absent'] as const) {
    const { status, cacheControl } = answerTo(state);
    assert.equal(availabilityOf(status, cacheControl) === 'absent', state === 'absent', state);
  }
  assert.equal(
    availabilityOf(404, undefined),
    'absent',
    'as gateways that say nothing about caching mean it',
  );
  assert.equal(availabilityOf(410, 'max-age=5, NO-STORE'), 'not-asked');
  for (const status of [200, 206, 304, 416]) assert.equal(availabilityOf(status, undefined), 'here');
  for (const status of [402, 429, 451, 500, 503]) {
    assert.equal(availabilityOf(status, undefined), 'unreadable', String(status));
  }
});

test('absence is what all say, and one that has it decides', () => {
  assert.equal(together(['absent', 'absent']), 'absent');
  assert.equal(together(['absent', 'not-asked', 'absent']), 'not-asked');
  assert.equal(together(['not-asked', 'pending']), 'pending');
  assert.equal(together(['pending', 'unreadable', 'absent']), 'unreadable');
  assert.equal(together(['unreadable', 'here']), 'here');
  assert.equal(together([]), 'not-asked', 'nobody was asked');
});
