import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { CHUNK_BYTES } from './chunks.ts';
import { verifyPath } from './proof.ts';
import { buildTxTree, versionOneDataRoot, weaveBytes } from './tx-tree.ts';

const random = seededRandom(41);
const some = (count: number) =>
  Array.from({ length: count }, () => {
    const dataSize = random.pick([0, 1, 1_000, CHUNK_BYTES, CHUNK_BYTES + 1, 5 * CHUNK_BYTES - 1]);
    return {
      format: random.pick([1, 2] as const),
      id: random.bytes(32),
      dataSize,
      dataRoot: dataSize === 0 ? Buffer.alloc(0) : random.bytes(32),
    };
  });

test('a block without transactions has an empty root and adds nothing', () => {
  assert.deepEqual(buildTxTree([]), { root: Buffer.alloc(0), size: 0, placements: [] });
});

test('every transaction with data starts on a border and is proven by its path', () => {
  for (const count of [1, 2, 3, 7, 40]) {
    const transactions = some(count);
    const tree = buildTxTree(transactions);
    assert.equal(
      tree.size,
      transactions.reduce((sum, { dataSize }) => sum + weaveBytes(dataSize), 0),
    );
    for (const [index, { start, end, txPath }] of tree.placements.entries()) {
      const transaction = transactions[index];
      assert.equal(start % CHUNK_BYTES, 0);
      assert.equal(end - start, transaction?.dataSize);
      if (end === start) continue;
      for (const offset of [start, end - 1]) {
        const leaf = verifyPath(tree.root, offset, tree.size, txPath, 'basic');
        assert.deepEqual(leaf, { data: transaction?.dataRoot, start, end });
      }
    }
  }
});

test('the layout depends on version and id, not on the order given', () => {
  const transactions = some(9);
  const tree = buildTxTree(transactions);
  const reversed = buildTxTree(transactions.toReversed());
  assert.deepEqual(reversed.root, tree.root);
  assert.deepEqual(reversed.placements.toReversed(), tree.placements);
  const starts = transactions
    .map((transaction, index) => ({ transaction, start: tree.placements[index]?.start ?? -1 }))
    .filter(({ transaction }) => transaction.dataSize > 0)
    .sort((a, b) => a.start - b.start);
  for (const [index, { transaction }] of starts.entries()) {
    const next = starts[index + 1]?.transaction;
    if (next !== undefined) assert.ok(transaction.format <= next.format);
  }
});

test('version 1 data has the root of the splitter of the node', () => {
  assert.equal(versionOneDataRoot(Buffer.alloc(0)).length, 32);
  assert.notDeepEqual(
    versionOneDataRoot(Buffer.alloc(CHUNK_BYTES + 5)),
    versionOneDataRoot(Buffer.alloc(CHUNK_BYTES + 6)),
  );
});
