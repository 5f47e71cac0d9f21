/** Accounts and instructions of Anchor programs: eight bytes that name the kind, then its fields. */
import { FormatError } from '../format-error.ts';
import type { SolanaAddress } from './address.ts';
import { Reader } from './bytes.ts';
import { decode, discriminator, encode, type Fields, struct } from './codec.ts';
import type { AccountMeta, Instruction } from './message.ts';

/** Behind the fields of an account are zeros up to its space. */
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

/** What an account of this kind says. */
export type AccountData<K> = K extends AccountKind<infer T> ? T : never;

export function accountKind<T extends object>(
  name: string,
  space: number,
  fields: Fields<T>,
): AccountKind<T> {
  const codec = struct(fields);
  const mark = discriminator(`account:${name}`);
  const matches = (data: Uint8Array) => mark.equals(data.subarray(0, 8));
  return {
    name,
    discriminator: mark,
    space,
    matches,
    encode(value, size = space) {
      const encoded = encode(codec, value);
      if (8 + encoded.length > size) throw new FormatError(`${name} does not fit its account`);
      const data = Buffer.alloc(size);
      mark.copy(data);
      encoded.copy(data, 8);
      return data;
    },
    decode(data) {
      if (!matches(data)) throw new FormatError(`not an account of type ${name}`);
      return codec.read(new Reader(data.subarray(8)));
    },
  };
}

export interface InstructionKind<A> {
  readonly name: string;
  readonly discriminator: Buffer;
  /** The arguments of the data behind the eight bytes. */
  decode(data: Uint8Array): A;
  build(programId: SolanaAddress, args: A, accounts: readonly AccountMeta[]): Instruction;
}

export type Arguments<K> = K extends InstructionKind<infer A> ? A : never;

export function instructionKind<A extends object>(name: string, fields: Fields<A>): InstructionKind<A> {
  const codec = struct(fields);
  const mark = discriminator(`global:${name}`);
  return {
    name,
    discriminator: mark,
    decode: (data) => decode(codec, data, name),
    build: (programId, args, accounts) => ({
      programId,
      accounts,
      data: Buffer.concat([mark, encode(codec, args)]),
    }),
  };
}
