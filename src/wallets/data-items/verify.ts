/** Whether a data item was signed by its owner. One verifier for every signature type, strict unless `lenient`. */
import { type DataItem, parseItem } from '../../formats/ans104/item.ts';
import type { ItemReadOptions } from '../../formats/ans104/item-header.ts';
import type { ItemEnd } from '../../formats/ans104/item-parser.ts';
import type { ItemProblem } from '../../formats/ans104/item-problem.ts';
import { deepHashBlob } from '../../formats/deep-hash.ts';
import { itemOwner } from './owner.ts';

/** Reads and verifies an item that is whole in memory; answers it, or what is wrong with it. */
export function verifyItem(bytes: Buffer, options: ItemReadOptions = {}): DataItem | ItemProblem {
  const item = parseItem(bytes, options);
  if (typeof item === 'string') return item;
  return verifyParsed(item, options) ? item : 'signature';
}

/** The same with the signature on the thread pool, where many items are verified at the same time. */
export async function verifyItemAsync(
  bytes: Buffer,
  options: ItemReadOptions = {},
): Promise<DataItem | ItemProblem> {
  const item = parseItem(bytes, options);
  if (typeof item === 'string') return item;
  const { header, data } = item;
  const owner = itemOwner(header.signatureType, header.owner);
  const message = owner.message(header, deepHashBlob(data));
  return (await owner.verifyAsync(message, header.signature, options)) ? item : 'signature';
}

export function verifyParsed(item: DataItem, options: ItemReadOptions = {}): boolean {
  return verifyHashed(item.header, deepHashBlob(item.data), options);
}

/** Verifies an item that was streamed through an `ItemParser`. */
export function verifyStreamed(
  end: Pick<ItemEnd, 'header' | 'dataHash'>,
  options: ItemReadOptions = {},
): boolean {
  return verifyHashed(end.header, end.dataHash, options);
}

function verifyHashed(header: ItemEnd['header'], dataHash: Buffer, options: ItemReadOptions): boolean {
  const owner = itemOwner(header.signatureType, header.owner);
  return owner.verify(owner.message(header, dataHash), header.signature, options);
}
