import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { CHUNK_BYTES } from './chunks.ts';
import { dataTreeOf } from './data-root.ts';
import { hashBranch, leafId, MerkleTree, note } from './merkle.ts';
import { claimedEnd, verifyPath } from './proof.ts';

const sha256 = (bytes: Uint8Array | string) => hash('sha256', bytes, 'buffer');

/** A tree over given leaf data and ends, and the path of each leaf. */
function treeOf(leaves: { data: Buffer; end: number }[]) {
  const tree = new MerkleTree({
    ids: Buffer.concat(leaves.map((leaf) => leafId(leaf.data, leaf.end))),
    ends: Float64Array.from(leaves, (leaf) => leaf.end),
  });
  const path = (index: number) =>
    Buffer.concat([
      tree.branches(index),
      leaves[index]?.data ?? Buffer.alloc(0),
      note(leaves[index]?.end ?? 0),
    ]);
  return { root: tree.root, path };
}

test('a path proves its own range and nothing else', () => {
  const size = 3 * CHUNK_BYTES + 50_000;
  const tree = dataTreeOf(seededRandom(21).bytes(size));
  const proofs = [...tree.proofs()];
  for (const proof of proofs) {
    for (const other of proofs) {
      const leaf = verifyPath(tree.root, other.start, size, proof.dataPath);
      if (other === proof) assert.equal(leaf?.end, proof.end);
      else assert.equal(leaf, undefined);
    }
    assert.equal(claimedEnd(proof.dataPath), proof.end);
    assert.equal(verifyPath(sha256('other root'), proof.start, size, proof.dataPath), undefined);
  }
  const first = proofs[0]?.dataPath ?? Buffer.alloc(0);
  for (const offset of [-1, size, Number.NaN, Number.MAX_SAFE_INTEGER]) {
    assert.equal(verifyPath(tree.root, offset, size, first), undefined);
  }
});

test('leaves that cover more than a chunk pass only the basic rules', () => {
  const { root, path } = treeOf([{ data: sha256('wide'), end: CHUNK_BYTES + 1 }]);
  const size = CHUNK_BYTES + 1;
  assert.equal(verifyPath(root, 0, size, path(0), 'basic')?.end, size);
  for (const rules of ['borders', 'strict', 'rebase'] as const) {
    assert.equal(verifyPath(root, 0, size, path(0), rules), undefined, rules);
  }
});

test('chunks that share a bucket break the strict rules', () => {
  const size = 3 * CHUNK_BYTES;
  const { root, path } = treeOf([
    { data: sha256('a'), end: 100_000 },
    { data: sha256('b'), end: 200_000 },
    { data: sha256('c'), end: 200_000 + CHUNK_BYTES },
    { data: sha256('d'), end: size },
  ]);
  assert.ok(verifyPath(root, 150_000, size, path(1), 'basic'));
  assert.ok(verifyPath(root, 150_000, size, path(1), 'borders'));
  for (const [index, offset] of [0, 150_000, 300_000].entries()) {
    assert.equal(verifyPath(root, offset, size, path(index), 'strict'), undefined, `chunk ${index}`);
  }
  assert.equal(verifyPath(root, 150_000, size, path(1), 'rebase'), undefined);
  assert.equal(verifyPath(root, 300_000, size, path(2), 'rebase'), undefined);
});

