/** What travels between the unbundler and its threads: batches of items in, their headers in columns out. */
import type { ItemHeader } from '../../formats/ans104/item-header.ts';
import { chainTagLimits, walkTags } from '../../formats/avro-tags.ts';
import type { RawTag } from '../chain-index/tags.ts';

export interface ItemBatch {
  readonly bytes: ArrayBuffer;
  /** Start and length of each item in `bytes`. */
  readonly offsets: Float64Array;
  readonly sizes: Float64Array;
  /** 32 bytes each: the ids that the bundle's header states. */
  readonly ids: Uint8Array<ArrayBuffer>;
}

/** Cells of one item in `ReadBatch.lengths`. */
export const lengthCells = 7;

export interface ReadBatch {
  /** 0 = valid, else one more than the index of the problem in `itemProblemCodes`. */
  readonly verdicts: Uint8Array<ArrayBuffer>;
  /** Per item: signature type, header, signature, owner, target, anchor, packed tags. */
  readonly lengths: Uint32Array<ArrayBuffer>;
  /** Signature, owner, target, anchor and packed tags of every valid item, one after the other. */
  readonly fields: Uint8Array<ArrayBuffer>;
  /** SHA-256 of owner and payload, 64 bytes an item. */
  readonly digests: Uint8Array<ArrayBuffer>;
}

/** Tags as bytes: the chain has some that are not UTF-8. */
export function rawTagsOf(header: ItemHeader): RawTag[] {
  const tags: RawTag[] = [];
  const bytes = header.tagBytes;
  const count = walkTags(
    bytes,
    0,
    bytes.length,
    chainTagLimits,
    (nameStart, nameEnd, valueStart, valueEnd) => {
      tags.push({ name: bytes.subarray(nameStart, nameEnd), value: bytes.subarray(valueStart, valueEnd) });
    },
  );
  return count === -1 ? [] : tags;
}
