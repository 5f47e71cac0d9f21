/** What the table lookups of a version 0 message stand for. */
import { FormatError } from '../../../formats/format-error.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import {
  decodeLookupTable,
  type LookupTable,
  neverDeactivated,
} from '../../../formats/solana/lookup-table.ts';
import { type Message, withLoaded } from '../../../formats/solana/message.ts';
import { lookupTableProgram } from '../../../formats/solana/programs.ts';
import type { AccountReader } from '../accounts.ts';
import type { TransactionError } from './errors.ts';

/** Slots for which a deactivated table can still be used, and cannot be closed. */
const deactivationSlots = 513n;

type Table = { readonly table: LookupTable } | { readonly error: TransactionError };

/**
 * The message with the addresses it looks up. A cluster hands out new addresses in the next slot, when whoever added
 * them hears of it; here that is at once, and so is their use.
 */
export function resolveLookups(
  message: Message,
  accounts: AccountReader,
  slot: number,
): Message | { readonly error: TransactionError } {
  if (message.lookups.length === 0) return message;
  const writable: SolanaAddress[] = [];
  const readonly: SolanaAddress[] = [];
  for (const lookup of message.lookups) {
    const found = readTable(accounts, lookup.table, slot);
    if ('error' in found) return found;
    const { addresses } = found.table;
    if ([...lookup.writable, ...lookup.readonly].some((place) => place >= addresses.length)) {
      return { error: 'InvalidAddressLookupTableIndex' };
    }
    writable.push(...lookup.writable.map((place) => addresses[place]!));
    readonly.push(...lookup.readonly.map((place) => addresses[place]!));
  }
  return withLoaded(message, { writable, readonly });
}

function readTable(accounts: AccountReader, address: SolanaAddress, slot: number): Table {
  const account = accounts.get(address);
  if (account.lamports === 0n) return { error: 'AddressLookupTableNotFound' };
  if (account.owner !== lookupTableProgram) return { error: 'InvalidAddressLookupTableOwner' };
  try {
    const table = decodeLookupTable(account.data);
    if (table === undefined) return { error: 'InvalidAddressLookupTableData' };
    if (deactivationOf(table, slot) === 'done') return { error: 'AddressLookupTableNotFound' };
    return { table };
  } catch (error) {
    if (error instanceof FormatError) return { error: 'InvalidAddressLookupTableData' };
    throw error;
  }
}

export function deactivationOf(table: LookupTable, slot: number): 'none' | 'running' | 'done' {
  if (table.deactivationSlot === neverDeactivated) return 'none';
  return BigInt(slot) < table.deactivationSlot + deactivationSlots ? 'running' : 'done';
}
