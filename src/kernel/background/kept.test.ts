import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kept } from './kept.ts';

test('what is found out once is kept, and what failed is tried again', async () => {
  let found = 0;
  const ask = kept(async () => {
    found += 1;
    if (found === 1) throw new Error('away');
    return found;
  });
  await assert.rejects(Promise.all([ask(), ask()]), /away/);
  assert.equal(found, 1, 'who asks meanwhile waits for the same');
  assert.deepEqual(await Promise.all([ask(), ask()]), [2, 2]);
  assert.equal(await ask(), 2);
});
