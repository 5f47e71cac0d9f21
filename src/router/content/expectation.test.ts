import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provenExpectation } from './expectation.ts';
import type { ProvenContent } from './proven-store.ts';

const proven: ProvenContent = {
  digest: '0'.repeat(64),
  size: 1,
  contentType: 'text/plain',
  contentEncoding: undefined,
  method: 'quorum',
  by: [],
  verifiedAt: 0,
};

test('one gateway’s word is no proof against another, however long it was believed', () => {
  assert.ok(provenExpectation(proven).conclusive);
  assert.ok(provenExpectation({ ...proven, method: 'signature' }).conclusive);
  assert.ok(!provenExpectation({ ...proven, method: 'single' }).conclusive);
});
