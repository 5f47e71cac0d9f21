/** Names, tokens and records as they stand on the chain now. Nothing is cached here. */
import {
  type AntConfig,
  type AntControllers,
  type AntRecord,
  type AntRecordMetadata,
  aclConfig,
  aclPage,
  antAddresses,
  antConfig,
  antControllers,
  antMintOffset,
  antRecord,
  antRecordMetadata,
} from '../formats/solana/accounts-ant.ts';
import {
  type ArnsConfig,
  type ArnsRecord,
  arnsAddresses,
  arnsConfig,
  arnsRecord,
  type DemandFactor,
  demandFactor,
  type ReservedName,
  type ReturnedName,
  reservedName,
  returnedName,
} from '../formats/solana/accounts-arns.ts';
import { addressBytes, type SolanaAddress } from '../formats/solana/address.ts';
import type { AccountKind } from '../formats/solana/anchor.ts';
import { coreAssetOwner } from '../formats/solana/core-asset.ts';
import { gracePeriodSeconds } from '../formats/solana/name-prices.ts';
import { isArnsName, isUndername, protocolIpfs, rootUndername } from '../formats/solana/name-rules.ts';
import { coreProgram, type NamePrograms } from '../formats/solana/programs.ts';
import type { ChainAccount, NameChain } from './chain.ts';

/** Everything that decides about one name. */
export interface NameState {
  readonly record: ArnsRecord | undefined;
  readonly returned: ReturnedName | undefined;
  readonly reserved: ReservedName | undefined;
}

/** A name token with its owner and controllers. */
export interface AntState {
  readonly asset: SolanaAddress;
  /** The holder of the asset: the only truth about who owns the name. */
  readonly owner: SolanaAddress;
  readonly config: AntConfig;
  /** Those named by the present owner; empty when the asset changed hands since. */
  readonly controllers: readonly SolanaAddress[];
}

export interface AntRecordState {
  readonly ant: AntState;
  readonly record: AntRecord | undefined;
  readonly metadata: AntRecordMetadata | undefined;
}

/** What a name or undername resolves to. */
export interface ResolvedName {
  readonly name: string;
  readonly undername: string;
  readonly antId: SolanaAddress;
  readonly target: string;
  readonly protocol: 'arweave' | 'ipfs';
  readonly ttlSeconds: number;
  readonly undernameLimit: number;
  /** Place among the token's records by priority, then name; `@` is 0. */
  readonly recordIndex: number;
  /** Unix seconds when the name stops resolving; undefined for a permanent one. */
  readonly expiresAt: number | undefined;
}

export interface OwnedName {
  readonly record: ArnsRecord;
  readonly ant: AntState;
}

export const maxOwned = 500;
const maxListPages = 16;

export interface NameRegistry {
  readonly programs: NamePrograms;
  /** The program that governs tokens, as gateways announce it. */
  readonly antProgram: SolanaAddress;
  config(): Promise<ArnsConfig>;
  demand(): Promise<DemandFactor>;
  name(name: string): Promise<NameState>;
  ant(asset: SolanaAddress): Promise<AntState | undefined>;
  /** A token with one of its records, all as of one moment. */
  antRecord(asset: SolanaAddress, undername: string): Promise<AntRecordState | undefined>;
  record(asset: SolanaAddress, undername: string): Promise<AntRecord | undefined>;
  metadata(asset: SolanaAddress, undername: string): Promise<AntRecordMetadata | undefined>;
  records(asset: SolanaAddress): Promise<AntRecord[]>;
  /** Of all records of a token that have any. */
  allMetadata(asset: SolanaAddress): Promise<AntRecordMetadata[]>;
  /**
   * Registered names whose token this address holds, as far as its own list of tokens says and the token is called as
   * its name: at most `maxOwned`.
   */
  ownedNames(user: SolanaAddress): Promise<OwnedName[]>;
  /** Every registered name, in order of name. */
  names(): Promise<ArnsRecord[]>;
  /**
   * Where a name points now; undefined where the chain says it points nowhere. Fails with `ChainUnavailable`
   * where the chain does not say: that is not the same.
   */
  resolve(name: string, undername?: string): Promise<ResolvedName | undefined>;
}

