/**
 * Checks a merkle path from a root to the leaf that covers an offset. A path is its branches from the root
 * down (left id ‖ right id ‖ note, 96 bytes each), then the leaf (data ‖ note, 64 bytes). A branch behind 32
 * zero bytes is rebased: the offsets of the child below it start at 0 again.
 *
 * What else is asked depends on where in the weave the data lies (each line adds to the one before):
 *
 * - `basic`: the hashes lead to the root;
 * - `borders`: no leaf covers more than 256 KiB;
 * - `strict`: the data is cut as the node cuts it, so that every chunk owns one 256 KiB bucket;
 * - `rebase`: the same for trees with rebased subtrees, which may start at any bucket.
 */
import { CHUNK_BYTES } from './chunks.ts';
import {
  BRANCH_BYTES,
  HASH_BYTES,
  hashBranch,
  hashLeaf,
  LEAF_BYTES,
  NOTE_BYTES,
  readNote,
} from './merkle.ts';

export type ProofRules = 'basic' | 'borders' | 'strict' | 'rebase';

export interface ProvenLeaf {
  /** SHA-256 of the chunk, or the data_root of the transaction. */
  readonly data: Buffer;
  /** First byte the leaf covers. */
  readonly start: number;
  /** One past the last. */
  readonly end: number;
}

/** A path longer than this is refused by the node as `data_path_too_big`. */
export const MAX_PATH_BYTES = 262_144;

/** Where the walk stands: the part of the tree that is left, in the offsets of the innermost rebase. */
interface Position {
  id: Uint8Array;
  offset: number;
  left: number;
  right: number;
  /** What to add to an offset here to get one of the whole tree. */
  shift: number;
  /** True while only right turns were taken since the last rebase; undefined before the first turn. */
  rightMost: boolean | undefined;
}

/** The leaf that covers `offset` in a tree of `size` bytes; undefined when the path does not prove it. */
export function verifyPath(
  root: Uint8Array,
  offset: number,
  size: number,
  path: Uint8Array,
  rules: ProofRules = 'rebase',
): ProvenLeaf | undefined {
  if (!(offset >= 0 && offset < size) || path.length > MAX_PATH_BYTES) return undefined;
  const position: Position = { id: root, offset, left: 0, right: size, shift: 0, rightMost: undefined };
  let at = 0;
  while (path.length - at !== LEAF_BYTES) {
    const rebased = rules === 'rebase' && isZero(path, at);
    if (rebased) at += HASH_BYTES;
    if (path.length - at < BRANCH_BYTES + LEAF_BYTES) return undefined;
    if (!descend(position, path.subarray(at, at + BRANCH_BYTES), rebased)) return undefined;
    at += BRANCH_BYTES;
  }
  return leafAt(position, path.subarray(at), size, rules);
}

/** The end offset that the leaf of a path claims, unproven. */
export function claimedEnd(path: Uint8Array): number | undefined {
  return path.length < LEAF_BYTES ? undefined : readNote(path, path.length - NOTE_BYTES);
}

function isZero(path: Uint8Array, at: number): boolean {
  for (let index = at; index < at + HASH_BYTES; index += 1) if (path[index] !== 0) return false;
  return true;
}

function descend(position: Position, branch: Uint8Array, rebased: boolean): boolean {
  const leftId = branch.subarray(0, HASH_BYTES);
  const rightId = branch.subarray(HASH_BYTES, 2 * HASH_BYTES);
  if (!equal(hashBranch(leftId, rightId, branch.subarray(2 * HASH_BYTES)), position.id)) return false;
  const border = readNote(branch, 2 * HASH_BYTES);
  if (position.offset < border) {
    position.id = leftId;
    position.right = Math.min(position.right, border);
    position.rightMost = false;
  } else {
    position.id = rightId;
    position.left = Math.max(position.left, border);
    position.rightMost = position.rightMost ?? true;
  }
  if (rebased) {
    position.offset -= position.left;
    position.right -= position.left;
    position.shift += position.left;
    position.left = 0;
    position.rightMost = undefined;
  }
  return true;
}

function leafAt(
  position: Position,
  leaf: Uint8Array,
  size: number,
  rules: ProofRules,
): ProvenLeaf | undefined {
  const { left, right, shift } = position;
  const data = leaf.subarray(0, HASH_BYTES);
  if (!equal(hashLeaf(data, leaf.subarray(HASH_BYTES)), position.id)) return undefined;
  const end = readNote(leaf, HASH_BYTES);
  if (rules !== 'basic' && (end - left > CHUNK_BYTES || right - left > CHUNK_BYTES)) return undefined;
  if (rules === 'strict' && !isStrictSplit(left, end, right, size)) return undefined;
  if (rules === 'rebase' && !ownsBucket(shift + left, shift + end, position.rightMost)) return undefined;
  return {
    data: Buffer.from(data),
    start: shift + left,
    end: shift + Math.max(Math.min(right, end), left + 1),
  };
}

/** Whole chunks lie in one bucket; the last reaches into its own; only the second last may be short beside it. */
function isStrictSplit(left: number, end: number, right: number, size: number): boolean {
  if (end - left === CHUNK_BYTES) return left % CHUNK_BYTES === 0;
  if (end === size) return right % CHUNK_BYTES > 0 && left <= right - (right % CHUNK_BYTES);
  return left % CHUNK_BYTES === 0 && size - left > CHUNK_BYTES && size - left < 2 * CHUNK_BYTES;
}

/** The last chunk of a subtree may also start inside the bucket before, if it ends inside its own. */
function ownsBucket(start: number, end: number, rightMost: boolean | undefined): boolean {
  if (start % CHUNK_BYTES === 0) return true;
  const startBucket = Math.floor(start / CHUNK_BYTES);
  return rightMost === true && Math.floor(end / CHUNK_BYTES) === startBucket + 1 && end % CHUNK_BYTES !== 0;
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
