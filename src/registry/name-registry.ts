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
  arnsRecordAntOffset,
  type DemandFactor,
  demandFactor,
  type ReservedName,
  type ReturnedName,
  reservedName,
  returnedName,
} from '../formats/solana/accounts-arns.ts';
import { addressBytes, type SolanaAddress } from '../formats/solana/address.ts';
import type { AccountKind } from '../formats/solana/anchor.ts';
import { antProgramOf, coreAssetOwner } from '../formats/solana/core-asset.ts';
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
  /** The program that governs the token, by the token's own word. */
  readonly program: SolanaAddress;
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
  /** The program that governs the token. */
  readonly antProgram: SolanaAddress;
  readonly target: string;
  readonly protocol: 'arweave' | 'ipfs';
  readonly ttlSeconds: number;
  readonly undernameLimit: number;
  /** Place among the token's records by priority, then name; `@` is 0. */
  readonly recordIndex: number;
  /** Unix seconds when the name stops resolving; undefined for a permanent one. */
  readonly expiresAt: number | undefined;
}

/** What was read of a token: its asset, and accounts of the program that governs it. */
interface TokenAccounts {
  readonly asset: SolanaAddress;
  readonly program: SolanaAddress;
  readonly account: ChainAccount | undefined;
  readonly accounts: readonly (ChainAccount | undefined)[];
}

export interface OwnedName {
  readonly record: ArnsRecord;
  readonly ant: AntState;
}

export const maxOwned = 500;
const maxListPages = 16;

export interface NameRegistry {
  readonly programs: NamePrograms;
  config(): Promise<ArnsConfig>;
  demand(): Promise<DemandFactor>;
  name(name: string): Promise<NameState>;
  ant(asset: SolanaAddress): Promise<AntState | undefined>;
  /** A token with one of its records, all as of one moment. */
  antRecord(asset: SolanaAddress, undername: string): Promise<AntRecordState | undefined>;
  record(asset: SolanaAddress, undername: string): Promise<AntRecord | undefined>;
  metadata(asset: SolanaAddress, undername: string): Promise<AntRecordMetadata | undefined>;
  /** The program that governs a token: the one it names, else the configured one. */
  antProgram(asset: SolanaAddress): Promise<SolanaAddress>;
  records(asset: SolanaAddress): Promise<AntRecord[]>;
  /** Of all records of a token that have any. */
  allMetadata(asset: SolanaAddress): Promise<AntRecordMetadata[]>;
  /**
   * Registered names whose token this address holds, as far as its own list of tokens says and the token is called as
   * its name: at most `maxOwned`.
   */
  ownedNames(user: SolanaAddress): Promise<OwnedName[]>;
  /** Registered names that have this token. */
  namesOf(asset: SolanaAddress): Promise<string[]>;
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

  const antPlaces = (program: SolanaAddress, asset: SolanaAddress) => {
    const at = antAddresses(program);
    return [at.config(asset).address, at.controllers(asset).address];
  };

  const programOf = (asset: ChainAccount | undefined): SolanaAddress =>
    (asset?.owner === coreProgram ? antProgramOf(asset.data) : undefined) ?? programs.ant;

  /**
   * Accounts of a token, as of one moment. They are where its program derives them, which is the configured one almost
   * always: so they are read with the asset, and again where that names another.
   */
  async function ofToken(
    asset: SolanaAddress,
    places: (program: SolanaAddress) => readonly SolanaAddress[],
  ): Promise<TokenAccounts> {
    let program = programs.ant;
    for (let turn = 1; ; turn += 1) {
      const [account, ...accounts] = await chain.accounts([asset, ...places(program)]);
      const named = programOf(account);
      if (named === program || turn === 3) return { asset, program: named, account, accounts };
      program = named;
    }
  }