test('a rebased subtree counts its offsets from zero', () => {
  // Two data sets joined under one root; each keeps the tree it was made with.
  const random = seededRandom(22);
  const left = random.bytes(2 * CHUNK_BYTES);
  const right = random.bytes(CHUNK_BYTES + 40_000);
  const splitNone = { style: 'balanced', zeroLeaf: false } as const;
  const trees = [dataTreeOf(left, splitNone), dataTreeOf(right, splitNone)];
  const [leftTree, rightTree] = trees;
  assert.ok(leftTree && rightTree);
  const branch = Buffer.concat([leftTree.root, rightTree.root, note(left.length)]);
  const root = hashBranch(leftTree.root, rightTree.root, note(left.length));
  const size = left.length + right.length;
  for (const [tree, data, base] of [
    [leftTree, left, 0],
    [rightTree, right, left.length],
  ] as const) {
    for (const { start, end, dataPath } of tree.proofs()) {
      const path = Buffer.concat([Buffer.alloc(32), branch, dataPath]);
      const expected = { data: sha256(data.subarray(start, end)), start: base + start, end: base + end };
      assert.deepEqual(verifyPath(root, base + start, size, path, 'rebase'), expected);
      assert.deepEqual(verifyPath(root, base + end - 1, size, path, 'rebase'), expected);
      assert.equal(verifyPath(root, base + start, size, path, 'strict'), undefined);
      const unmarked = Buffer.concat([branch, dataPath]);
      if (base > 0)
        assert.equal(verifyPath(root, base + start, size, unmarked, 'rebase')?.end === base + end, false);
    }
  }
});

test('rebased subtrees nest, and each starts on a bucket border', () => {
  const leaf = (name: string, end: number) => ({ id: leafId(sha256(name), end), data: sha256(name), end });
  const third = leaf('third', CHUNK_BYTES);
  const fourth = leaf('fourth', CHUNK_BYTES);
  const inner = hashBranch(third.id, fourth.id, note(CHUNK_BYTES));
  const first = leaf('first', CHUNK_BYTES);
  const root = hashBranch(first.id, inner, note(CHUNK_BYTES));
  const size = 3 * CHUNK_BYTES;
  const zero = Buffer.alloc(32);
  const path = Buffer.concat([
    zero,
    first.id,
    inner,
    note(CHUNK_BYTES),
    zero,
    third.id,
    fourth.id,
    note(CHUNK_BYTES),
    fourth.data,
    note(fourth.end),
  ]);
  assert.deepEqual(verifyPath(root, 2 * CHUNK_BYTES + 5, size, path, 'rebase'), {
    data: fourth.data,
    start: 2 * CHUNK_BYTES,
    end: size,
  });
  const shifted = hashBranch(first.id, inner, note(CHUNK_BYTES - 7));
  const shiftedPath = Buffer.from(path);
  note(CHUNK_BYTES - 7).copy(shiftedPath, 96);
  assert.equal(verifyPath(shifted, 2 * CHUNK_BYTES - 7, size - 7, shiftedPath, 'rebase'), undefined);
  assert.ok(
    verifyPath(
      root,
      0,
      size,
      Buffer.concat([zero, first.id, inner, note(CHUNK_BYTES), first.data, note(first.end)]),
    ),
  );
});

test('notes beyond 2^53 are compared, not rounded into range', () => {
  const data = sha256('x');
  const huge = Buffer.alloc(32, 0xff);
  const id = (() => {
    const parts = Buffer.concat([sha256(data), sha256(huge)]);
    return sha256(parts);
  })();
  const path = Buffer.concat([data, huge]);
  assert.equal(verifyPath(id, 0, 10, path, 'basic')?.end, 10);
  assert.equal(verifyPath(id, 0, 10, path, 'borders'), undefined);
});

test('50,000 random and damaged paths are refused without a throw', () => {
  const random = seededRandom(23);
  const size = 5 * CHUNK_BYTES + 12_345;
  const tree = dataTreeOf(Buffer.alloc(size, 9));
  const proofs = [...tree.proofs()];
  for (let round = 0; round < 50_000; round += 1) {
    const proof = random.pick(proofs);
    const path = round % 3 === 0 ? random.bytes(random.below(400)) : random.mangle(proof.dataPath);
    const rules = random.pick(['basic', 'borders', 'strict', 'rebase'] as const);
    const leaf = verifyPath(tree.root, proof.start, size, path, rules);
    if (leaf !== undefined) assert.deepEqual(path, proof.dataPath);
  }
});
