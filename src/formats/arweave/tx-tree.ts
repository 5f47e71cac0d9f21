/**
 * Where the transactions of a block lie in the weave, and the tree that proves it (`tx_root`, `tx_path`).
 * Data is laid out in order of (version, id); each transaction's data starts on a 256 KiB border, and the gap
 * behind it is a leaf of its own, without data.
 */
import { FormatError } from '../format-error.ts';
import { CHUNK_BYTES, nodeSplit } from './chunks.ts';
import { dataRootOf } from './data-root.ts';
import { HASH_BYTES, leafId, MerkleTree, note, sha256 } from './merkle.ts';
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
  const order = [...transactions.keys()].sort((a, b) => compare(transactions[a], transactions[b]));
  const leaves: { id: Buffer; end: number }[] = [];
  const placed: { index: number; leaf: number; start: number; end: number }[] = [];
  let size = 0;
  for (const index of order) {
    const transaction = at(transactions, index);
    const start = size;
    const end = start + transaction.dataSize;
    placed.push({ index, leaf: leaves.length, start, end });
    leaves.push({ id: leafId(transaction.dataRoot, end), end });
    size = start + weaveBytes(transaction.dataSize);
    if (size > end) leaves.push({ id: leafId(Buffer.alloc(0), size), end: size });
  }
  const tree = new MerkleTree({
    ids: Buffer.concat(leaves.map((leaf) => leaf.id)),
    ends: Float64Array.from(leaves, (leaf) => leaf.end),
  });
  const placements: Placement[] = [];
  for (const { index, leaf, start, end } of placed) {
    const txPath = Buffer.concat([tree.branches(leaf), at(transactions, index).dataRoot, note(end)]);
    placements[index] = { start, end, txPath };
  }
  const root = tree.root;
  if (root.length !== 0 && root.length !== HASH_BYTES) throw new FormatError('a root has 32 bytes');
  return { root, size, placements };
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new FormatError(`there is no element ${index}`);
  return item;
}

function compare(a: PlacedTransaction | undefined, b: PlacedTransaction | undefined): number {
  if (a === undefined || b === undefined) return 0;
  return a.format - b.format || Buffer.compare(a.id, b.id);
}
