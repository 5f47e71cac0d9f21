/**
 * Tags as the index stores them: one compact byte string per record, in original order, duplicates kept,
 * bytes untouched (tags on chain need not be UTF-8). Layout per tag: varint name length, varint value
 * length, name, value.
 */
import { varintSize, writeVarint } from './varint.ts';

export interface Tag {
  readonly name: string;
  readonly value: string;
}

export interface RawTag {
  readonly name: Uint8Array;
  readonly value: Uint8Array;
}

export function packTags(tags: readonly RawTag[]): Buffer {
  let size = 0;
  for (const { name, value } of tags) {
    size += varintSize(name.length) + varintSize(value.length) + name.length + value.length;
  }
  const packed = Buffer.allocUnsafe(size);
  let at = 0;
  for (const { name, value } of tags) {
    at = writeVarint(packed, at, name.length);
    at = writeVarint(packed, at, value.length);
    packed.set(name, at);
    packed.set(value, at + name.length);
    at += name.length + value.length;
  }
  return packed;
}

/** The tags as text: UTF-8, with replacement characters where the bytes are not. */
export function unpackTags(packed: Buffer): Tag[] {
  const tags: Tag[] = [];
  walkTags(packed, (nameStart, valueStart, end) => {
    tags.push({
      name: packed.toString('utf8', nameStart, valueStart),
      value: packed.toString('utf8', valueStart, end),
    });
  });
  return tags;
}

export function unpackRawTags(packed: Buffer): { name: Buffer; value: Buffer }[] {
  const tags: { name: Buffer; value: Buffer }[] = [];
  walkTags(packed, (nameStart, valueStart, end) => {
    tags.push({ name: packed.subarray(nameStart, valueStart), value: packed.subarray(valueStart, end) });
  });
  return tags;
}

export function walkTags(
  packed: Buffer,
  visit: (nameStart: number, valueStart: number, end: number) => void,
): void {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = packed[at];
      if (byte === undefined) throw new RangeError('packed tags end early');
      at += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < packed.length) {
    const nameLength = varint();
    const valueLength = varint();
    const valueStart = at + nameLength;
    const end = valueStart + valueLength;
    if (end > packed.length) throw new RangeError('packed tags end early');
    visit(at, valueStart, end);
    at = end;
  }
}
