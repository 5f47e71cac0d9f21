import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownExpectation } from './expectation.ts';
import type { Known } from './known.ts';

const known: Known = {
  digest: '0'.repeat(64),
  size: 1,
  contentType: 'text/plain',
  contentEncoding: undefined,
  method: 'quorum',
  by: [],
  verifiedAt: 0,
};

test('one gateway’s word is no proof against another, however long it was believed', () => {
  assert.ok(knownExpectation(known).conclusive);
  assert.ok(knownExpectation({ ...known, method: 'signature' }).conclusive);
  assert.ok(!knownExpectation({ ...known, method: 'single' }).conclusive);
});
