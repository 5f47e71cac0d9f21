/**
 * Many places in one byte string, sorted by id and parent, so that a place costs little more than its id. Layout: their
 * number, all ids, then five numbers for each place.
 */
import { VarintReader, varintSize, writeVarint } from './varint.ts';

/** Where an item lies in the bundle that holds it. */
export interface Place {
  readonly id: Buffer;
  /** Record of the bundle that holds the item directly. */
  readonly parent: number;
  /** First byte of the item's header in the payload of that bundle. */
  readonly itemOffset: number;
  readonly headerSize: number;
  readonly dataSize: number;
  /** Key of content type and encoding in `place_types`; 0 where the item has neither. */
  readonly type: number;
}

const idBytes = 32;

/** Places in a block at most: some 50 KiB, of which a look-up reads one. */
export const BLOCK_ITEMS = 1_024;

export function comparePlaces(a: Place, b: Place): number {
  return Buffer.compare(a.id, b.id) || a.parent - b.parent;
}

const numbersOf = ({ parent, itemOffset, headerSize, dataSize, type }: Place): number[] => [
  parent,
  itemOffset,
  headerSize,
  dataSize,
  type,
];

/** The places in order, each id of 32 bytes. */
export function packPlaces(places: readonly Place[]): Buffer {
  const numbers = places.flatMap(numbersOf);
  let size = varintSize(places.length) + places.length * idBytes;
  for (const number of numbers) size += varintSize(number);
  const packed = Buffer.allocUnsafe(size);
  let at = writeVarint(packed, 0, places.length);
  for (const { id } of places) at += id.copy(packed, at);
  for (const number of numbers) at = writeVarint(packed, at, number);
  return packed;
}

export function unpackPlaces(packed: Buffer): Place[] {
  const { count, ids } = headOf(packed);
  return readPlaces(packed, ids, count, 0, count);
}

/** The places of one id: as many as there are bundles that hold it and were read. */
export function placesIn(packed: Buffer, id: Buffer): Place[] {
  const { count, ids } = headOf(packed);
  const compare = (index: number): number =>
    packed.compare(id, 0, idBytes, ids + index * idBytes, ids + (index + 1) * idBytes);
  let from = 0;
  for (let end = count; from < end; ) {
    const middle = (from + end) >>> 1;
    if (compare(middle) < 0) from = middle + 1;
    else end = middle;
  }
  let to = from;
  while (to < count && compare(to) === 0) to += 1;
  return from === to ? [] : readPlaces(packed, ids, count, from, to);
}

function headOf(packed: Buffer): { count: number; ids: number } {
  const reader = new VarintReader(packed);
  const count = reader.next();
  return { count, ids: reader.at };
}

function readPlaces(packed: Buffer, ids: number, count: number, from: number, to: number): Place[] {
  const numbers = new VarintReader(packed, ids + count * idBytes);
  const places: Place[] = [];
  for (let index = 0; index < to; index += 1) {
    const parent = numbers.next();
    const itemOffset = numbers.next();
    const headerSize = numbers.next();
    const dataSize = numbers.next();
    const type = numbers.next();
    if (index < from) continue;
    const at = ids + index * idBytes;
    const id = packed.subarray(at, at + idBytes);
    places.push({ id, parent, itemOffset, headerSize, dataSize, type });
  }
  return places;
}

/**
 * The places of a block with those that came since, which replace what is there of the same id in the same bundle.
 * Answers them in blocks, and those that were there already. The places of one id stay in one block.
 */
export function mergePlaces(
  stored: readonly Place[],
  fresh: readonly Place[],
): { readonly blocks: readonly (readonly Place[])[]; readonly known: readonly Place[] } {
  const merged: Place[] = [];
  const known: Place[] = [];
  let at = 0;
  for (const place of fresh) {
    let old = stored[at];
    while (old !== undefined && comparePlaces(old, place) < 0) {
      merged.push(old);
      at += 1;
      old = stored[at];
    }
    if (old !== undefined && comparePlaces(old, place) === 0) {
      known.push(old);
      at += 1;
    }
    merged.push(place);
  }
  merged.push(...stored.slice(at));
  const size = Math.ceil(merged.length / Math.ceil(merged.length / BLOCK_ITEMS));
  const blocks: Place[][] = [];
  for (const place of merged) {
    const last = blocks.at(-1);
    const isSame = last?.at(-1)?.id.equals(place.id) === true;
    if (last === undefined || (last.length >= size && !isSame)) blocks.push([place]);
    else last.push(place);
  }
  return { blocks, known };
}