  function toAnt({ asset, program, account, accounts }: TokenAccounts): AntState | undefined {
    const [config, controllers] = accounts;
    if (account === undefined || account.owner !== coreProgram || account.data[0] !== 1) return undefined;
    const state = decoded(antConfig, program, config);
    const list: AntControllers | undefined = decoded(antControllers, program, controllers);
    if (state === undefined || list === undefined) return undefined;
    const owner = coreAssetOwner(account.data);
    return {
      asset,
      owner,
      program,
      config: state,
      controllers: state.lastKnownOwner === owner ? list.controllers : [],
    };
  }

  /** The tokens that a user's own lists have as owned; they may be behind the tokens themselves. */
  async function listedAssets(user: SolanaAddress): Promise<SolanaAddress[]> {
    const lists = [programs.ant, ...(programs.otherAnts ?? [])].map((program) => listedIn(program, user));
    return [...new Set((await Promise.all(lists)).flat())].slice(0, maxOwned);
  }

  async function listedIn(program: SolanaAddress, user: SolanaAddress): Promise<SolanaAddress[]> {
    const at = antAddresses(program);
    const head = decoded(aclConfig, program, await chain.account(at.aclConfig(user).address));
    if (head === undefined) return [];
    const pages = Math.min(Number(head.pageCount), maxListPages);
    const places = Array.from({ length: pages }, (_, page) => at.aclPage(user, BigInt(page)).address);
    const found = await chain.accounts(places);
    return found.flatMap((account) =>
      (decoded(aclPage, program, account)?.entries ?? []).flatMap(({ asset, role }) =>
        role === 'owner' ? [asset] : [],
      ),
    );
  }

  const ofMint = (asset: SolanaAddress) => ({ offset: antMintOffset, bytes: addressBytes(asset) });

  async function tokenRecord(asset: SolanaAddress, undername: string) {
    const token = await ofToken(asset, (program) => [antAddresses(program).record(asset, undername).address]);
    return { program: token.program, record: decoded(antRecord, token.program, token.accounts[0]) };
  }

  const registry: NameRegistry = {
    programs,
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
      return toAnt(await ofToken(asset, (program) => antPlaces(program, asset)));
    },

    async antRecord(asset, undername) {
      const token = await ofToken(asset, (program) => {
        const at = antAddresses(program);
        const places = [at.record(asset, undername).address, at.metadata(asset, undername).address];
        return [...antPlaces(program, asset), ...places];
      });
      const state = toAnt(token);
      const [record, metadata] = token.accounts.slice(2);
      return (
        state && {
          ant: state,
          record: decoded(antRecord, token.program, record),
          metadata: decoded(antRecordMetadata, token.program, metadata),
        }
      );
    },

    async record(asset, undername) {
      return (await tokenRecord(asset, undername)).record;
    },

    async metadata(asset, undername) {
      const places = (program: SolanaAddress) => [antAddresses(program).metadata(asset, undername).address];
      const { program, accounts } = await ofToken(asset, places);
      return decoded(antRecordMetadata, program, accounts[0]);
    },

    async antProgram(asset) {
      return programOf(await chain.account(asset));
    },

    async records(asset) {
      return all(antRecord, await registry.antProgram(asset), ofMint(asset));
    },

    async allMetadata(asset) {
      return all(antRecordMetadata, await registry.antProgram(asset), ofMint(asset));
    },

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

    async namesOf(asset) {
      const where = { offset: arnsRecordAntOffset, bytes: addressBytes(asset) };
      return (await all(arnsRecord, programs.arns, where)).map(({ name }) => name);
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
      const { program, record: target } = await tokenRecord(record.ant, undername);
      if (target === undefined) return undefined;
      const index = async () => indexOf(await all(antRecord, program, ofMint(record.ant)), undername);
      return {
        name,
        undername,
        antId: record.ant,
        antProgram: program,
        target: target.target,
        protocol: target.targetProtocol === protocolIpfs ? 'ipfs' : 'arweave',
        ttlSeconds: target.ttlSeconds,
        undernameLimit: record.undernameLimit,
        recordIndex: undername === rootUndername ? 0 : await index(),
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
