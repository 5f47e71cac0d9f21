/**
 * Deep hash: SHA-384 over a tree of blobs and lists.
 *
 *   blob b       → H( H("blob" ‖ decimal length) ‖ H(b) )
 *   list of n    → acc = H("list" ‖ decimal n); acc = H(acc ‖ deepHash(element)) for each element
 *
 * A blob's length and its bytes are hashed apart, so a blob can be hashed while it streams, before its
 * length is known (`DeepHashBlob`), and the head of a list can be computed once and shared (`deepHashAppend`).
 */
import { createHash, type Hash, hash } from 'node:crypto';

/** Text stands for its UTF-8 bytes. */
export type DeepHashInput = Uint8Array | string | readonly DeepHashInput[];

const DEEP_HASH_BYTES = 48;

const sha384 = (bytes: Uint8Array | string): Buffer => hash('sha384', bytes, 'buffer');

/** Reused between calls: nothing here awaits, and the digest is a buffer of its own. */
const pair = Buffer.allocUnsafe(2 * DEEP_HASH_BYTES);

function hashPair(left: Uint8Array, right: Uint8Array): Buffer {
  pair.set(left, 0);
  pair.set(right, DEEP_HASH_BYTES);
  return sha384(pair);
}

/** Short blobs (numbers, owners, tags) repeat their lengths: their tag hashes are kept. */
const keptLengths = 1_024;
const blobTags: (Buffer | undefined)[] = new Array(keptLengths + 1).fill(undefined);
const listTags: (Buffer | undefined)[] = new Array(keptLengths + 1).fill(undefined);

function tagHash(kept: (Buffer | undefined)[], kind: 'blob' | 'list', length: number): Buffer {
  if (length > keptLengths) return sha384(`${kind}${length}`);
  let tag = kept[length];
  if (tag === undefined) {
    tag = sha384(`${kind}${length}`);
    kept[length] = tag;
  }
  return tag;
}

export function deepHash(input: DeepHashInput): Buffer {
  if (typeof input === 'string') return deepHashBlob(Buffer.from(input, 'utf8'));
  if (input instanceof Uint8Array) return deepHashBlob(input);
  let accumulator = deepHashList(input.length);
  for (const element of input) accumulator = hashPair(accumulator, deepHash(element));
  return accumulator;
}

export function deepHashBlob(bytes: Uint8Array): Buffer {
  return hashPair(tagHash(blobTags, 'blob', bytes.length), sha384(bytes));
}

/** The accumulator of a list of `length` elements before the first is appended. Never write into it. */
export function deepHashList(length: number): Buffer {
  return tagHash(listTags, 'list', length);
}

/** The accumulator after one more element, given that element's deep hash. */
export function deepHashAppend(accumulator: Uint8Array, elementHash: Uint8Array): Buffer {
  return hashPair(accumulator, elementHash);
}

/** A blob hashed piece by piece, in any piece sizes. */
export class DeepHashBlob {
  #hash: Hash = createHash('sha384');
  #length = 0;

  /** Bytes taken so far. */
  get length(): number {
    return this.#length;
  }

  update(bytes: Uint8Array): this {
    this.#hash.update(bytes);
    this.#length += bytes.length;
    return this;
  }

  /** As it is now, to go on from here more than once. */
  copy(): DeepHashBlob {
    const copied = new DeepHashBlob();
    copied.#hash = this.#hash.copy();
    copied.#length = this.#length;
    return copied;
  }

  /** The blob's deep hash; the object is spent afterwards. */
  digest(): Buffer {
    return hashPair(tagHash(blobTags, 'blob', this.#length), this.#hash.digest());
  }
}
