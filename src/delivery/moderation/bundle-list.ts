/** Which blocked items a bundle holds, by its own list: known before anybody has unbundled it. */
import {
  bundleCountBytes,
  measureBundleHeader,
  parseBundleHeader,
} from '../../formats/ans104/bundle-header.ts';
import type { Place } from './block-set.ts';

/** The payload of a transaction or item that may be a bundle, as a region of the data of `root`. */
export interface BundleRegion {
  readonly root: string;
  readonly start: number;
  readonly size: number;
}

/** A million items. */
const maxHeaderBytes = 64 * 1024 * 1024;
/** As the chain is read: what is odd about a bundle opens no way to what is blocked in it. */
const lenient = { lenient: true };

/**
 * Where the wanted items lie that the bundle lists; none where it is no bundle. Of an item the header is covered too,
 * since where it ends is not known. `readStart` reads the first bytes of the payload.
 */
export async function listedPlaces(
  { root, start, size }: BundleRegion,
  readStart: (length: number) => Promise<Buffer | undefined>,
  isWanted: (id: string) => boolean,
): Promise<Place[]> {
  const count = size < bundleCountBytes ? undefined : await readStart(bundleCountBytes);
  const length = count === undefined ? undefined : measureBundleHeader(count, size, lenient);
  if (typeof length !== 'number' || length > maxHeaderBytes) return [];
  const bytes = await readStart(length);
  const header = bytes === undefined ? undefined : parseBundleHeader(bytes, size, lenient);
  if (header === undefined || typeof header === 'string') return [];
  const places: Place[] = [];
  for (let item = 0; item < header.count; item += 1) {
    const id = header.id(item);
    const at = start + (header.offsets[item] ?? 0);
    // Of one that the end cuts off, what there is of it.
    const end = item < header.wholeCount ? at + (header.sizes[item] ?? 0) : start + size;
    if (isWanted(id)) places.push({ id, root, start: at, end });
  }
  return places;
}
