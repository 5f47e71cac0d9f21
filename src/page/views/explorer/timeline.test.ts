import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Journey, journeySteps } from './timeline.ts';

const shown = (journey: Journey) => journeySteps(journey).map(({ id, state }) => `${id} ${state}`);
const item = { isItem: true, isStable: false };
const block = { height: 5, timestamp: 1_700_000_000 };

test('an item goes from receipt over bundle and block to permanent', () => {
  assert.deepEqual(shown({ ...item, upload: { info: 'new' } }), [
    'received done',
    'bundled now',
    'mined waiting',
    'permanent waiting',
  ]);
  assert.deepEqual(shown({ ...item, upload: { info: 'pending', bundleId: 'b' } }), [
    'received done',
    'bundled done',
    'mined now',
    'permanent waiting',
  ]);
  assert.deepEqual(shown({ ...item, block }), [
    'received done',
    'bundled done',
    'mined done',
    'permanent now',
  ]);
  assert.deepEqual(shown({ ...item, block, isStable: true }), [
    'received done',
    'bundled done',
    'mined done',
    'permanent done',
  ]);
  // The gateway has pruned it, the upload service still knows.
  assert.deepEqual(shown({ ...item, upload: { info: 'permanent' } }).at(-1), 'permanent done');
});

test('what failed says where, and a transaction has no bundle', () => {
  assert.deepEqual(shown({ ...item, upload: { info: 'failed' } }), [
    'received done',
    'bundled failed',
    'mined waiting',
    'permanent waiting',
  ]);
  assert.deepEqual(shown({ isItem: false, isStable: false }), [
    'received done',
    'mined now',
    'permanent waiting',
  ]);
  assert.equal(journeySteps({ isItem: false, isStable: false, block, receivedAt: 7 })[0]?.at, 7);
  assert.equal(journeySteps({ isItem: false, isStable: false, block })[1]?.at, 1_700_000_000_000);
});
