import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DescriptionCache } from './description-cache.ts';
import { describedBy } from './opened.ts';
import { something } from './testing.ts';

test('the hash of pruned content is remembered when its description is read again, of others the index decides', () => {
  const { id, located } = something(10);
  const unread = describedBy({ ...located, hash: undefined });
  const pruned = describedBy({ ...located, hash: undefined, isPruned: true });
  const cache = new DescriptionCache();
  assert.equal(cache.know(pruned).hash, undefined);
  cache.rememberHash(id, 'its hash');
  cache.forget(id);
  assert.equal(cache.know(pruned).hash, 'its hash');
  assert.equal(cache.get(id)?.hash, 'its hash');
  assert.equal(cache.know(unread).hash, undefined);
});
