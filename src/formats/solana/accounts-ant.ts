/** The accounts of the name-token (ANT) program: one config, controllers and records per asset, lists per user. */

import { hashName, version } from './accounts-arns.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { accountKind } from './anchor.ts';
import { address, bytes, choice, list, option, string, struct, u8, u32, u64 } from './codec.ts';
import { type DerivedAddress, findProgramAddress } from './pda.ts';

export interface AntConfig {
  mint: SolanaAddress;
  name: string;
  ticker: string;
  logo: string;
  description: string;
  keywords: string[];
  /** The asset owner the program last saw; when the asset's own owner differs, controllers are void. */
  lastKnownOwner: SolanaAddress;
  bump: number;
  version: number[];
}

export const antConfig = accountKind<AntConfig>(
  'AntConfig',
  452,
  struct({
    mint: address,
    name: string,
    ticker: string,
    logo: string,
    description: string,
    keywords: list(string),
    lastKnownOwner: address,
    bump: u8,
    version,
  }),
);

export interface AntControllers {
  mint: SolanaAddress;
  controllers: SolanaAddress[];
  bump: number;
  version: number[];
}

export const maxControllers = 4;

export const antControllers = accountKind<AntControllers>(
  'AntControllers',
  176,
  struct({ mint: address, controllers: list(address), bump: u8, version }),
);

export interface AntRecord {
  mint: SolanaAddress;
  undername: string;
  target: string;
  /** 0 Arweave, 1 IPFS. */
  targetProtocol: number;
  ttlSeconds: number;
  priority: number | undefined;
  owner: SolanaAddress | undefined;
  lastReconciledOwner: SolanaAddress;
  bump: number;
  version: number[];
}

export const antRecord = accountKind<AntRecord>(
  'AntRecord',
  316,
  struct({
    mint: address,
    undername: string,
    target: string,
    targetProtocol: u8,
    ttlSeconds: u32,
    priority: option(u32),
    owner: option(address),
    lastReconciledOwner: address,
    bump: u8,
    version,
  }),
);

export interface AntRecordMetadata {
  mint: SolanaAddress;
  undernameHash: Buffer;
  displayName: string | undefined;
  logo: string | undefined;
  description: string | undefined;
  keywords: string[] | undefined;
  bump: number;
  version: number[];
}

export const antRecordMetadata = accountKind<AntRecordMetadata>(
  'AntRecordMetadata',
  436,
  struct({
    mint: address,
    undernameHash: bytes(32),
    displayName: option(string),
    logo: option(string),
    description: option(string),
    keywords: option(list(string)),
    bump: u8,
    version,
  }),
);

/** Where the asset's address stands in every account above, for filters. */
export const antMintOffset = 8;

export interface AclConfig {
  user: SolanaAddress;
  pageCount: bigint;
  totalEntries: bigint;
  bump: number;
  version: number[];
}

export const aclConfig = accountKind<AclConfig>(
  'AclConfig',
  60,
  struct({ user: address, pageCount: u64, totalEntries: u64, bump: u8, version }),
);

export type AclRole = 'owner' | 'controller';

export interface AclEntry {
  asset: SolanaAddress;
  role: AclRole;
}

export interface AclPage {
  user: SolanaAddress;
  pageIndex: bigint;
  entries: AclEntry[];
  bump: number;
  version: number[];
}

export const maxAclPageEntries = 256;
const aclEntrySize = 33;

/** A page starts empty and grows by one entry at a time. */
export const aclPage = accountKind<AclPage>(
  'AclPage',
  56,
  struct({
    user: address,
    pageIndex: u64,
    entries: list(struct<AclEntry>({ asset: address, role: choice('owner', 'controller') })),
    bump: u8,
    version,
  }),
);

export function aclPageSize(entries: number): number {
  return aclPage.space + aclEntrySize * entries;
}

export const antAddresses = (program: SolanaAddress) => {
  const find = (seed: string, ...more: Uint8Array[]): DerivedAddress =>
    findProgramAddress([Buffer.from(seed), ...more], program);
  const pageIndexBytes = (index: bigint) => {
    const seed = Buffer.alloc(8);
    seed.writeBigUInt64LE(index);
    return seed;
  };
  return {
    config: (asset: SolanaAddress) => find('ant_config', addressBytes(asset)),
    controllers: (asset: SolanaAddress) => find('ant_controllers', addressBytes(asset)),
    /** Updates the asset's traits on behalf of the program. */
    authority: (asset: SolanaAddress) => find('ant_authority', addressBytes(asset)),
    record: (asset: SolanaAddress, undername: string) =>
      find('ant_record', addressBytes(asset), hashName(undername)),
    metadata: (asset: SolanaAddress, undername: string) =>
      find('ant_record_meta', addressBytes(asset), hashName(undername)),
    aclConfig: (user: SolanaAddress) => find('acl_config', addressBytes(user)),
    aclPage: (user: SolanaAddress, index: bigint) =>
      find('acl_page', addressBytes(user), pageIndexBytes(index)),
  };
};
