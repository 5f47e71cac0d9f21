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

const emptyBlob = deepHashBlob(Buffer.alloc(0));

/** The 48 bytes that are signed, given the deep hash of the payload (`deepHashBlob`, `DeepHashBlob`). */
export function signedMessage(prefix: Uint8Array, fields: SignedFields, dataHash: Uint8Array): Buffer {
  let accumulator = prefix;
  for (const blob of [fields.target, fields.anchor, fields.tagBytes]) {
    accumulator = deepHashAppend(accumulator, blob.length === 0 ? emptyBlob : deepHashBlob(blob));
  }
  return deepHashAppend(accumulator, dataHash);
}
