/** Ways to know that bytes are the right ones, fed while they pass. */
import type { BodyCheck } from '../../delivery/download.ts';
import type { ItemHeader } from '../../formats/ans104/item-header.ts';
import {
  CHUNK_BYTES,
  clientSplit,
  MIN_CHUNK_BYTES,
  nodeSplit,
  type Split,
} from '../../formats/arweave/chunks.ts';
import { DataRootBuilder } from '../../formats/arweave/data-root.ts';
import { DeepHashBlob } from '../../formats/deep-hash.ts';
import { verifyStreamed } from '../../wallets/data-items/verify.ts';

export type NewBodyCheck = () => BodyCheck;

export function digestCheck(expected: string): NewBodyCheck {
  return () => ({
    update() {},
    finish: (digest) => digest === expected,
  });
}

/** An item's header as a gateway handed it over: whether its fields are the signed ones, only the bytes show. */
export interface ClaimedHeader {
  readonly item: ItemHeader;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

/**
 * Bytes that the item's owner signed: the id is the hash of that signature, so nobody needs to be believed.
 * Several gateways may have handed over a header; those that come late are looked at when the first is not it.
 * The first was then forged, and told; the bytes count as right only where it described them truly all the same.
 */
export function itemCheck(
  first: ClaimedHeader,
  others: () => Promise<readonly ClaimedHeader[]>,
  forged: () => void,
): NewBodyCheck {
  return () => {
    const data = new DeepHashBlob();
    return {
      update: (piece) => void data.update(piece),
      async finish() {
        const dataHash = data.digest();
        const signed = ({ item: header }: ClaimedHeader) =>
          verifyStreamed({ header, dataHash }, { lenient: true });
        if (signed(first)) return true;
        const right = (await others()).find((other) => other.item !== first.item && signed(other));
        if (right === undefined) return false;
        forged();
        return right.contentType === first.contentType && right.contentEncoding === first.contentEncoding;
      },
    };
  };
}

/** Bytes under the root that a transaction's owner signed. */
export function dataRootCheck(root: Buffer, dataSize: number): NewBodyCheck {
  return () => {
    const builders = splitsOf(dataSize).map((split) => new DataRootBuilder(split));
    return {
      update(piece) {
        for (const builder of builders) builder.update(piece);
      },
      finish: (_digest, size) =>
        size === dataSize && builders.some((builder) => builder.finish().root.equals(root)),
    };
  };
}

/** The legal trees over so many bytes; for most sizes there is one. */
function splitsOf(size: number): Split[] {
  const rest = size % CHUNK_BYTES;
  if (size > 0 && rest === 0) return [clientSplit, { ...clientSplit, zeroLeaf: false }];
  if (size > CHUNK_BYTES && rest < MIN_CHUNK_BYTES) return [clientSplit, nodeSplit];
  return [clientSplit];
}
