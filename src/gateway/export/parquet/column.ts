/**
 * One column of the current row group. Values are written where they will lie on disk as they come: no object per
 * row or cell is kept, and the memory is used again for the next group.
 */
import { zstdCompressSync } from 'node:zlib';
import { binary, i32, i64, list, struct, type Value, varint } from './thrift.ts';

const twoTo32 = 2 ** 32;

export interface ColumnOptions {
  readonly required?: boolean;
  /** Values repeat: each distinct one is written once per group. Of blobs and texts. */
  readonly dictionary?: boolean;
}

/** What became of a column's values: bytes for the file, and their description for its footer. */
export interface Chunk {
  readonly parts: readonly Buffer[];
  readonly size: number;
  readonly rawSize: number;
  metadata(offset: number): Value;
}

export class Column {
  readonly name: string;
  readonly #physical: Physical;
  readonly #required: boolean;
  readonly #dictionary: Map<string, number> | undefined;
  #bytes: Buffer = Buffer.allocUnsafe(4_096);
  #length = 0;
  /** A bit per value: is there one? */
  #present: Buffer = Buffer.alloc(512);
  #indexes: Uint32Array = new Uint32Array(1_024);
  #count = 0;
  #nulls = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #lastBlob: Uint8Array | undefined;
  #lastIndex = 0;

  constructor(name: string, kind: Kind, options: ColumnOptions = {}) {
    this.name = name;
    this.#physical = physical[kind];
    this.#required = options.required === true;
    this.#dictionary = options.dictionary === true ? new Map() : undefined;
  }

  get count(): number {
    return this.#count;
  }

  /** Memory that the values take. */
  get size(): number {
    return this.#length + this.#count / 8 + (this.#dictionary === undefined ? 0 : 4 * this.#count);
  }

