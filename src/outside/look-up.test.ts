import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absent, combineLookUps, found, notKnown } from './look-up.ts';

test('one that has it decides, whatever the others say', () => {
  const has = found('tx', 7);
  assert.equal(combineLookUps([absent(9), notKnown(new Error('away')), has]), has);
});

test('absence needs everybody, and holds for the lowest height that anybody answered at', () => {
  assert.deepEqual(combineLookUps([absent(9), absent(5)]), { state: 'absent', at: 5 });
  assert.equal(combineLookUps([absent(9), notKnown(new Error('away')), absent(5)]).state, 'not-known');
});

test('nobody to ask is no absence', () => {
  assert.equal(combineLookUps([]).state, 'not-known');
});
