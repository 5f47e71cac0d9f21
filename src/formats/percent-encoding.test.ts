import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryDecodePercent } from './percent-encoding.ts';

test('what is escaped is read, and what is no escape is not', () => {
  assert.equal(tryDecodePercent('a%20b%C3%A9+'), 'a bé+');
  for (const text of ['%', '100%', '%2', '%zz', '%ff', 'ok%C3'])
    assert.equal(tryDecodePercent(text), undefined, text);
});
