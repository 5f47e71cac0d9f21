/** The Metaplex Core instructions of a name token's life: made with its traits, moved, traits rewritten. */
import type { SolanaAddress } from './address.ts';
import { Writer } from './bytes.ts';
import { string } from './codec.ts';
import { type Trait, traits } from './core-asset.ts';
import type { AccountMeta, Instruction } from './message.ts';
import { coreProgram, systemProgram } from './programs.ts';

export const coreInstruction = { createV1: 0, updatePluginV1: 6, transferV1: 14 } as const;

/** In these account lists an absent account is the program itself. */
const none: AccountMeta = { address: coreProgram, signer: false, writable: false };
const readOnly = (address: SolanaAddress): AccountMeta => ({ address, signer: false, writable: false });

/** The trait by which clients find the program that governs an asset. */
export const antProgramTrait = 'ANT Program';

export interface CreateAsset {
  readonly asset: SolanaAddress;
  readonly payer: SolanaAddress;
  /** Named outright: without it the update authority would own the asset. */
  readonly owner: SolanaAddress;
  readonly updateAuthority: SolanaAddress;
  readonly name: string;
  readonly uri: string;
  readonly traits: Trait[];
}

export function createAsset(parts: CreateAsset): Instruction {
  const writer = new Writer().u8(coreInstruction.createV1).u8(0);
  string.write(writer, parts.name);
  string.write(writer, parts.uri);
  writer.u8(1).u32(1).u8(6);
  traits.write(writer, parts.traits);
  writer.u8(1).u8(2);
  return {
    programId: coreProgram,
    accounts: [
      { address: parts.asset, signer: true, writable: true },
      none,
      { address: parts.payer, signer: true, writable: false },
      { address: parts.payer, signer: true, writable: true },
      readOnly(parts.owner),
      readOnly(parts.updateAuthority),
      readOnly(systemProgram),
      none,
    ],
    data: writer.finish(),
  };
}

export function transferAsset(
  asset: SolanaAddress,
  payer: SolanaAddress,
  owner: SolanaAddress,
  newOwner: SolanaAddress,
): Instruction {
  return {
    programId: coreProgram,
    accounts: [
      { address: asset, signer: false, writable: true },
      none,
      { address: payer, signer: true, writable: true },
      { address: owner, signer: true, writable: false },
      readOnly(newOwner),
      readOnly(systemProgram),
      none,
    ],
    data: new Writer().u8(coreInstruction.transferV1).u8(0).finish(),
  };
}

export function updateTraits(
  asset: SolanaAddress,
  payer: SolanaAddress,
  authority: SolanaAddress,
  list: Trait[],
): Instruction {
  const writer = new Writer().u8(coreInstruction.updatePluginV1).u8(6);
  traits.write(writer, list);
  return {
    programId: coreProgram,
    accounts: [
      { address: asset, signer: false, writable: true },
      none,
      { address: payer, signer: true, writable: true },
      { address: authority, signer: true, writable: false },
      readOnly(systemProgram),
      none,
    ],
    data: writer.finish(),
  };
}