/** `now` answers Unix seconds. */
export function createNameRegistry(
  chain: NameChain,
  programs: NamePrograms,
  now: () => number = () => Math.floor(Date.now() / 1000),
): NameRegistry {
  const arns = arnsAddresses(programs.arns);
  const ant = antAddresses(programs.ant);

  function decoded<T>(
    kind: AccountKind<T>,
    owner: SolanaAddress,
    account: ChainAccount | undefined,
  ): T | undefined {
    if (account === undefined || account.owner !== owner || !kind.matches(account.data)) return undefined;
    return kind.decode(account.data);
  }

  async function all<T>(
    kind: AccountKind<T>,
    owner: SolanaAddress,
    ...where: readonly { offset: number; bytes: Buffer }[]
  ): Promise<T[]> {
    const filters = [{ offset: 0, bytes: kind.discriminator }, ...where].map(({ offset, bytes }) => ({
      memcmp: { offset, bytes: bytes.toString('base64'), encoding: 'base64' as const },
    }));
    const found = await chain.programAccounts(owner, filters);
    return found.map(({ account }) => kind.decode(account.data));
  }

  async function needed<T>(kind: AccountKind<T>, address: SolanaAddress): Promise<T> {
    const value = decoded(kind, programs.arns, await chain.account(address));
    if (value === undefined) throw new Error(`the chain has no ${kind.name} of program ${programs.arns}`);
    return value;
  }

  const antPlaces = (asset: SolanaAddress) => [
    asset,
    ant.config(asset).address,
    ant.controllers(asset).address,
  ];

  function toAnt(
    asset: SolanaAddress,
    [account, config, controllers]: readonly (ChainAccount | undefined)[],
  ): AntState | undefined {
    if (account === undefined || account.owner !== coreProgram || account.data[0] !== 1) return undefined;
    const state = decoded(antConfig, programs.ant, config);
    const list: AntControllers | undefined = decoded(antControllers, programs.ant, controllers);
    if (state === undefined || list === undefined) return undefined;
    const owner = coreAssetOwner(account.data);
    return {
      asset,
      owner,
      config: state,
      controllers: state.lastKnownOwner === owner ? list.controllers : [],
    };
  }

  /** The tokens that a user's own list has as owned; it may be behind the tokens themselves. */
  async function listedAssets(user: SolanaAddress): Promise<SolanaAddress[]> {
    const head = decoded(aclConfig, programs.ant, await chain.account(ant.aclConfig(user).address));
    if (head === undefined) return [];
    const pages = Math.min(Number(head.pageCount), maxListPages);
    const places = Array.from({ length: pages }, (_, page) => ant.aclPage(user, BigInt(page)).address);
    const assets = new Set<SolanaAddress>();
    for (const account of await chain.accounts(places)) {
      const page = decoded(aclPage, programs.ant, account);
      for (const { asset, role } of page?.entries ?? []) if (role === 'owner') assets.add(asset);
    }
    return [...assets].slice(0, maxOwned);
  }

  const registry: NameRegistry = {
    programs,
    antProgram: programs.ant,
    config: () => needed(arnsConfig, arns.config().address),
    demand: () => needed(demandFactor, arns.demandFactor().address),

    async name(name) {
      const places = [arns.record(name), arns.returned(name), arns.reserved(name)];
      const [record, returned, reserved] = await chain.accounts(places.map(({ address }) => address));
      return {
        record: decoded(arnsRecord, programs.arns, record),
        returned: decoded(returnedName, programs.arns, returned),
        reserved: decoded(reservedName, programs.arns, reserved),
      };
    },

    async ant(asset) {
      return toAnt(asset, await chain.accounts(antPlaces(asset)));
    },

    async antRecord(asset, undername) {
      const places = [ant.record(asset, undername).address, ant.metadata(asset, undername).address];
      const [record, metadata, ...parts] = await chain.accounts([...places, ...antPlaces(asset)]);
      const state = toAnt(asset, parts);
      return (
        state && {
          ant: state,
          record: decoded(antRecord, programs.ant, record),
          metadata: decoded(antRecordMetadata, programs.ant, metadata),
        }
      );
    },

    async record(asset, undername) {
      return decoded(antRecord, programs.ant, await chain.account(ant.record(asset, undername).address));
    },

    async metadata(asset, undername) {
      const { address } = ant.metadata(asset, undername);
      return decoded(antRecordMetadata, programs.ant, await chain.account(address));
    },

    records: (asset) => all(antRecord, programs.ant, { offset: antMintOffset, bytes: addressBytes(asset) }),

    allMetadata: (asset) =>
      all(antRecordMetadata, programs.ant, { offset: antMintOffset, bytes: addressBytes(asset) }),

    async ownedNames(user) {
      const assets = await listedAssets(user);
      const tokens = (await Promise.all(assets.map((asset) => registry.ant(asset)))).filter(
        (token) => token?.owner === user && isArnsName(token.config.name),
      ) as AntState[];
      const places = tokens.map(({ config }) => arns.record(config.name).address);
      const found = await chain.accounts(places);
      return tokens.flatMap((token, index) => {
        const record = decoded(arnsRecord, programs.arns, found[index]);
        return record?.ant === token.asset ? [{ record, ant: token }] : [];
      });
    },

    async names() {
      const found = await all(arnsRecord, programs.arns);
      return found.sort((a, b) => (a.name < b.name ? -1 : 1));
    },

    async resolve(name, undername = rootUndername) {
      if (!isArnsName(name) || !isUndername(undername)) return undefined;
      const account = await chain.account(arns.record(name).address);
      const record = decoded(arnsRecord, programs.arns, account);
      if (record === undefined) return undefined;
      const expiresAt = record.end === undefined ? undefined : record.end + gracePeriodSeconds;
      if (expiresAt !== undefined && expiresAt < now()) return undefined;
      const target = await registry.record(record.ant, undername);
      if (target === undefined) return undefined;
      return {
        name,
        undername,
        antId: record.ant,
        target: target.target,
        protocol: target.targetProtocol === protocolIpfs ? 'ipfs' : 'arweave',
        ttlSeconds: target.ttlSeconds,
        undernameLimit: record.undernameLimit,
        recordIndex: undername === rootUndername ? 0 : indexOf(await registry.records(record.ant), undername),
        expiresAt,
      };
    },
  };
  return registry;
}

/** The place of an undername: records with a priority first, in its order, then the others by name. */
export function indexOf(records: readonly AntRecord[], undername: string): number {
  const rank = ({ priority }: AntRecord) => priority ?? Number.POSITIVE_INFINITY;
  const ordered = records
    .filter((record) => record.undername !== rootUndername)
    .sort((a, b) => {
      const difference = rank(a) - rank(b);
      if (difference !== 0 && !Number.isNaN(difference)) return difference;
      return a.undername < b.undername ? -1 : 1;
    });
  return ordered.findIndex((record) => record.undername === undername) + 1;
}
