/**
 * Which blocked items a bundle holds, by its own list and by the lists of the bundles in it: known before anybody has
 * unbundled it.
 */
import {
  type BundleHeader,
  bundleCountBytes,
  bundleEntryBytes,
  isTaggedBundle,
  measureBundleHeader,
  minItemBytes,
  parseBundleHeader,
} from '../../formats/ans104/bundle-header.ts';
import { type ItemHeader, measureItemHeader, parseItemHeader } from '../../formats/ans104/item-header.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import type { Place } from './block-set.ts';

/** The payload of a transaction or item that may be a bundle, as a region of the data of `root`. */
export interface BundleRegion {
  readonly root: string;
  readonly start: number;
  readonly size: number;
}

/** Reads a part of the payload; undefined where nobody has it. */
export type ReadPart = (part: Span) => Promise<Buffer | undefined>;

/** How far a look goes down into the bundles of a bundle. */
export interface NestingLimits {
  /** Bundles in each other, the outermost included. */
  readonly depth: number;
  /** Items whose header is looked at. */
  readonly items: number;
  readonly reads: number;
  readonly bytes: number;
}

const usualLimits: NestingLimits = { depth: 10, items: 10_000, reads: 512, bytes: 64 * 1024 * 1024 };

/** Of one item in one bundle, which has no reason to list it twice. */
const mostPlacesOfItem = 16;
/** A million items. */
const maxListBytes = 64 * 1024 * 1024;
/** Small items lie close together: one read for many. */
const windowBytes = 128 * 1024;
/** As much as most headers take. */
const headerBytes = 4 * 1024;
/** Tags aside, what a bundle of one item takes as an item. */
const minNestedBytes = minItemBytes + bundleCountBytes + bundleEntryBytes + minItemBytes;
/** As the chain is read: what is odd about a bundle opens no way to what is blocked in it. */
const lenient = { lenient: true };

/**
 * Where the wanted items lie that the bundle and those in it list; none where it is no bundle. Of an item the header is
 * covered too, since where it ends is not known. A nested bundle whose list is not read within the limits is covered
 * whole: anything may be in it. Items whose own header is not reached within the limits are not: most are no bundles,
 * and large bundles would be lost for all.
 */
export async function listedPlaces(
  region: BundleRegion,
  read: ReadPart,
  isWanted: (id: string) => boolean,
  limits = usualLimits,
): Promise<Place[]> {
  const look = new Look(region, read, isWanted, limits);
  await look.list({ start: 0, end: region.size }, 1);
  return look.places;
}

interface ListedItem extends Span {
  readonly id: string;
}

class Look {
  readonly #places = new Map<string, Place[]>();
  readonly #region: BundleRegion;
  readonly #readPart: ReadPart;
  readonly #isWanted: (id: string) => boolean;
  readonly #limits: NestingLimits;
  #items = 0;
  #reads = 0;
  #bytes = 0;
  /** What was read last, and where it begins. */
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;

  constructor(
    region: BundleRegion,
    read: ReadPart,
    isWanted: (id: string) => boolean,
    limits: NestingLimits,
  ) {
    this.#region = region;
    this.#readPart = read;
    this.#isWanted = isWanted;
    this.#limits = limits;
  }

  /** Looks into the bundle at `span`. False where it is one, or may be, and its list was not read. */
  async list(span: Span, depth: number): Promise<boolean> {
    const size = span.end - span.start;
    if (size < bundleCountBytes) return true;
    const count = await this.#read(span.start, bundleCountBytes, bundleCountBytes);
    if (count === undefined) return false;
    const length = measureBundleHeader(count, size, lenient);
    if (typeof length !== 'number') return true;
    // The outermost list is read whatever it costs, and costs the others nothing.
    if (length > maxListBytes || (depth > 1 && this.#bytes + length > this.#limits.bytes)) return false;
    const bytes = await this.#read(span.start, length, length + windowBytes);
    if (bytes === undefined) return false;
    if (depth === 1) this.#reads = this.#bytes = 0;
    const header = parseBundleHeader(bytes, size, lenient);
    if (typeof header === 'string') return true;
    for (const item of listedItems(header, span)) {
      if (this.#isWanted(item.id)) this.#cover(item);
    }
    for (const item of listedItems(header, span)) {
      if (this.#isSpent) break;
      if (item.end - item.start >= minNestedBytes && !this.#isWanted(item.id)) {
        await this.#lookAt(item, depth);
      }
    }
    return true;
  }

  async #lookAt(item: ListedItem, depth: number): Promise<void> {
    this.#items += 1;
    const header = await this.#headerOf(item);
    if (header === undefined || !isTaggedBundle(header.tags)) return;
    const payload = { start: item.start + header.length, end: item.end };
    const isRead = depth < this.#limits.depth && !this.#isSpent && (await this.list(payload, depth + 1));
    if (!isRead) this.#cover(item);
  }

  /** undefined where it has none that a reader of bundles would read. */
  async #headerOf({ start, end }: Span): Promise<ItemHeader | undefined> {
    const size = end - start;
    const ahead = size < windowBytes ? windowBytes : headerBytes;
    let length = Math.min(headerBytes, size);
    for (;;) {
      const bytes = await this.#read(start, length, ahead);
      if (bytes === undefined) return undefined;
      const needed = measureItemHeader(bytes, bytes.length, lenient);
      if (typeof needed === 'string' || needed > size) return undefined;
      if (needed <= bytes.length) {
        const header = parseItemHeader(bytes, lenient);
        return typeof header === 'string' ? undefined : header;
      }
      length = needed;
    }
  }

  get #isSpent(): boolean {
    const { items, reads, bytes } = this.#limits;
    return this.#items >= items || this.#reads >= reads || this.#bytes >= bytes;
  }

  get places(): Place[] {
    return [...this.#places.values()].flat();
  }

  /** An item without bytes has no place. Listed again and again, the last of its places reaches over all further ones. */
  #cover({ id, start, end }: ListedItem): void {
    if (start >= end) return;
    const { root, start: offset } = this.#region;
    const place = { id, root, start: offset + start, end: offset + end };
    const known = this.#places.get(id) ?? [];
    this.#places.set(id, known);
    const last = known.length < mostPlacesOfItem ? undefined : known.pop();
    known.push(
      last === undefined
        ? place
        : { ...place, start: Math.min(last.start, place.start), end: Math.max(last.end, place.end) },
    );
  }

  /** `length` bytes; `ahead` says how many to read where they have to be read. undefined where there are fewer. */
  async #read(start: number, length: number, ahead: number): Promise<Buffer | undefined> {
    const at = start - this.#windowStart;
    if (at >= 0 && at + length <= this.#window.length) return this.#window.subarray(at, at + length);
    const end = Math.min(start + Math.max(length, ahead), this.#region.size);
    const bytes = await this.#readPart({ start, end });
    if (bytes === undefined || bytes.length < length) return undefined;
    this.#reads += 1;
    this.#bytes += bytes.length;
    this.#window = bytes;
    this.#windowStart = start;
    return bytes.subarray(0, length);
  }
}

/** Of one that the end cuts off, what there is of it. */
function* listedItems(header: BundleHeader, { start, end }: Span): Generator<ListedItem> {
  for (let item = 0; item < header.count; item += 1) {
    const at = start + (header.offsets[item] ?? 0);
    yield {
      id: header.id(item),
      start: at,
      end: item < header.wholeCount ? at + (header.sizes[item] ?? 0) : end,
    };
  }
}
