/** ClickHouse's `RowBinary`: values one after the other, whole numbers with the lowest byte first. */
import { VarintReader, varintSize, writeVarint } from '../chain-index/varint.ts';

/** Grows as it is written. */
export class RowWriter {
  #bytes: Buffer;
  #at = 0;

  constructor(size = 1024 * 1024) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  uint8(value: number): void {
    this.#room(1);
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  uint16(value: number): void {
    this.#room(2);
    this.#at = this.#bytes.writeUInt16LE(value, this.#at);
  }

  uint32(value: number): void {
    this.#room(4);
    this.#at = this.#bytes.writeUInt32LE(value, this.#at);
  }

  /** A safe integer of 0 or more. */
  uint64(value: number): void {
    this.#room(8);
    this.#bytes.writeUInt32LE(value % 2 ** 32, this.#at);
    this.#at = this.#bytes.writeUInt32LE(Math.floor(value / 2 ** 32), this.#at + 4);
  }

  /** A `FixedString` of just these bytes. */
  fixed(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** 48 bits as a `FixedString(6)`, in the order of the number. */
  uint48(value: number): void {
    this.#room(6);
    this.#at = this.#bytes.writeUIntBE(value, this.#at, 6);
  }

  string(bytes: Uint8Array): void {
    this.#room(varintSize(bytes.length) + bytes.length);
    this.#at = writeVarint(this.#bytes, this.#at, bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
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

  uint8(): number {
    this.#at += 1;
    return this.#bytes.readUInt8(this.#at - 1);
  }

  uint16(): number {
    this.#at += 2;
    return this.#bytes.readUInt16LE(this.#at - 2);
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
    this.#lengths.at = this.#at;
    const size = this.#lengths.next();
    this.#at = this.#lengths.at;
    return this.fixed(size);
  }
}
