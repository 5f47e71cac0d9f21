/** The accounts of the name-token (ANT) program: one config, controllers and records per asset, lists per user. */
import { hashName, version } from './accounts-arns.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { type AccountData, accountKind } from './anchor.ts';
import { address, bytes, choice, list, option, string, struct, u8, u32, u64 } from './codec.ts';
import { type DerivedAddress, findProgramAddress } from './pda.ts';

export const antConfig = accountKind('AntConfig', 452, {
  mint: address,
  name: string,
  ticker: string,
  logo: string,
  description: string,
  keywords: list(string),
  /** The asset owner the program last saw; when the asset's own owner differs, controllers are void. */
  lastKnownOwner: address,
  bump: u8,
  version,
});
export type AntConfig = AccountData<typeof antConfig>;

export const maxControllers = 4;

export const antControllers = accountKind('AntControllers', 176, {
  mint: address,
  controllers: list(address),
  bump: u8,
  version,
});
export type AntControllers = AccountData<typeof antControllers>;

export const antRecord = accountKind('AntRecord', 316, {
  mint: address,
  undername: string,
  target: string,
  /** 0 Arweave, 1 IPFS. */
  targetProtocol: u8,
  ttlSeconds: u32,
  priority: option(u32),
  owner: option(address),
  lastReconciledOwner: address,
  bump: u8,
  version,
});
export type AntRecord = AccountData<typeof antRecord>;

export const antRecordMetadata = accountKind('AntRecordMetadata', 436, {
  mint: address,
  undernameHash: bytes(32),
  displayName: option(string),
  logo: option(string),
  description: option(string),
  keywords: option(list(string)),
  bump: u8,
  version,
});
export type AntRecordMetadata = AccountData<typeof antRecordMetadata>;

/** Where the asset's address stands in every account above, for filters. */
export const antMintOffset = 8;

export const aclConfig = accountKind('AclConfig', 60, {
  user: address,
  pageCount: u64,
  totalEntries: u64,
  bump: u8,
  version,
});
export type AclConfig = AccountData<typeof aclConfig>;

export const maxAclPageEntries = 256;
const aclEntrySize = 33;

/** A page starts empty and grows by one entry at a time. */
export const aclPage = accountKind('AclPage', 56, {
  user: address,
  pageIndex: u64,
  entries: list(struct({ asset: address, role: choice('owner', 'controller') })),
  bump: u8,
  version,
});
export type AclPage = AccountData<typeof aclPage>;
export type AclEntry = AclPage['entries'][number];
export type AclRole = AclEntry['role'];

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
