/** Metaplex Core, as far as name tokens need it: an asset is made with its traits, moved, its traits rewritten. */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { Reader } from '../../../formats/solana/bytes.ts';
import { string } from '../../../formats/solana/codec.ts';
import {
  type CoreAsset,
  decodeCoreAsset,
  encodeCoreAsset,
  traits,
} from '../../../formats/solana/core-asset.ts';
import { coreInstruction } from '../../../formats/solana/core-instructions.ts';
import { rentExemptMinimum, systemProgram } from '../../../formats/solana/programs.ts';
import { createAccount, transferLamports } from '../../../formats/solana/system.ts';
import { fail, failCustom, parsed } from '../runtime/errors.ts';
import type { Invocation, Program } from '../runtime/invocation.ts';

const coreError = {
  invalidSystemProgram: 0,
  pluginNotFound: 4,
  incorrectAccount: 6,
  invalidPlugin: 8,
  invalidAuthority: 9,
  noApprovals: 26,
} as const;

const attributesPlugin = 6;
const collectionPlugins = 1;

export const core: Program = {
  units: () => 25_000,
  run(call) {
    const reader = new Reader(call.data);
    const kind = parsed(() => reader.u8());
    if (kind === coreInstruction.createV1) create(call, reader);
    else if (kind === coreInstruction.transferV1) transfer(call);
    else if (kind === coreInstruction.updatePluginV1) updatePlugin(call, reader);
    else fail('InvalidInstructionData');
  },
};

/** The program's own address stands for "none" in an optional place. */
function optional(call: Invocation, index: number): SolanaAddress | undefined {
  const address = call.address(index);
  return address === call.programId ? undefined : address;
}

function readCreate(reader: Reader) {
  if (reader.u8() !== 0) failCustom(coreError.invalidPlugin);
  const name = string.read(reader);
  const uri = string.read(reader);
  if (reader.u8() === 0) return { name, uri, traits: undefined };
  const count = reader.u32();
  if (count === 0) return { name, uri, traits: undefined };
  if (count > collectionPlugins || reader.u8() !== attributesPlugin) failCustom(coreError.invalidPlugin);
  const list = traits.read(reader);
  // Traits that only the update authority may write are the one form this ledger keeps.
  if (reader.u8() !== 1 || reader.u8() !== 2) failCustom(coreError.invalidPlugin);
  return { name, uri, traits: list };
}

function create(call: Invocation, reader: Reader): void {
  const args = parsed(() => readCreate(reader));
  const asset = call.address(0);
  const payer = call.address(3);
  const authority = optional(call, 2) ?? payer;
  call.requireSigner(asset);
  call.requireSigner(payer);
  call.requireSigner(authority);
  if (optional(call, 1) !== undefined) failCustom(coreError.incorrectAccount);
  if (call.address(6) !== systemProgram) failCustom(coreError.invalidSystemProgram);
  const updateAuthority = optional(call, 5) ?? authority;
  const data = encodeCoreAsset({ owner: optional(call, 4) ?? updateAuthority, updateAuthority, ...args });
  call.invoke(createAccount(payer, asset, rentExemptMinimum(data.length), data.length, call.programId));
  call.writeData(asset, data);
}

/** The asset at the first place, and who signs for the change. */
function readAsset(call: Invocation): { address: SolanaAddress; authority: SolanaAddress; asset: CoreAsset } {
  const address = call.address(0);
  const authority = optional(call, 3) ?? call.address(2);
  call.requireSigner(authority);
  const account = call.account(address);
  if (account.owner !== call.programId) failCustom(coreError.incorrectAccount);
  return { address, authority, asset: parsed(() => decodeCoreAsset(account.data), 'InvalidAccountData') };
}

function transfer(call: Invocation): void {
  const { address, authority, asset } = readAsset(call);
  if (asset.owner !== authority) failCustom(coreError.noApprovals);
  writeAsset(call, address, call.address(2), { ...asset, owner: call.address(4) });
}

function updatePlugin(call: Invocation, reader: Reader): void {
  const list = parsed(() => {
    if (reader.u8() !== attributesPlugin) failCustom(coreError.invalidPlugin);
    return traits.read(reader);
  });
  const { address, authority, asset } = readAsset(call);
  if (asset.traits === undefined) failCustom(coreError.pluginNotFound);
  if (asset.updateAuthority !== authority) failCustom(coreError.noApprovals);
  writeAsset(call, address, call.address(2), { ...asset, traits: list });
}

/** The payer adds or gets back the rent of what the asset grew or shrank by. */
function writeAsset(call: Invocation, address: SolanaAddress, payer: SolanaAddress, asset: CoreAsset): void {
  const data = encodeCoreAsset(asset);
  const rent = rentExemptMinimum(data.length);
  const held = call.account(address).lamports;
  if (held < rent) call.invoke(transferLamports(payer, address, rent - held));
  call.writeData(address, data);
  if (held > rent) call.moveLamports(address, payer, held - rent);
}
