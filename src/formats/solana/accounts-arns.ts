/** The accounts of the name registry program. Offsets of ArnsRecord are relied on by filters of clients. */
import { createHash } from 'node:crypto';
import { asciiLowerCase } from '../ascii-case.ts';
import { FormatError } from '../format-error.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { type AccountData, accountKind } from './anchor.ts';
import { Reader, Writer } from './bytes.ts';
import {
  address,
  boolean,
  bytes,
  choice,
  discriminator,
  fixed,
  i64,
  option,
  seconds,
  string,
  u8,
  u16,
  u32,
  u64,
} from './codec.ts';
import { type DerivedAddress, findProgramAddress } from './pda.ts';

/** Major, minor, patch of the account's schema, always its last field. */
export const version = fixed(u8, 3);
export const schemaVersion = [1, 0, 0];

export const purchaseType = choice('lease', 'permabuy');
export type PurchaseType = 'lease' | 'permabuy';

export const arnsConfig = accountKind('ArnsConfig', 182, {
  authority: address,
  mint: address,
  treasury: address,
  gracePeriod: seconds,
  auctionDuration: seconds,
  maxLeaseYears: u8,
  totalNames: u64,
  nextRecordsPrune: i64,
  nextReturnedPrune: i64,
  migrationActive: boolean,
  migrationAuthority: address,
  bump: u8,
  version,
});
export type ArnsConfig = AccountData<typeof arnsConfig>;

export const demandFactor = accountKind('DemandFactor', 577, {
  /** Times 10^6. */
  factor: u64,
  period: u64,
  purchases: u64,
  revenue: u64,
  periodsAtMinimum: u32,
  trailingPurchases: fixed(u64, 7),
  trailingRevenues: fixed(u64, 7),
  /** Base fee by name length, 1 to 51. */
  fees: fixed(u64, 51),
  periodZero: seconds,
  criteria: choice('revenue', 'purchases'),
  bump: u8,
  version,
});
export type DemandFactor = AccountData<typeof demandFactor>;

export const arnsRecord = accountKind('ArnsRecord', 191, {
  nameHash: bytes(32),
  owner: address,
  ant: address,
  type: purchaseType,
  start: seconds,
  end: option(seconds),
  undernameLimit: u16,
  purchasePrice: u64,
  bump: u8,
  name: string,
  version,
});
export type ArnsRecord = AccountData<typeof arnsRecord>;
/** Where a record's token stands in its bytes: behind discriminator, hash and owner. */
export const arnsRecordAntOffset = 72;

export const returnedName = accountKind('ReturnedName', 139, {
  name: string,
  nameHash: bytes(32),
  initiator: address,
  returnedAt: seconds,
  bump: u8,
  version,
});
export type ReturnedName = AccountData<typeof returnedName>;

export const reservedName = accountKind('ReservedName', 149, {
  name: string,
  reservedFor: option(address),
  expiresAt: option(seconds),
  reservedBy: address,
  createdAt: seconds,
  bump: u8,
  version,
});
export type ReservedName = AccountData<typeof reservedName>;

export interface NameRegistryHead {
  authority: SolanaAddress;
  count: number;
}

/** The registry's list of name hashes: a head of 48 bytes, then slots of 40 (hash, index, padding). */
export const nameRegistry = {
  discriminator: discriminator('account:NameRegistry'),
  headSize: 48,
  slotSize: 40,
  head(data: Uint8Array): NameRegistryHead {
    const reader = new Reader(data);
    if (!this.discriminator.equals(reader.take(8)))
      throw new FormatError('not an account of type NameRegistry');
    return { authority: reader.address(), count: reader.u32() };
  },
  encodeHead(head: NameRegistryHead): Buffer {
    return new Writer()
      .bytes(this.discriminator)
      .bytes(addressBytes(head.authority))
      .u32(head.count)
      .u32(0)
      .finish();
  },
  encodeSlot(nameHash: Uint8Array, index: number): Buffer {
    return new Writer().bytes(nameHash).u32(index).u32(0).finish();
  },
};

/** SHA-256 of the lower-cased name or undername: the seed of the accounts that belong to it. */
export function hashName(name: string): Buffer {
  return createHash('sha256').update(asciiLowerCase(name)).digest();
}

export const arnsAddresses = (program: SolanaAddress) => {
  const find = (seed: string, ...more: Uint8Array[]): DerivedAddress =>
    findProgramAddress([Buffer.from(seed), ...more], program);
  return {
    config: () => find('arns_config'),
    demandFactor: () => find('demand_factor'),
    registry: () => find('name_registry'),
    record: (name: string) => find('arns_record', hashName(name)),
    returned: (name: string) => find('returned_name', hashName(name)),
    reserved: (name: string) => find('reserved_name', hashName(name)),
  };
};
