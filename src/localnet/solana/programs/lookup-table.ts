/** The address lookup table program: lists of addresses that version 0 messages name by their place. */
import { addressBytes, type SolanaAddress } from '../../../formats/solana/address.ts';
import { Reader, Writer } from '../../../formats/solana/bytes.ts';
import {
  decodeLookupTable,
  encodeLookupTable,
  type LookupTable,
  lookupTableInstruction,
  maxTableAddresses,
  neverDeactivated,
  tableHeadSize,
} from '../../../formats/solana/lookup-table.ts';
import { tryCreateProgramAddress } from '../../../formats/solana/pda.ts';
import { rentExemptMinimum } from '../../../formats/solana/programs.ts';
import { transferLamports } from '../../../formats/solana/system.ts';
import { fail, parsed } from '../runtime/errors.ts';
import type { Invocation, Program } from '../runtime/invocation.ts';
import { deactivationOf } from '../runtime/lookups.ts';
import { createDerivedAccount } from './anchor.ts';

/** A new table is derived from a slot among so many before this one. */
const recentSlots = 512;

const handlers: Readonly<Record<number, (call: Invocation, reader: Reader) => void>> = {
  [lookupTableInstruction.create]: create,
  [lookupTableInstruction.freeze]: freeze,
  [lookupTableInstruction.extend]: extend,
  [lookupTableInstruction.deactivate]: deactivate,
  [lookupTableInstruction.close]: close,
};

export const lookupTable: Program = {
  units: () => 750,
  run(call) {
    parsed(() => {
      const reader = new Reader(call.data);
      const handler = handlers[reader.u32()] ?? fail('InvalidInstructionData');
      handler(call, reader);
    });
  },
};

function create(call: Invocation, reader: Reader): void {
  const [slot, bump] = [reader.u64(), reader.u8()];
  const [address, authority, payer] = [call.address(0), call.address(1), call.address(2)];
  call.requireSigner(payer);
  if (slot > BigInt(call.slot) || slot + BigInt(recentSlots) < BigInt(call.slot)) {
    call.log(`${slot} is not a recent slot`);
    fail('InvalidInstructionData');
  }
  const seeds = [addressBytes(authority), new Writer().u64(slot).finish(), Uint8Array.of(bump)];
  const derived = tryCreateProgramAddress(seeds, call.programId) ?? fail('InvalidSeeds');
  if (derived !== address) {
    call.log(`Table address must match derived address: ${derived}`);
    fail('InvalidArgument');
  }
  // Made by whoever came first; the second finds what it wanted.
  if (call.account(address).owner === call.programId) return;
  createDerivedAccount(call, payer, { address, bump, seeds }, tableHeadSize);
  write(call, address, {
    deactivationSlot: neverDeactivated,
    lastExtendedSlot: 0n,
    lastExtendedStart: 0,
    authority,
    addresses: [],
  });
}

function freeze(call: Invocation): void {
  const { address, table } = open(call);
  requireActive(call, table, 'Deactivated tables cannot be frozen');
  if (table.addresses.length === 0) {
    call.log('Empty lookup tables cannot be frozen');
    fail('InvalidInstructionData');
  }
  write(call, address, { ...table, authority: undefined });
}

function extend(call: Invocation, reader: Reader): void {
  const count = reader.u64();
  if (count * 32n > BigInt(reader.remaining)) fail('InvalidInstructionData');
  const added = Array.from({ length: Number(count) }, () => reader.address());
  const { address, table } = open(call);
  requireActive(call, table, 'Deactivated tables cannot be extended');
  const before = table.addresses.length;
  if (before >= maxTableAddresses) {
    call.log('Lookup table is full and cannot contain more addresses');
    fail('InvalidArgument');
  }
  if (added.length === 0) {
    call.log('Must extend with at least one address');
    fail('InvalidInstructionData');
  }
  if (before + added.length > maxTableAddresses) {
    call.log(`Extended lookup table length ${before + added.length} would exceed max capacity of 256`);
    fail('InvalidInstructionData');
  }
  const isFirstOfSlot = table.lastExtendedSlot !== BigInt(call.slot);
  write(call, address, {
    ...table,
    lastExtendedSlot: BigInt(call.slot),
    lastExtendedStart: isFirstOfSlot ? before : table.lastExtendedStart,
    addresses: [...table.addresses, ...added],
  });
  const account = call.account(address);
  const missing = rentExemptMinimum(account.data.length) - account.lamports;
  if (missing <= 0n) return;
  const payer = call.address(2);
  call.requireSigner(payer);
  call.invoke(transferLamports(payer, address, missing));
}

function deactivate(call: Invocation): void {
  const { address, table } = open(call);
  requireActive(call, table, 'Lookup table is already deactivated');
  write(call, address, { ...table, deactivationSlot: BigInt(call.slot) });
}

function close(call: Invocation): void {
  const recipient = call.address(2);
  const { address, table } = open(call);
  if (address === recipient) {
    call.log('Lookup table cannot be the recipient of reclaimed lamports');
    fail('InvalidArgument');
  }
  const deactivation = deactivationOf(table, call.slot);
  if (deactivation !== 'done') {
    call.log(
      deactivation === 'none'
        ? 'Lookup table is not deactivated'
        : 'Table cannot be closed until it is fully deactivated',
    );
    fail('InvalidArgument');
  }
  call.close(address, recipient);
}

/** The table and the right to change it. */
function open(call: Invocation): { address: SolanaAddress; table: LookupTable } {
  const [address, authority] = [call.address(0), call.address(1)];
  const account = call.account(address);
  if (account.owner !== call.programId) fail('InvalidAccountOwner');
  call.requireSigner(authority);
  const table = parsed(() => decodeLookupTable(account.data), 'InvalidAccountData');
  if (table === undefined) fail('UninitializedAccount');
  if (table.authority === undefined) {
    call.log('Lookup table is frozen');
    fail('Immutable');
  }
  if (table.authority !== authority) fail('IncorrectAuthority');
  return { address, table };
}

function requireActive(call: Invocation, table: LookupTable, otherwise: string): void {
  if (table.deactivationSlot === neverDeactivated) return;
  call.log(otherwise);
  fail('InvalidArgument');
}

const write = (call: Invocation, address: SolanaAddress, table: LookupTable): void =>
  call.writeData(address, encodeLookupTable(table));