  get schema(): Value {
    const { type, converted, width } = this.#physical;
    const isDecimal = converted === physical.decimal.converted;
    return struct({
      1: i32(type),
      2: isDecimal ? i32(width) : undefined,
      3: i32(this.#required ? 0 : 1),
      4: binary(this.name),
      6: converted === undefined ? undefined : i32(converted),
      7: isDecimal ? i32(0) : undefined,
      8: isDecimal ? i32(decimalDigits) : undefined,
    });
  }

  none(): void {
    if (this.#required) throw new TypeError(`${this.name} needs a value`);
    this.#mark(false);
    this.#nulls += 1;
  }

  number(value: number | null): void {
    if (value === null) {
      this.none();
      return;
    }
    const { width, most = Number.MAX_SAFE_INTEGER } = this.#physical;
    if (!(Number.isSafeInteger(value) && value >= 0 && value <= most)) {
      throw new RangeError(`${this.name} cannot hold ${value}`);
    }
    this.#mark(true);
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
    this.#room(width);
    const at = this.#length;
    const bytes = this.#bytes;
    const low = value >>> 0;
    bytes[at] = low;
    bytes[at + 1] = low >>> 8;
    bytes[at + 2] = low >>> 16;
    bytes[at + 3] = low >>> 24;
    if (width === 8) {
      const high = (value - low) / twoTo32;
      bytes[at + 4] = high;
      bytes[at + 5] = high >>> 8;
      bytes[at + 6] = high >>> 16;
      bytes[at + 7] = 0;
    }
    this.#length = at + width;
  }

  bool(value: boolean): void {
    const bit = this.#count - this.#nulls;
    this.#mark(true);
    if (bit % 8 === 0) {
      this.#room(1);
      this.#bytes[this.#length] = 0;
      this.#length += 1;
    }
    if (value) this.#bytes[this.#length - 1] = (this.#bytes[this.#length - 1] ?? 0) | (1 << (bit % 8));
  }

  /** A decimal text of at most twenty digits, not negative. */
  decimal(text: string): void {
    const { width } = this.#physical;
    let rest = BigInt(text);
    if (rest < 0n || text.length > decimalDigits) throw new RangeError(`${this.name} cannot hold ${text}`);
    this.#mark(true);
    this.#room(width);
    for (let at = this.#length + width - 1; at >= this.#length; at -= 1) {
      this.#bytes[at] = Number(rest & 255n);
      rest >>= 8n;
    }
    this.#length += width;
  }

  /** The bytes of `source` between two places; none of them is no value. */
  blob(source: Buffer | null, start = 0, end = source?.length ?? 0): void {
    if (source === null) {
      this.none();
      return;
    }
    this.#mark(true);
    if (this.#dictionary === undefined) {
      this.#append(source, start, end);
      return;
    }
    // The same object again, as owners and bundles are: nothing to compare.
    const whole = start === 0 && end === source.length;
    if (!(whole && source === this.#lastBlob)) {
      const key = source.toString('latin1', start, end);
      this.#lastIndex = this.#entry(this.#dictionary, key, source, start, end);
      this.#lastBlob = whole ? source : undefined;
    }
    this.#index(this.#lastIndex);
  }

  text(value: string | null): void {
    if (value === null) {
      this.none();
      return;
    }
    this.#mark(true);
    const known = this.#dictionary?.get(value);
    if (known !== undefined) {
      this.#index(known);
      return;
    }
    const bytes = Buffer.from(value);
    if (this.#dictionary === undefined) this.#append(bytes, 0, bytes.length);
    else this.#index(this.#entry(this.#dictionary, value, bytes, 0, bytes.length));
  }

  /** The values so far as they go into the file; the column is empty then. */
  take(): Chunk {
    const there = this.#count - this.#nulls;
    const levels = this.#required ? Buffer.alloc(0) : definitionLevels(this.#present, this.#count, there);
    const values =
      this.#dictionary === undefined
        ? this.#values()
        : packedIndexes(this.#indexes.subarray(0, there), this.#dictionary.size);
    const { type } = this.#physical;
    const dictionary =
      this.#dictionary === undefined ? undefined : dictionaryPage(this.#values(), this.#dictionary.size);
    const page = dataPage({
      levels,
      values,
      count: this.#count,
      nulls: this.#nulls,
      encoding: dictionary === undefined ? encodings.plain : encodings.dictionary,
    });
    const parts = [...(dictionary?.parts ?? []), ...page.parts];
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    const rawSize = (dictionary?.rawSize ?? 0) + page.rawSize;
    const statistics = statisticsOf(this.#nulls, this.#min, this.#max, this.#physical.width);
    const count = this.#count;
    const used = dictionary === undefined ? [encodings.plain] : [encodings.plain, encodings.dictionary];
    const dictionarySize = dictionary?.parts.reduce((sum, { length }) => sum + length, 0) ?? 0;
    this.#reset();
    return {
      parts,
      size,
      rawSize,
      metadata: (offset) =>
        struct({
          1: i32(type),
          2: list([...used, encodings.rle].map(i32)),
          3: list([binary(this.name)]),
          4: i32(zstd),
          5: i64(count),
          6: i64(rawSize),
          7: i64(size),
          9: i64(offset + dictionarySize),
          11: dictionary === undefined ? undefined : i64(offset),
          12: statistics,
        }),
    };
  }

  #mark(isPresent: boolean): void {
    const at = this.#count;
    this.#count = at + 1;
    if (this.#required) return;
    const byte = at >>> 3;
    if (byte >= this.#present.length) {
      const larger = Buffer.alloc(this.#present.length * 2);
      this.#present.copy(larger);
      this.#present = larger;
    }
    if (isPresent) this.#present[byte] = (this.#present[byte] ?? 0) | (1 << (at & 7));
  }

  #append(source: Buffer, start: number, end: number): void {
    const length = end - start;
    this.#room(4 + length);
    const at = this.#length;
    const bytes = this.#bytes;
    bytes[at] = length;
    bytes[at + 1] = length >>> 8;
    bytes[at + 2] = length >>> 16;
    bytes[at + 3] = length >>> 24;
    // A call into the engine costs more than a few bytes do.
    if (length <= 24) {
      for (let offset = 0; offset < length; offset += 1) bytes[at + 4 + offset] = source[start + offset] ?? 0;
    } else source.copy(bytes, at + 4, start, end);
    this.#length = at + 4 + length;
  }

  #entry(known: Map<string, number>, key: string, source: Buffer, start: number, end: number): number {
    const found = known.get(key);
    if (found !== undefined) return found;
    const index = known.size;
    known.set(key, index);
    this.#append(source, start, end);
    return index;
  }

  #index(index: number): void {
    const at = this.#count - this.#nulls - 1;
    if (at >= this.#indexes.length) {
      const larger = new Uint32Array(this.#indexes.length * 2);
      larger.set(this.#indexes);
      this.#indexes = larger;
    }
    this.#indexes[at] = index;
  }

  #room(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + size));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  #values(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #reset(): void {
    this.#present.fill(0);
    this.#dictionary?.clear();
    this.#length = 0;
    this.#count = 0;
    this.#nulls = 0;
    this.#min = Number.POSITIVE_INFINITY;
    this.#max = Number.NEGATIVE_INFINITY;
    this.#lastBlob = undefined;
  }
}

export type Kind = 'blob' | 'text' | 'bool' | 'int64' | 'uint64' | 'uint32' | 'uint16' | 'uint8' | 'decimal';

export interface Physical {
  readonly type: number;
  readonly converted?: number;
  /** Bytes of a number; 0 where sizes differ. */
  readonly width: number;
  readonly most?: number;
}

/** Numbers of the format: Type, ConvertedType, Encoding, CompressionCodec, PageType. */
export const physical: Readonly<Record<Kind, Physical>> = {
  bool: { type: 0, width: 0 },
  uint8: { type: 1, converted: 11, width: 4, most: 255 },
  uint16: { type: 1, converted: 12, width: 4, most: 65_535 },
  uint32: { type: 1, converted: 13, width: 4, most: 2 ** 32 - 1 },
  int64: { type: 2, width: 8 },
  uint64: { type: 2, converted: 14, width: 8 },
  blob: { type: 6, width: 0 },
  text: { type: 6, converted: 0, width: 0 },
  decimal: { type: 7, converted: 5, width: 9 },
};
export const encodings = { plain: 0, rle: 3, dictionary: 8 } as const;
export const zstd = 6;
const pages = { dictionary: 2, data: 3 } as const;
/** Twenty digits need nine bytes. */
export const decimalDigits = 20;

interface Page {
  readonly parts: readonly Buffer[];
  readonly rawSize: number;
}

export function dictionaryPage(values: Buffer, count: number): Page {
  const packed = zstdCompressSync(values);
  const header = struct({
    1: i32(pages.dictionary),
    2: i32(values.length),
    3: i32(packed.length),
    7: struct({ 1: i32(count), 2: i32(encodings.plain) }),
  }).bytes;
  return { parts: [header, packed], rawSize: header.length + values.length };
}

interface DataPage {
  readonly levels: Buffer;
  readonly values: Buffer;
  readonly count: number;
  readonly nulls: number;
  readonly encoding: number;
}

/** Version 2: levels lie before the compressed values. */
export function dataPage({ levels, values, count, nulls, encoding }: DataPage): Page {
  const packed = zstdCompressSync(values);
  const header = struct({
    1: i32(pages.data),
    2: i32(levels.length + values.length),
    3: i32(levels.length + packed.length),
    8: struct({
      1: i32(count),
      2: i32(nulls),
      3: i32(count),
      4: i32(encoding),
      5: i32(levels.length),
      6: i32(0),
    }),
  }).bytes;
  return { parts: [header, levels, packed], rawSize: header.length + levels.length + values.length };
}

/** Of a column's values; the least is above the greatest where the column has no number. */
export function statisticsOf(nulls: number, min: number, max: number, width: number): Value {
  const isNumber = (width === 4 || width === 8) && min <= max;
  return struct({
    3: i64(nulls),
    5: isNumber ? binary(littleEndian(max, width)) : undefined,
    6: isNumber ? binary(littleEndian(min, width)) : undefined,
  });
}

function littleEndian(value: number, width: number): Buffer {
  const bytes = Buffer.alloc(width);
  if (width === 8) bytes.writeBigUInt64LE(BigInt(value));
  else bytes.writeUInt32LE(value);
  return bytes;
}

/** Which of `count` values are there: one run where all are or none is, else a bit for each, as in `present`. */
export function definitionLevels(present: Buffer, count: number, there: number): Buffer {
  if (there === count) return Buffer.concat([varint(count * 2), Buffer.of(1)]);
  if (there === 0) return Buffer.concat([varint(count * 2), Buffer.of(0)]);
  const groups = Math.ceil(count / 8);
  return Buffer.concat([varint(groups * 2 + 1), present.subarray(0, groups)]);
}

/** Indexes into a dictionary of so many values, each with as many bits as the largest needs. */
export function packedIndexes(indexes: Uint32Array, distinct: number): Buffer {
  const count = indexes.length;
  if (distinct <= 1) return Buffer.concat([Buffer.of(1), varint(count * 2), Buffer.of(0)]);
  const bits = 32 - Math.clz32(distinct - 1);
  const groups = Math.ceil(count / 8);
  const packed = Buffer.alloc(groups * bits);
  for (let value = 0, place = 0; value < count; value += 1, place += bits) {
    let rest = indexes[value] ?? 0;
    let byte = place >>> 3;
    let shift = place & 7;
    for (let left = bits; left > 0; ) {
      packed[byte] = (packed[byte] ?? 0) | (rest << shift);
      const taken = Math.min(8 - shift, left);
      rest >>>= taken;
      left -= taken;
      byte += 1;
      shift = 0;
    }
  }
  return Buffer.concat([Buffer.of(bits), varint(groups * 2 + 1), packed]);
}
