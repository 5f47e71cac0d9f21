/** Strict little-endian reading and writing, and the compact lengths of wire transactions. */
import { FormatError } from '../format-error.ts';
import { addressLength, type SolanaAddress, toSolanaAddress } from './address.ts';

export class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get offset(): number {
    return this.#at;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** A view of the next bytes, not a copy. */
  take(length: number): Buffer {
    if (length > this.remaining) throw new FormatError('the bytes end too early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  u8(): number {
    return this.take(1).readUInt8();
  }

  u16(): number {
    return this.take(2).readUInt16LE();
  }

  u32(): number {
    return this.take(4).readUInt32LE();
  }

  u64(): bigint {
    return this.take(8).readBigUInt64LE();
  }

  i64(): bigint {
    return this.take(8).readBigInt64LE();
  }

  address(): SolanaAddress {
    return toSolanaAddress(this.take(addressLength));
  }

  /** 1 to 3 bytes of 7 bits each, in the shortest form only. */
  compactU16(): number {
    let value = 0;
    for (let index = 0; index < 3; index += 1) {
      const byte = this.u8();
      if (byte === 0 && index > 0) throw new FormatError('a compact length has a needless byte');
      value |= (byte & 0x7f) << (index * 7);
      if (byte < 0x80) {
        if (value > 0xffff) break;
        return value;
      }
    }
    throw new FormatError('a compact length exceeds 16 bits');
  }

  end(what: string): void {
    if (this.remaining > 0) throw new FormatError(`${what} has ${this.remaining} bytes too many`);
  }
}

/** Collects pieces; `finish` joins them once. */
export class Writer {
  readonly #pieces: Uint8Array[] = [];

  bytes(bytes: Uint8Array): this {
    this.#pieces.push(bytes);
    return this;
  }

  u8(value: number): this {
    return this.bytes(Uint8Array.of(value));
  }

  u16(value: number): this {
    const piece = Buffer.allocUnsafe(2);
    piece.writeUInt16LE(value);
    return this.bytes(piece);
  }

  u32(value: number): this {
    const piece = Buffer.allocUnsafe(4);
    piece.writeUInt32LE(value);
    return this.bytes(piece);
  }

  u64(value: bigint): this {
    const piece = Buffer.allocUnsafe(8);
    piece.writeBigUInt64LE(value);
    return this.bytes(piece);
  }

  i64(value: bigint): this {
    const piece = Buffer.allocUnsafe(8);
    piece.writeBigInt64LE(value);
    return this.bytes(piece);
  }

  compactU16(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      this.u8((rest & 0x7f) | 0x80);
      rest >>= 7;
    }
    return this.u8(rest);
  }

  finish(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}
