/** The accounts of the name registry program. Offsets of ArnsRecord are relied on by filters of clients. */
import { createHash } from 'node:crypto';
import { FormatError } from '../format-error.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { accountKind } from './anchor.ts';
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
  struct,
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

export interface ArnsConfig {
  authority: SolanaAddress;
  mint: SolanaAddress;
  treasury: SolanaAddress;
  gracePeriod: number;
  auctionDuration: number;
  maxLeaseYears: number;
  totalNames: bigint;
  nextRecordsPrune: bigint;
  nextReturnedPrune: bigint;
  migrationActive: boolean;
  migrationAuthority: SolanaAddress;
  bump: number;
  version: number[];
}

export const arnsConfig = accountKind<ArnsConfig>(
  'ArnsConfig',
  182,
  struct({
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
  }),
);

export interface DemandFactor {
  /** Times 10^6. */
  factor: bigint;
  period: bigint;
  purchases: bigint;
  revenue: bigint;
  periodsAtMinimum: number;
  trailingPurchases: bigint[];
  trailingRevenues: bigint[];
  /** Base fee by name length, 1 to 51. */
  fees: bigint[];
  periodZero: number;
  criteria: 'revenue' | 'purchases';
  bump: number;
  version: number[];
}

export const demandFactor = accountKind<DemandFactor>(
  'DemandFactor',
  577,
  struct({
    factor: u64,
    period: u64,
    purchases: u64,
    revenue: u64,
    periodsAtMinimum: u32,
    trailingPurchases: fixed(u64, 7),
    trailingRevenues: fixed(u64, 7),
    fees: fixed(u64, 51),
    periodZero: seconds,
    criteria: choice('revenue', 'purchases'),
    bump: u8,
    version,
  }),
);

export interface ArnsRecord {
  nameHash: Buffer;
  owner: SolanaAddress;
  ant: SolanaAddress;
  type: PurchaseType;
  start: number;
  end: number | undefined;
  undernameLimit: number;
  purchasePrice: bigint;
  bump: number;
  name: string;
  version: number[];
}

export const arnsRecord = accountKind<ArnsRecord>(
  'ArnsRecord',
  191,
  struct({
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
  }),
);

export interface ReturnedName {
  name: string;
  nameHash: Buffer;
  initiator: SolanaAddress;
  returnedAt: number;
  bump: number;
  version: number[];
}

export const returnedName = accountKind<ReturnedName>(
  'ReturnedName',
  139,
  struct({ name: string, nameHash: bytes(32), initiator: address, returnedAt: seconds, bump: u8, version }),
);

export interface ReservedName {
  name: string;
  reservedFor: SolanaAddress | undefined;
  expiresAt: number | undefined;
  reservedBy: SolanaAddress;
  createdAt: number;
  bump: number;
  version: number[];
}

export const reservedName = accountKind<ReservedName>(
  'ReservedName',
  149,
  struct({
    name: string,
    reservedFor: option(address),
    expiresAt: option(seconds),
    reservedBy: address,
    createdAt: seconds,
    bump: u8,
    version,
  }),
);

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
  return createHash('sha256').update(name.toLowerCase()).digest();
}

export const arnsAddresses = (program: SolanaAddress) => ({
  config: (): DerivedAddress => findProgramAddress([Buffer.from('arns_config')], program),
  demandFactor: (): DerivedAddress => findProgramAddress([Buffer.from('demand_factor')], program),
  registry: (): DerivedAddress => findProgramAddress([Buffer.from('name_registry')], program),
  record: (name: string): DerivedAddress => byHash('arns_record', hashName(name), program),
  returned: (name: string): DerivedAddress => byHash('returned_name', hashName(name), program),
  reserved: (name: string): DerivedAddress => byHash('reserved_name', hashName(name), program),
});

function byHash(seed: string, hash: Uint8Array, program: SolanaAddress): DerivedAddress {
  return findProgramAddress([Buffer.from(seed), hash], program);
}
