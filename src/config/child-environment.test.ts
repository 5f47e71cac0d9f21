import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childEnvironment, unlessSet } from './child-environment.ts';

test('a program that is started is told where things are, and no key', () => {
  const told = childEnvironment({ PATH: '/bin', STRIPE_SECRET_KEY: 'sk' });
  assert.equal(told.PATH, '/bin');
  assert.ok(!('STRIPE_SECRET_KEY' in told));
});

test('what an operator has set is left as it is', () => {
  assert.deepEqual(unlessSet({ A: '1', B: '2' }, { A: '7' }), { B: '2' });
});
