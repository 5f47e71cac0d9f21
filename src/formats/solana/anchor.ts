/** Accounts and instructions of Anchor programs: eight bytes that name the kind, then its fields. */
import { FormatError } from '../format-error.ts';
import type { SolanaAddress } from './address.ts';
import { Reader } from './bytes.ts';
import { type Codec, decode, discriminator, encode } from './codec.ts';
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

export interface InstructionKind<A> {
  readonly name: string;
  readonly discriminator: Buffer;
  /** The arguments of the data behind the eight bytes. */
  decode(data: Uint8Array): A;
  build(programId: SolanaAddress, accounts: readonly AccountMeta[], args: A): Instruction;
}

export function instructionKind<A>(name: string, args: Codec<A>): InstructionKind<A> {
  const mark = discriminator(`global:${name}`);
  return {
    name,
    discriminator: mark,
    decode: (data) => decode(args, data, name),
    build: (programId, accounts, values) => ({
      programId,
      accounts,
      data: Buffer.concat([mark, encode(args, values)]),
    }),
  };
}

export type NoArguments = Record<never, never>;
