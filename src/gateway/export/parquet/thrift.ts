/** The part of Thrift's compact protocol that Parquet's page headers and footer are written in. */

const types = { true: 1, false: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

export interface Value {
  readonly type: number;
  readonly bytes: Buffer;
}

export const i32 = (value: number): Value => ({ type: types.i32, bytes: zigzag(value) });
export const i64 = (value: number): Value => ({ type: types.i64, bytes: zigzag(value) });
export const binary = (value: Uint8Array | string): Value => {
  const bytes = Buffer.from(value);
  return { type: types.binary, bytes: Buffer.concat([varint(bytes.length), bytes]) };
};

/** All of one type; an empty list is one of structs. */
export function list(values: readonly Value[]): Value {
  const type = values[0]?.type ?? types.struct;
  const head =
    values.length < 15
      ? Buffer.of((values.length << 4) | type)
      : Buffer.concat([Buffer.of(0xf0 | type), varint(values.length)]);
  return { type: types.list, bytes: Buffer.concat([head, ...values.map(({ bytes }) => bytes)]) };
}

/** Fields by their number; absent ones are left out. */
export function struct(fields: Readonly<Record<number, Value | undefined>>): Value {
  const parts: Buffer[] = [];
  let last = 0;
  // Whole-number keys come in ascending order, as the protocol's deltas want them.
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const id = Number(key);
    if (id - last > 15) throw new RangeError('fields of a struct lie too far apart');
    parts.push(Buffer.of(((id - last) << 4) | value.type), value.bytes);
    last = id;
  }
  return { type: types.struct, bytes: Buffer.concat([...parts, Buffer.of(0)]) };
}

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** Of whole numbers that are not negative, below 2^52: all that Parquet's headers hold here. */
function zigzag(value: number): Buffer {
  if (!(Number.isSafeInteger(value) && value >= 0)) throw new RangeError(`${value} cannot be written`);
  return varint(value * 2);
}
