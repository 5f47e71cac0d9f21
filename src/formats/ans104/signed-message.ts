/**
 * What an item's signature covers: the deep hash of eight blobs, "dataitem", "1", the type in decimal, owner,
 * target, anchor, tag bytes and data. The first four repeat for every item of a wallet, so their accumulator
 * is a value of its own that callers may keep.
 */
import { deepHashAppend, deepHashBlob, deepHashList } from '../deep-hash.ts';
import type { SignatureType } from './signature-types.ts';

const opening = ['dataitem', '1'].reduce(
  (accumulator, text) => deepHashAppend(accumulator, deepHashBlob(Buffer.from(text))),
  deepHashList(8),
);
const openings = new Map<SignatureType, Buffer>();

/** The accumulator after the owner: the same for all items of one wallet. */
export function messagePrefix(signatureType: SignatureType, owner: Uint8Array): Buffer {
  let accumulator = openings.get(signatureType);
  if (accumulator === undefined) {
    accumulator = deepHashAppend(opening, deepHashBlob(Buffer.from(String(signatureType))));
    openings.set(signatureType, accumulator);
  }
  return deepHashAppend(accumulator, deepHashBlob(owner));
}

export interface SignedFields {
  readonly target: Uint8Array;
  readonly anchor: Uint8Array;
  readonly tagBytes: Uint8Array;
}

const none = Buffer.alloc(0);
const emptyBlob = deepHashBlob(none);

/** The 48 bytes that are signed, given the deep hash of the payload (`deepHashBlob`, `DeepHashBlob`). */
export function signedMessage(prefix: Uint8Array, fields: SignedFields, dataHash: Uint8Array): Buffer {
  const beforeTags = append(append(prefix, fields.target), fields.anchor);
  return signedMessageFromTags(beforeTags, fields.tagBytes, dataHash);
}

/** The accumulator before the tags of items without target and anchor: the same for all of one wallet, as the prefix is. */
export const plainPrefix = (prefix: Uint8Array): Buffer => append(append(prefix, none), none);

/** The same 48 bytes, given the accumulator before the tags. */
export function signedMessageFromTags(
  beforeTags: Uint8Array,
  tagBytes: Uint8Array,
  dataHash: Uint8Array,
): Buffer {
  return deepHashAppend(append(beforeTags, tagBytes), dataHash);
}

function append(accumulator: Uint8Array, blob: Uint8Array): Buffer {
  return deepHashAppend(accumulator, blob.length === 0 ? emptyBlob : deepHashBlob(blob));
}
