import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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

test('what has these bytes is known after what was learnt about it is out of date', async (t) => {
  const { id, located } = something(10);
  const cache = new DescriptionCache();
  cache.remember({ ...describedBy(located), hash: 'its hash', stable: false });
  const now = performance.now();
  t.mock.method(performance, 'now', () => now + 3_600_000);
  // The cache looks at the clock once a millisecond.
  await sleep(5);
  assert.equal(cache.idWithHash('its hash'), id);
  assert.equal(cache.idWithHash('another'), undefined);
  assert.equal(cache.get(id), undefined);
});
