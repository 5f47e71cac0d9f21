/**
 * Tags of a data item: an Avro array of records {name: bytes, value: bytes} (ANS-104 §2.2). A block is a
 * zig-zag count and that many pairs of length-prefixed bytes; a negative count is followed by the block's
 * size in bytes; a zero count ends the array. No tags at all may also be no bytes at all.
 *
 * Names and values are bytes. They are shown as UTF-8 text; the chain holds some that are not UTF-8, so the
 * byte positions are there too (`walkTags`).
 */
import { joinBytes } from './join-bytes.ts';

/** A tag as text. Bytes that are no UTF-8 show as U+FFFD. */
export interface Tag {
  readonly name: string;
  readonly value: string;
}

export interface TagLimits {
  readonly maxBytes: number;
  readonly maxTags: number;
  readonly maxNameBytes: number;
  readonly maxValueBytes: number;
  /**
   * The array may end without its final zero or before its last byte, and what a block says of its own size is not
   * looked at: the reference reads such items, so that the chain's readers know them.
   */
  readonly anyEnd?: boolean;
}

/** What an item that is taken in may carry. */
export const ingestTagLimits: TagLimits = {
  maxBytes: 4_096,
  maxTags: 128,
  maxNameBytes: 1_024,
  maxValueBytes: 3_072,
};

/** What is read back from the chain, where older writers kept to no limit; a bound all the same. */
export const chainTagLimits: TagLimits = {
  maxBytes: 65_536,
  maxTags: 4_096,
  maxNameBytes: 65_536,
  maxValueBytes: 65_536,
  anyEnd: true,
};

/** Positions of one tag in the bytes that were walked. */
export type TagVisitor = (nameStart: number, nameEnd: number, valueStart: number, valueEnd: number) => void;

/**
 * Walks the tags in `bytes[start, end)` and answers their number, or -1 when the bytes are not exactly one
 * Avro tag array within the limits. `visit` may have been called for the tags before the fault.
 */
export function walkTags(
  bytes: Uint8Array,
  start: number,
  end: number,
  limits: TagLimits,
  visit?: TagVisitor,
): number {
  if (end - start > limits.maxBytes) return -1;
  if (start === end) return 0;
  const cursor = { at: start };
  const anyEnd = limits.anyEnd === true;
  let total = 0;
  for (;;) {
    const from = cursor.at;
    const count = readLong(bytes, cursor, end);
    if (count === 0) return cursor.at === end || anyEnd ? total : -1;
    if (Number.isNaN(count)) return anyEnd && isUnfinishedZero(bytes, from, end) ? total : -1;
    let blockEnd = -1;
    if (count < 0) {
      const size = readLong(bytes, cursor, end);
      if (Number.isNaN(size)) return -1;
      if (!anyEnd) {
        if (!(size >= 0 && size <= end - cursor.at)) return -1;
        blockEnd = cursor.at + size;
      }
    }
    const entries = Math.abs(count);
    total += entries;
    if (total > limits.maxTags) return -1;
    for (let i = 0; i < entries; i++) {
      const nameSize = readLong(bytes, cursor, end);
      if (!(nameSize >= 0 && nameSize <= limits.maxNameBytes && nameSize <= end - cursor.at)) return -1;
      const nameStart = cursor.at;
      cursor.at += nameSize;
      const valueSize = readLong(bytes, cursor, end);
      if (!(valueSize >= 0 && valueSize <= limits.maxValueBytes && valueSize <= end - cursor.at)) return -1;
      const valueStart = cursor.at;
      cursor.at += valueSize;
      visit?.(nameStart, nameStart + nameSize, valueStart, cursor.at);
    }
    if (blockEnd !== -1 && cursor.at !== blockEnd) return -1;
  }
}

/** The tags as text, or undefined when the bytes are not exactly one tag array within the limits. */
export function decodeTags(bytes: Buffer, limits: TagLimits = ingestTagLimits): Tag[] | undefined {
  // One conversion of the whole array, cut into pieces, costs a third of one conversion per name and value;
  // it is right for every piece that is plain ASCII, which nearly all are.
  const latin = bytes.toString('latin1');
  const tags: Tag[] = [];
  const text = (start: number, end: number) =>
    isAscii(bytes, start, end) ? latin.slice(start, end) : bytes.toString('utf8', start, end);
  const count = walkTags(bytes, 0, bytes.length, limits, (nameStart, nameEnd, valueStart, valueEnd) => {
    tags.push({ name: text(nameStart, nameEnd), value: text(valueStart, valueEnd) });
  });
  return count === -1 ? undefined : tags;
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  let seen = 0;
  for (let i = start; i < end; i++) seen |= bytes[i]!;
  return seen < 0x80;
}

/** A tag to write: text is written as UTF-8. */
export interface TagSource {
  readonly name: string | Uint8Array;
  readonly value: string | Uint8Array;
}

/** One block and its terminator; no tags are no bytes. */
export function encodeTags(tags: readonly TagSource[]): Buffer {
  const bytes = encodeTagBytes(tags);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The same where there is no Node. */
export function encodeTagBytes(tags: readonly TagSource[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = tags.length === 0 ? [] : [encodeLong(tags.length)];
  for (const tag of tags) {
    for (const field of [tag.name, tag.value]) {
      const bytes = typeof field === 'string' ? encoder.encode(field) : field;
      parts.push(encodeLong(bytes.length), bytes);
    }
  }
  if (tags.length > 0) parts.push(encodeLong(0));
  return joinBytes(parts);
}

const encoder = new TextEncoder();

/** The final zero is missing, or cut off after its first bytes. */
function isUnfinishedZero(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at++) if (bytes[at] !== 0x80) return false;
  return true;
}

/** The most bytes that a 64-bit varint has; a short number may be written in all of them. */
const maxVarintBytes = 10;

/** A zig-zag varint, or NaN when it is cut off. Above 2^53 it is not exact, which no count or length comes near. */
function readLong(bytes: Uint8Array, cursor: { at: number }, end: number): number {
  let value = 0;
  let scale = 1;
  for (let length = 0; length < maxVarintBytes; length++) {
    if (cursor.at >= end) return Number.NaN;
    const byte = bytes[cursor.at++]!;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    scale *= 128;
  }
  return Number.NaN;
}

/** Only for what is not negative: counts and lengths. */
function encodeLong(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value * 2;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
