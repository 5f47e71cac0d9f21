/** The Metaplex Core instructions of a name token's life: made with its traits, moved, traits rewritten. */
import type { SolanaAddress } from './address.ts';
import { Writer } from './bytes.ts';
import { string } from './codec.ts';
import { type Trait, traits } from './core-asset.ts';
import { type AccountMeta, type Instruction, readOnly, signer, writable, writableSigner } from './message.ts';
import { coreProgram, systemProgram } from './programs.ts';

export const coreInstruction = { createV1: 0, updatePluginV1: 6, transferV1: 14 } as const;

/** In these account lists an absent account is the program itself. */
const none = readOnly(coreProgram);

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
      writableSigner(parts.asset),
      none,
      signer(parts.payer),
      writableSigner(parts.payer),
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
  const data = new Writer().u8(coreInstruction.transferV1).u8(0).finish();
  return changeAsset(asset, payer, owner, [readOnly(newOwner)], data);
}

export function updateTraits(
  asset: SolanaAddress,
  payer: SolanaAddress,
  authority: SolanaAddress,
  list: Trait[],
): Instruction {
  const writer = new Writer().u8(coreInstruction.updatePluginV1).u8(6);
  traits.write(writer, list);
  return changeAsset(asset, payer, authority, [], writer.finish());
}

function changeAsset(
  asset: SolanaAddress,
  payer: SolanaAddress,
  authority: SolanaAddress,
  more: readonly AccountMeta[],
  data: Uint8Array,
): Instruction {
  return {
    programId: coreProgram,
    accounts: [
      writable(asset),
      none,
      writableSigner(payer),
      signer(authority),
      ...more,
      readOnly(systemProgram),
      none,
    ],
    data,
  };
}
