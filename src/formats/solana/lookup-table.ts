/** Address lookup tables: accounts that list addresses, so that a version 0 message names them by one byte each. */
import { FormatError } from '../format-error.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { Reader, Writer } from './bytes.ts';

/** Bytes in front of the addresses. */
export const tableHeadSize = 56;
export const maxTableAddresses = 256;
/** The slot of deactivation of a table that is in use. */
export const neverDeactivated = 2n ** 64n - 1n;

export const lookupTableInstruction = { create: 0, freeze: 1, extend: 2, deactivate: 3, close: 4 } as const;

export interface LookupTable {
  readonly deactivationSlot: bigint;
  readonly lastExtendedSlot: bigint;
  /** How many addresses there were before the slot of the last extension. */
  readonly lastExtendedStart: number;
  /** Undefined: frozen. */
  readonly authority: SolanaAddress | undefined;
  readonly addresses: readonly SolanaAddress[];
}

const initialized = 1;

export function encodeLookupTable(table: LookupTable): Buffer {
  const { authority } = table;
  const writer = new Writer()
    .u32(initialized)
    .u64(table.deactivationSlot)
    .u64(table.lastExtendedSlot)
    .u8(table.lastExtendedStart)
    .u8(authority === undefined ? 0 : 1)
    .bytes(authority === undefined ? Buffer.alloc(32) : addressBytes(authority))
    .u16(0);
  for (const address of table.addresses) writer.bytes(addressBytes(address));
  return writer.finish();
}

/** Undefined where the account was made and never filled; fails with `FormatError` where it is no table. */
export function decodeLookupTable(data: Uint8Array): LookupTable | undefined {
  const reader = new Reader(data);
  const state = reader.u32();
  if (state === 0) return undefined;
  if (state !== initialized || data.length < tableHeadSize || (data.length - tableHeadSize) % 32 !== 0) {
    throw new FormatError('these bytes are no lookup table');
  }
  const deactivationSlot = reader.u64();
  const lastExtendedSlot = reader.u64();
  const lastExtendedStart = reader.u8();
  const flag = reader.u8();
  if (flag > 1) throw new FormatError('a flag is neither 0 nor 1');
  const authority = flag === 1 ? reader.address() : undefined;
  const addresses = new Reader(data.subarray(tableHeadSize));
  return {
    deactivationSlot,
    lastExtendedSlot,
    lastExtendedStart,
    authority,
    addresses: Array.from({ length: addresses.remaining / 32 }, () => addresses.address()),
  };
}
