/**
 * Borsh layouts as values: one definition both writes and reads, in field order. Numbers are little-endian,
 * strings and lists carry a 32-bit length, an option one byte.
 */
import { createHash } from 'node:crypto';
import { FormatError } from '../format-error.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { Reader, Writer } from './bytes.ts';

export interface Codec<T> {
  write(writer: Writer, value: T): void;
  read(reader: Reader): T;
}

export const u8: Codec<number> = { write: (w, v) => w.u8(v), read: (r) => r.u8() };
export const u16: Codec<number> = { write: (w, v) => w.u16(v), read: (r) => r.u16() };
export const u32: Codec<number> = { write: (w, v) => w.u32(v), read: (r) => r.u32() };
export const u64: Codec<bigint> = { write: (w, v) => w.u64(v), read: (r) => r.u64() };
export const i64: Codec<bigint> = { write: (w, v) => w.i64(v), read: (r) => r.i64() };

/** Unix seconds: 64 bits on the wire, a safe integer in the program. */
export const seconds: Codec<number> = {
  write: (w, v) => w.i64(BigInt(v)),
  read: (r) => {
    const value = Number(r.i64());
    if (!Number.isSafeInteger(value)) throw new FormatError('a time is out of range');
    return value;
  },
};

export const boolean: Codec<boolean> = {
  write: (w, v) => w.u8(v ? 1 : 0),
  read: (r) => readFlag(r),
};

export const address: Codec<SolanaAddress> = {
  write: (w, v) => w.bytes(addressBytes(v)),
  read: (r) => r.address(),
};

export const bytes = (length: number): Codec<Buffer> => ({
  write: (w, v) => {
    if (v.length !== length) throw new FormatError(`${length} bytes expected, ${v.length} given`);
    w.bytes(v);
  },
  read: (r) => r.take(length),
});

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const string: Codec<string> = {
  write: (w, v) => {
    const text = Buffer.from(v);
    w.u32(text.length).bytes(text);
  },
  read: (r) => {
    const text = r.take(r.u32());
    try {
      return utf8.decode(text);
    } catch {
      throw new FormatError('a string is not UTF-8');
    }
  },
};

export const option = <T>(inner: Codec<T>): Codec<T | undefined> => ({
  write: (w, v) => {
    w.u8(v === undefined ? 0 : 1);
    if (v !== undefined) inner.write(w, v);
  },
  read: (r) => (readFlag(r) ? inner.read(r) : undefined),
});

/** A list with its length in front. Every element has at least one byte, so the bytes left bound the count. */
export const list = <T>(inner: Codec<T>): Codec<T[]> => ({
  write: (w, v) => {
    w.u32(v.length);
    for (const item of v) inner.write(w, item);
  },
  read: (r) => {
    const count = r.u32();
    if (count > r.remaining) throw new FormatError('a list is longer than its bytes');
    return Array.from({ length: count }, () => inner.read(r));
  },
});

/** A list of known length, without a length in front. */
export const fixed = <T>(inner: Codec<T>, length: number): Codec<T[]> => ({
  write: (w, v) => {
    if (v.length !== length) throw new FormatError(`${length} values expected, ${v.length} given`);
    for (const item of v) inner.write(w, item);
  },
  read: (r) => Array.from({ length }, () => inner.read(r)),
});

/** A value in an enum whose variants carry no data: `choice('lease', 'permabuy')` is 0 or 1. */
export const choice = <const C extends string>(...variants: C[]): Codec<C> => ({
  write: (w, v) => w.u8(variants.indexOf(v)),
  read: (r) => {
    const variant = variants[r.u8()];
    if (variant === undefined) throw new FormatError('an enum has an unknown variant');
    return variant;
  },
});

export type Fields<T> = { readonly [K in keyof T]: Codec<T[K]> };

export function struct<T extends object>(fields: Fields<T>): Codec<T> {
  return {
    write: (w, v) => {
      for (const key in fields) fields[key].write(w, v[key]);
    },
    read: (r) => {
      const value: Partial<T> = {};
      for (const key in fields) value[key] = fields[key].read(r);
      if (!isComplete(value, fields)) throw new FormatError('a field is missing');
      return value;
    },
  };
}

function isComplete<T extends object>(value: Partial<T>, fields: Fields<T>): value is T {
  return Object.keys(fields).every((key) => key in value);
}

/** The first eight bytes of SHA-256, which tell accounts (`account:Name`) and instructions (`global:name`) apart. */
export function discriminator(text: string): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, 8);
}

export function encode<T>(codec: Codec<T>, value: T): Buffer {
  const writer = new Writer();
  codec.write(writer, value);
  return writer.finish();
}

/** The value of exactly these bytes. */
export function decode<T>(codec: Codec<T>, data: Uint8Array, what: string): T {
  const reader = new Reader(data);
  const value = codec.read(reader);
  reader.end(what);
  return value;
}

function readFlag(reader: Reader): boolean {
  const flag = reader.u8();
  if (flag > 1) throw new FormatError('a flag is neither 0 nor 1');
  return flag === 1;
}
