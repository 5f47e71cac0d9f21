/** How values lie in a Parquet file: the numbers of the format, its two kinds of page, levels and indexes in few bits. */
import { zstdCompressSync } from 'node:zlib';
import { binary, i32, i64, struct, type Value, varint } from './thrift.ts';

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
