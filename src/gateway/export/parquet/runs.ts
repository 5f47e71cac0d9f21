/** Small numbers in runs and in as few bits as they need, as Parquet's hybrid encoding has them. */
import { varint } from './thrift.ts';

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
