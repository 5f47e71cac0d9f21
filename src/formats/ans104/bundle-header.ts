/**
 * The header of a bundle: number of items (32 bytes), then size (32) and id (32) of each, integers
 * little-endian; the items follow back to back. Kept in columns: a bundle may hold a million items.
 */
import type { Tag } from '../avro-tags.ts';
import { type TxId, toTxId } from '../base64url.ts';
import { FormatError } from '../format-error.ts';

export const bundleCountBytes = 32;
export const bundleEntryBytes = 64;
/** Type, the shortest signature and owner, two presence bytes and the tag counters. */
export const minItemBytes = 2 + 64 + 32 + 2 + 16;

export const bundleProblems = {
  'truncated-bundle': 'the bundle ends inside its header or an item',
  'item-count': 'the number of items does not fit the bundle',
  'item-size': 'the size of an item is impossible',
  'trailing-bytes': 'there are bytes after the last item',
} as const;

export type BundleProblem = keyof typeof bundleProblems;

/** The tags of a transaction or item whose payload is a bundle. */
export const bundleTags = [
  { name: 'Bundle-Format', value: 'binary' },
  { name: 'Bundle-Version', value: '2.0.0' },
] as const;

/** ANS-104 §3: the two tags, any version 2. */
export function isTaggedBundle(tags: readonly Tag[]): boolean {
  const [format, version] = bundleTags;
  const has = (isIt: (tag: Tag) => boolean) => tags.some(isIt);
  return (
    has(({ name, value }) => name === format.name && value === format.value) &&
    has(({ name, value }) => name === version.name && value.startsWith('2.'))
  );
}

export interface BundleReadOptions {
  /**
   * Reads what is on the chain already although its writer broke the rules: there may be bytes after the last item,
   * items of no bytes, and items that the end of the bundle cuts off. None of that moves another item.
   */
  readonly lenient?: boolean;
}

export class BundleHeader {
  readonly #ids: Buffer;
  readonly count: number;
  /** How many items, from the first on, are whole in the bundle: all, unless it is read leniently. */
  readonly wholeCount: number;
  /** Size of each item in bytes; 0 for those that are not whole. */
  readonly sizes: Float64Array;
  /** Start of each item within the bundle, and after the last one where the items end. */
  readonly offsets: Float64Array;

  /** Use `parseBundleHeader`; `ids` holds the entries as they are in the bundle. */
  constructor(entries: Buffer, wholeCount: number, sizes: Float64Array, offsets: Float64Array) {
    this.#ids = entries;
    this.count = sizes.length;
    this.wholeCount = wholeCount;
    this.sizes = sizes;
    this.offsets = offsets;
  }

  /** The stated id of item `index`, 32 bytes. */
  idBytes(index: number): Buffer {
    const start = index * bundleEntryBytes + 32;
    return this.#ids.subarray(start, start + 32);
  }

  id(index: number): TxId {
    return toTxId(this.idBytes(index));
  }

  /** Length of the header itself. */
  get length(): number {
    return bundleCountBytes + this.count * bundleEntryBytes;
  }

  /** Length of header and items; read leniently, a bundle may be longer. */
  get bundleBytes(): number {
    return this.offsets[this.count]!;
  }
}

/** How many bytes the header takes, from its first 32; `bundleBytes` is the size of the whole bundle. */
export function measureBundleHeader(
  bytes: Buffer,
  bundleBytes: number,
  { lenient = false }: BundleReadOptions = {},
): number | BundleProblem {
  if (bytes.length < bundleCountBytes) return 'truncated-bundle';
  const count = readLong(bytes, 0);
  const length = bundleCountBytes + count * bundleEntryBytes;
  const least = length + (lenient ? 0 : count);
  return count === -1 || least > bundleBytes ? 'item-count' : length;
}

/**
 * Reads the header at the start of `bytes`. `bundleBytes` is the size of the whole bundle, by which the
 * number of items and their sizes are checked before anything is allocated for them: it defaults to the
 * length of `bytes`. A bundle of no items is read (the chain has some).
 */
export function parseBundleHeader(
  bytes: Buffer,
  bundleBytes = bytes.length,
  options: BundleReadOptions = {},
): BundleHeader | BundleProblem {
  const { lenient = false } = options;
  const length = measureBundleHeader(bytes, bundleBytes, options);
  if (typeof length === 'string') return length;
  if (length > bytes.length) return 'truncated-bundle';
  const count = (length - bundleCountBytes) / bundleEntryBytes;
  const sizes = new Float64Array(count);
  const offsets = new Float64Array(count + 1);
  let at = length;
  let wholeCount = 0;
  for (; wholeCount < count; wholeCount++) {
    const size = readLong(bytes, bundleCountBytes + wholeCount * bundleEntryBytes);
    const isCut = size === -1 || at + size > bundleBytes;
    if (isCut && lenient) break;
    if (isCut || (size === 0 && !lenient)) return 'item-size';
    sizes[wholeCount] = size;
    offsets[wholeCount] = at;
    at += size;
  }
  offsets.fill(at, wholeCount);
  if (at !== bundleBytes && !lenient) return 'trailing-bytes';
  return new BundleHeader(bytes.subarray(bundleCountBytes, length), wholeCount, sizes, offsets);
}

export interface BundleEntry {
  /** 32 bytes. */
  readonly id: Uint8Array;
  readonly size: number;
}

/** Writes a header. Empty bundles, items twice and impossible sizes are never written: `FormatError`. */
export function encodeBundleHeader(entries: readonly BundleEntry[]): Buffer {
  if (entries.length === 0) throw new FormatError('a bundle has at least one item');
  const bytes = Buffer.alloc(bundleCountBytes + entries.length * bundleEntryBytes);
  writeLong(bytes, 0, entries.length);
  const seen = new Set<string>();
  let at = bundleCountBytes;
  for (const { id, size } of entries) {
    if (id.length !== 32) throw new FormatError('an id has 32 bytes');
    if (!Number.isSafeInteger(size) || size < minItemBytes) throw new FormatError('an item is too small');
    const key = Buffer.from(id).toString('latin1');
    if (seen.has(key)) throw new FormatError('an item is in the bundle twice');
    seen.add(key);
    writeLong(bytes, at, size);
    bytes.set(id, at + 32);
    at += bundleEntryBytes;
  }
  return bytes;
}

/** A 32-byte little-endian number, or -1 when it is not a safe integer. */
function readLong(bytes: Buffer, at: number): number {
  for (let i = 8; i < 32; i += 4) {
    if (bytes.readUInt32LE(at + i) !== 0) return -1;
  }
  const high = bytes.readUInt32LE(at + 4);
  return high > 0x1fffff ? -1 : bytes.readUInt32LE(at) + high * 2 ** 32;
}

function writeLong(bytes: Buffer, at: number, value: number): void {
  bytes.writeUInt32LE(value % 2 ** 32, at);
  bytes.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
}
