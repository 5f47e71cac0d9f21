/** An account type of an Anchor program: eight bytes that name it, its fields, zeros up to its space. */
import { FormatError } from '../format-error.ts';
import { Reader } from './bytes.ts';
import { type Codec, discriminator, encode } from './codec.ts';

export interface AccountKind<T> {
  readonly name: string;
  readonly discriminator: Buffer;
  /** Bytes of a freshly made account. */
  readonly space: number;
  /** The data of `size` bytes (the kind's space when none is given). */
  encode(value: T, size?: number): Buffer;
  decode(data: Uint8Array): T;
  matches(data: Uint8Array): boolean;
}

export function accountKind<T>(name: string, space: number, codec: Codec<T>): AccountKind<T> {
  const mark = discriminator(`account:${name}`);
  const matches = (data: Uint8Array) => mark.equals(data.subarray(0, 8));
  return {
    name,
    discriminator: mark,
    space,
    matches,
    encode(value, size = space) {
      const fields = encode(codec, value);
      if (8 + fields.length > size) throw new FormatError(`${name} does not fit its account`);
      const data = Buffer.alloc(size);
      mark.copy(data);
      fields.copy(data, 8);
      return data;
    },
    decode(data) {
      if (!matches(data)) throw new FormatError(`not an account of type ${name}`);
      return codec.read(new Reader(data.subarray(8)));
    },
  };
}
