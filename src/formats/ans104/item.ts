/** A data item that is whole in memory: read without copying, and written. */
import { deepHashBlob } from '../deep-hash.ts';
import {
  encodeItemHeader,
  type ItemHeader,
  type ItemHeaderSource,
  type ItemReadOptions,
  parseItemHeader,
} from './item-header.ts';
import type { ItemProblem } from './item-problem.ts';
import { messagePrefix, signedMessage } from './signed-message.ts';

export interface DataItem {
  readonly header: ItemHeader;
  /** The payload, a view of the bytes that were read. */
  readonly data: Buffer;
}

/** Reads an item whose length is known from outside: everything after the header is its payload. */
export function parseItem(bytes: Buffer, options: ItemReadOptions = {}): DataItem | ItemProblem {
  const header = parseItemHeader(bytes, options);
  return typeof header === 'string' ? header : { header, data: bytes.subarray(header.length) };
}

/** The 48 bytes that the item's signature covers. */
export function itemMessage(item: DataItem, prefix?: Uint8Array): Buffer {
  const { header } = item;
  return signedMessage(
    prefix ?? messagePrefix(header.signatureType, header.owner),
    header,
    deepHashBlob(item.data),
  );
}

export function encodeItem(source: ItemHeaderSource & { readonly data: Uint8Array }): Buffer {
  return Buffer.concat([encodeItemHeader(source), source.data]);
}
