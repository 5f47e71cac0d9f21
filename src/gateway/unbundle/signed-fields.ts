/** What an item's own header says of it, as the index keeps it. */
import { hash } from 'node:crypto';
import type { ItemHeader } from '../../formats/ans104/item-header.ts';
import type { Header } from '../chain-index/records.ts';
import { rawTagsOf } from './item-columns.ts';

export type SignedFields = Pick<
  Header,
  'signature' | 'ownerKey' | 'ownerAddress' | 'signatureType' | 'target' | 'anchor' | 'tags'
>;

export function signedFields(header: ItemHeader): SignedFields {
  return {
    signature: header.signature,
    ownerKey: header.owner,
    ownerAddress: hash('sha256', header.owner, 'buffer'),
    signatureType: header.signatureType,
    target: orNull(header.target),
    anchor: orNull(header.anchor),
    tags: rawTagsOf(header),
  };
}

export function orNull(bytes: Buffer): Buffer | null {
  return bytes.length === 0 ? null : bytes;
}
