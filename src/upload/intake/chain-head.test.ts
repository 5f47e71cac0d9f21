import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../kernel/testing.ts';
import { createChainHead } from './chain-head.ts';

test('nodes that do not tell the height are told of: at once where it was never known, else after a while', async () => {
  const time = { now: 1_000_000_000 };
  let answer: number | undefined;
  const nodes = {
    height: async () => {
      if (answer === undefined) throw new Error('away');
      return answer;
    },
  };
  const head = createChainHead(nodes, silentLog, () => time.now);
  assert.deepEqual(head.problems(), [], 'nobody was asked yet');
  await head.refresh();
  assert.deepEqual(head.problems(), ['No Arweave node tells the height of the chain.']);
  answer = 7;
  await head.refresh();
  assert.deepEqual([head.height, head.problems()], [7, []]);
  answer = undefined;
  await head.refresh();
  assert.deepEqual([head.height, head.problems()], [7, []]);
  time.now += 6 * 60_000;
  assert.deepEqual(head.problems(), ['No Arweave node tells the height of the chain.']);
});
