import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptTicks } from './keep-next-tick-fast.ts';

test('one tick is kept for ever, and only one', async () => {
  assert.equal(keptTicks().length, 1);
  await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.equal(keptTicks().length, 1);
});
