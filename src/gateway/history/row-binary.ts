/** ClickHouse's `RowBinary`: values one after the other, whole numbers with the lowest byte first. */
import { VarintReader, varintSize, writeVarint } from '../chain-index/varint.ts';

/** Grows as it is written. */
export class RowWriter {
  #bytes: Buffer;
  #at = 0;

  constructor(size = 1024 * 1024) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  /** Begins anew in the same memory. */
  clear(): void {
    this.#at = 0;
  }

  /** As in `varint.ts`; not a type of ClickHouse's. */
  varint(value: number): void {
    this.#room(varintSize(value));
    this.#at = writeVarint(this.#bytes, this.#at, value);
  }

  uint32(value: number): void {
    this.#room(4);
    this.#low(value);
  }

  /** A safe integer of 0 or more. */
  uint64(value: number): void {
    this.#room(8);
    this.#low(value % 2 ** 32);
    this.#low(Math.floor(value / 2 ** 32));
  }

  /** Byte by byte: for the few bytes that most values have, a call of the engine's copy costs more than the copy. */
  #low(value: number): void {
    const bytes = this.#bytes;
    const at = this.#at;
    bytes[at] = value;
    bytes[at + 1] = value >>> 8;
    bytes[at + 2] = value >>> 16;
    bytes[at + 3] = value >>> 24;
    this.#at = at + 4;
  }

  /** A `FixedString` of a part of these bytes. */
  fixed(bytes: Uint8Array, start = 0, end = bytes.length): void {
    this.#room(end - start);
    this.#copy(bytes, start, end);
  }

  string(bytes: Uint8Array): void {
    this.#room(varintSize(bytes.length) + bytes.length);
    this.#at = writeVarint(this.#bytes, this.#at, bytes.length);
    this.#copy(bytes, 0, bytes.length);
  }

  #copy(from: Uint8Array, start: number, end: number): void {
    const bytes = this.#bytes;
    const at = this.#at;
    if (end - start > 64)
      bytes.set(start === 0 && end === from.length ? from : from.subarray(start, end), at);
    else for (let next = start; next < end; next += 1) bytes[at + next - start] = from[next] ?? 0;
    this.#at = at + end - start;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #room(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + size));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

export class RowReader {
  readonly #bytes: Buffer;
  readonly #lengths: VarintReader;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#lengths = new VarintReader(bytes);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): number {
    this.#lengths.at = this.#at;
    const value = this.#lengths.next();
    this.#at = this.#lengths.at;
    return value;
  }

  uint32(): number {
    this.#at += 4;
    return this.#bytes.readUInt32LE(this.#at - 4);
  }

  uint64(): number {
    const value = this.uint32() + this.uint32() * 2 ** 32;
    if (!Number.isSafeInteger(value)) throw new RangeError('a number of the history is too large');
    return value;
  }

  uint48(): number {
    this.#at += 6;
    return this.#bytes.readUIntBE(this.#at - 6, 6);
  }

  fixed(size: number): Buffer {
    const end = this.#at + size;
    if (end > this.#bytes.length) throw new RangeError('rows of the history end early');
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  string(): Buffer {
    return this.fixed(this.varint());
  }
}
