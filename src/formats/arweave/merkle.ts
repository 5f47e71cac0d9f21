/**
 * The chain's merkle tree over byte ranges, used for the chunks of one transaction (`data_root`) and for the
 * transactions of one block (`tx_root`). With H = SHA-256 and note(n) = n as 32 bytes, big endian:
 *
 *   leaf id    = H( H(data) ‖ H(note(end)) )
 *   branch id  = H( H(left id) ‖ H(right id) ‖ H(note(left end)) )
 *
 * Neighbours pair up level by level; an odd last node moves up unchanged. Nodes are kept as flat buffers,
 * 40 bytes each.
 */
import { hash } from 'node:crypto';

export const HASH_BYTES = 32;
export const NOTE_BYTES = 32;
export const BRANCH_BYTES = 2 * HASH_BYTES + NOTE_BYTES;
export const LEAF_BYTES = HASH_BYTES + NOTE_BYTES;

export const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

/** Reused between calls: nothing here awaits, and the digest is a buffer of its own. */
const scratch = Buffer.alloc(3 * HASH_BYTES);
const scratchPair = scratch.subarray(0, 2 * HASH_BYTES);
const scratchNote = Buffer.alloc(NOTE_BYTES);

/** Writes `value` (a safe integer) as a note at `at`. */
function writeNote(target: Buffer, value: number, at: number): void {
  target.fill(0, at, at + NOTE_BYTES - 8);
  target.writeUInt32BE(Math.floor(value / 2 ** 32), at + NOTE_BYTES - 8);
  target.writeUInt32BE(value >>> 0, at + NOTE_BYTES - 4);
}

export function note(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(NOTE_BYTES);
  writeNote(bytes, value, 0);
  return bytes;
}

/** Reads a note; beyond 2^53 - 1 it saturates, which compares the same with any size that can exist here. */
export function readNote(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let index = at; index < at + NOTE_BYTES; index += 1) {
    value = value * 256 + (bytes[index] ?? 0);
    if (value > Number.MAX_SAFE_INTEGER) return Number.MAX_SAFE_INTEGER;
  }
  return value;
}

export function leafId(data: Uint8Array, end: number): Buffer {
  writeNote(scratchNote, end, 0);
  return hashLeaf(data, scratchNote);
}

export function hashLeaf(data: Uint8Array, noteBytes: Uint8Array): Buffer {
  scratch.set(sha256(data), 0);
  scratch.set(sha256(noteBytes), HASH_BYTES);
  return sha256(scratchPair);
}

export function hashBranch(left: Uint8Array, right: Uint8Array, noteBytes: Uint8Array): Buffer {
  scratch.set(sha256(left), 0);
  scratch.set(sha256(right), HASH_BYTES);
  scratch.set(sha256(noteBytes), 2 * HASH_BYTES);
  return sha256(scratch);
}

/** One row of nodes: their ids back to back, and the end offset of what each covers. */
export interface Level {
  readonly ids: Buffer;
  readonly ends: Float64Array;
}

const idAt = (level: Level, index: number): Buffer =>
  level.ids.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);

const endAt = (level: Level, index: number): number => level.ends[index] ?? 0;

export class MerkleTree {
  /** From the leaves up; the last level is the root alone. */
  readonly #levels: Level[];

  constructor(leaves: Level) {
    this.#levels = [leaves];
    for (let level = leaves; level.ends.length > 1; ) {
      level = levelAbove(level);
      this.#levels.push(level);
    }
  }

  /** 32 bytes; empty for a tree without leaves. */
  get root(): Buffer {
    return Buffer.from(this.#levels.at(-1)?.ids ?? []);
  }

  /** The branches from the root down to leaf `index`, without the leaf itself. */
  branches(index: number): Buffer {
    const parts: Buffer[] = [];
    for (let at = index, height = 0; height < this.#levels.length - 1; at >>= 1, height += 1) {
      const level = this.#levels[height];
      const left = at & ~1;
      if (level === undefined || left + 1 >= level.ends.length) continue;
      const branch = Buffer.allocUnsafe(BRANCH_BYTES);
      branch.set(idAt(level, left), 0);
      branch.set(idAt(level, left + 1), HASH_BYTES);
      writeNote(branch, endAt(level, left), 2 * HASH_BYTES);
      parts.push(branch);
    }
    return Buffer.concat(parts.reverse());
  }
}

function levelAbove(level: Level): Level {
  const count = Math.ceil(level.ends.length / 2);
  const ids = Buffer.allocUnsafe(count * HASH_BYTES);
  const ends = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    const left = 2 * index;
    if (left + 1 === level.ends.length) {
      ids.set(idAt(level, left), index * HASH_BYTES);
      ends[index] = endAt(level, left);
      continue;
    }
    writeNote(scratchNote, endAt(level, left), 0);
    ids.set(hashBranch(idAt(level, left), idAt(level, left + 1), scratchNote), index * HASH_BYTES);
    ends[index] = endAt(level, left + 1);
  }
  return { ids, ends };
}
