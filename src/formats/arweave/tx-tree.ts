/**
 * Where the transactions of a block lie in the weave, and the tree that proves it (`tx_root`, `tx_path`).
 * Data is laid out in order of (version, id); each transaction's data starts on a 256 KiB border, and the gap
 * behind it is a leaf of its own, without data.
 */
import { CHUNK_BYTES, nodeSplit } from './chunks.ts';
import { dataRootOf } from './data-root.ts';
import { leafId, MerkleTree, note, sha256 } from './merkle.ts';
import type { Transaction } from './transaction.ts';

export type PlacedTransaction = Pick<Transaction, 'format' | 'id' | 'dataSize' | 'dataRoot'>;

export interface Placement {
  /** First byte, relative to the start of the block's data. */
  readonly start: number;
  /** One past the last byte, without the gap behind it. */
  readonly end: number;
  readonly txPath: Buffer;
}

export interface TxTree {
  /** Empty for a block without transactions. */
  readonly root: Buffer;
  /** How much the weave grows, gaps included. */
  readonly size: number;
  /** In the order the transactions were given. */
  readonly placements: readonly Placement[];
}

/** How much `size` bytes of data grow the weave. */
export function weaveBytes(size: number): number {
  return Math.ceil(size / CHUNK_BYTES) * CHUNK_BYTES;
}

/** The root under which version 1 data is stored: it has none of its own. */
export function versionOneDataRoot(data: Uint8Array): Buffer {
  return data.length === 0 ? leafId(sha256(data), 0) : dataRootOf(data, nodeSplit);
}

/** `dataRoot` of a version 1 transaction must be that of `versionOneDataRoot`. */
export function buildTxTree(transactions: readonly PlacedTransaction[]): TxTree {
  const ordered = [...transactions.entries()].sort(
    ([, a], [, b]) => a.format - b.format || Buffer.compare(a.id, b.id),
  );
  const leaves: { id: Buffer; end: number }[] = [];
  const placed: { index: number; leaf: number; dataRoot: Buffer; start: number; end: number }[] = [];
  let size = 0;
  for (const [index, { dataRoot, dataSize }] of ordered) {
    const start = size;
    const end = start + dataSize;
    placed.push({ index, leaf: leaves.length, dataRoot, start, end });
    leaves.push({ id: leafId(dataRoot, end), end });
    size = start + weaveBytes(dataSize);
    if (size > end) leaves.push({ id: leafId(Buffer.alloc(0), size), end: size });
  }
  const tree = new MerkleTree({
    ids: Buffer.concat(leaves.map((leaf) => leaf.id)),
    ends: Float64Array.from(leaves, (leaf) => leaf.end),
  });
  const placements: Placement[] = [];
  for (const { index, leaf, dataRoot, start, end } of placed) {
    const txPath = Buffer.concat([tree.branches(leaf), dataRoot, note(end)]);
    placements[index] = { start, end, txPath };
  }
  return { root: tree.root, size, placements };
}
