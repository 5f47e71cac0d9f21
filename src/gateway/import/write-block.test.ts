import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WRITE_BATCH } from '../chain-index/posting-changes.ts';
import { type BlockTransactions, fitsBehind } from './write-block.ts';

const fetched = (id: number, previous: number, transactions: number): BlockTransactions => ({
  block: {
    ...{ height: id, id: Buffer.of(id), previous: Buffer.of(previous), timestamp: 0 },
    ...{ txCount: transactions, blockSize: '0', weaveSize: '0', json: Buffer.alloc(0) },
    txs: Array.from({ length: transactions }, (_, index) => String(index)),
  },
  headers: new Map(),
});

test('blocks are written together when they follow one another and one transaction takes their records', () => {
  const first = fetched(1, 0, 3);
  assert.equal(fitsBehind([first], fetched(2, 1, WRITE_BATCH - 3)), true);
  assert.equal(fitsBehind([first], fetched(2, 1, WRITE_BATCH - 2)), false, 'one record too many');
  assert.equal(fitsBehind([first], fetched(2, 9, 0)), false, 'of another branch');
  assert.equal(
    fitsBehind([first, fetched(2, 1, WRITE_BATCH - 3)], fetched(3, 2, 1)),
    false,
    'all are counted',
  );
  assert.equal(fitsBehind([fetched(1, 0, WRITE_BATCH + 1)], fetched(2, 1, 0)), false, 'behind a large one');
  assert.equal(fitsBehind([], first), false);
});
