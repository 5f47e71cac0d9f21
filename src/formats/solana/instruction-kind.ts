/** An instruction of an Anchor program: eight bytes that name it, then its arguments. */
import type { SolanaAddress } from './address.ts';
import { type Codec, decode, discriminator, encode } from './codec.ts';
import type { AccountMeta, Instruction } from './message.ts';

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
