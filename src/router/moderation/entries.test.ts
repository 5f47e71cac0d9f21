import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalValue } from './entries.ts';

test('a name is compared in lower case, and only what is written in ASCII is one', () => {
  assert.equal(canonicalValue('arns', 'Docs_Kelvin'), 'docs_kelvin');
  // The Kelvin sign, whose lower case is a k.
  assert.equal(canonicalValue('arns', '\u212Aelvin'), undefined);
});
