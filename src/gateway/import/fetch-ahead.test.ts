import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { FetchAhead } from './fetch-ahead.ts';
import type { BlockTransactions } from './write-block.ts';

test('what nobody waits for any more is not fetched to its end', async () => {
  const begun: number[] = [];
  const given: number[] = [];
  const ahead = new FetchAhead(async (height, signal) => {
    begun.push(height);
    if (height === 1) throw new Error('a node failed');
    await once(signal, 'abort');
    given.push(height);
    throw signal.reason;
  }, new AbortController().signal);
  for (const height of [1, 2, 3, 2]) ahead.fetch(height);
  await assert.rejects(ahead.take(1), /a node failed/);
  ahead.stop();
  await new Promise(setImmediate);
  assert.deepEqual(
    [begun, given],
    [
      [1, 2, 3],
      [2, 3],
    ],
  );
});

test('fetching ends with the importer too', async () => {
  const stopping = new AbortController();
  const ahead = new FetchAhead(async (_height, signal) => {
    await once(signal, 'abort');
    throw signal.reason;
  }, stopping.signal);
  ahead.fetch(7);
  stopping.abort(new Error('the gateway is stopping'));
  await assert.rejects(ahead.take(7), /stopping/);
  assert.equal(await ahead.take(8), undefined);
});

const fetchedBlock = (height: number): BlockTransactions => ({
  block: {
    ...{ height, id: Buffer.of(height), previous: Buffer.of(height - 1), timestamp: 0, txCount: 0, txs: [] },
    ...{ blockSize: '0', weaveSize: '0', json: Buffer.alloc(0) },
  },
  headers: new Map(),
});
const heights = (blocks: readonly BlockTransactions[]) => blocks.map(({ block }) => block.height);

test('blocks that are here already are taken with the one before them, the others when it is their turn', async () => {
  const slow = Promise.withResolvers<BlockTransactions>();
  const ahead = new FetchAhead(async (height) => {
    if (height === 4) throw new Error('a node failed');
    return height === 8 ? await slow.promise : fetchedBlock(height);
  }, new AbortController().signal);
  for (const height of [1, 2, 3, 4, 5, 6, 7, 8, 9]) ahead.fetch(height);
  const take = async (height: number) => {
    const block = await ahead.take(height);
    assert.ok(block);
    return block;
  };
  const first = await take(1);
  await new Promise(setImmediate);
  assert.deepEqual(
    heights(ahead.takeBehind([first], (before) => before.length < 2)),
    [1, 2],
    'as far as they fit',
  );
  assert.deepEqual(heights(ahead.takeBehind([fetchedBlock(2)], () => true)), [2, 3], 'not one that failed');
  await assert.rejects(ahead.take(4), /a node failed/, 'a failure waits for its turn');
  const behind = ahead.takeBehind([await take(5)], () => true);
  assert.deepEqual(heights(behind), [5, 6, 7], 'none behind one that is on its way');
  slow.resolve(fetchedBlock(8));
  assert.deepEqual(heights(ahead.takeBehind([await take(8)], () => true)), [8, 9]);
  assert.deepEqual(heights(ahead.takeBehind([fetchedBlock(1)], () => true)), [1], 'each is taken once');
});
