/**
 * The first block: the programs, the name token with its treasury, the empty registry at demand factor one, the
 * reserved name `www`, and a faucet that owns every lamport and may mint the token. Everything after it is a
 * transaction.
 */
import { createHash } from 'node:crypto';
import {
  arnsAddresses,
  arnsConfig,
  demandFactor,
  nameRegistry,
  reservedName,
} from '../../formats/solana/accounts-arns.ts';
import { type SolanaAddress, toSolanaAddress } from '../../formats/solana/address.ts';
import {
  auctionSeconds,
  genesisDemandFactor,
  gracePeriodSeconds,
  maxLeaseYears,
  scale,
} from '../../formats/solana/name-prices.ts';
import {
  bpfLoader,
  lamportsPerSol,
  type NamePrograms,
  nativeLoader,
  nativeMint,
  rentExemptMinimum,
  systemProgram,
  tokenProgram,
} from '../../formats/solana/programs.ts';
import { associatedTokenAddress, encodeMint, encodeTokenAccount } from '../../formats/solana/token.ts';
import { ed25519PrivateKey, ed25519RawPublicKey } from '../../wallets/solana/ed25519.ts';
import { type Account, emptyAccount } from './accounts.ts';
import { stamp } from './programs/anchor.ts';
import { programTable } from './programs/program-table.ts';
import { newTokenAccount } from './programs/token.ts';

export interface GenesisSettings {
  readonly programs: NamePrograms;
  /** Names the registry can hold. */
  readonly registryCapacity: number;
  /** In millionths. */
  readonly demandFactor: number;
}

export const defaultRegistryCapacity = 5_000;
const faucetSol = 500_000_000n;
const tokenDecimals = 6;
const never = 2n ** 63n - 1n;

export interface Keypair {
  readonly address: SolanaAddress;
  readonly privateKey: ReturnType<typeof ed25519PrivateKey>;
}

export function keypairOf(seed: Uint8Array): Keypair {
  const privateKey = ed25519PrivateKey(seed);
  return { address: toSolanaAddress(ed25519RawPublicKey(privateKey)), privateKey };
}

/** Pays airdrops and upkeep, mints the token, and is the registry's authority. */
export function faucetOf(seed: Buffer): Keypair {
  return keypairOf(createHash('sha256').update('faucet').update(seed).digest());
}

/** The one node's name for itself. */
export function identityOf(seed: Buffer): SolanaAddress {
  return keypairOf(createHash('sha256').update('identity').update(seed).digest()).address;
}

export function genesisAccounts(
  seed: Buffer,
  createdMs: number,
  settings: GenesisSettings,
): Map<SolanaAddress, Account> {
  const { programs } = settings;
  const faucet = faucetOf(seed).address;
  const at = arnsAddresses(programs.arns);
  const seconds = Math.floor(createdMs / 1000);
  const treasury = associatedTokenAddress(at.config().address, programs.mint);
  const accounts = new Map<SolanaAddress, Account>();
  const put = (address: SolanaAddress, owner: SolanaAddress, data: Buffer) => {
    accounts.set(address, { lamports: rentExemptMinimum(data.length), owner, data, executable: false });
  };

  for (const [address, account] of builtInAccounts(programs)) accounts.set(address, account);
  accounts.set(faucet, { ...emptyAccount, lamports: faucetSol * lamportsPerSol });
  const mint = encodeMint({
    authority: faucet,
    supply: 0n,
    decimals: tokenDecimals,
    initialized: true,
    freezeAuthority: undefined,
  });
  put(programs.mint, tokenProgram, mint);
  put(treasury, tokenProgram, encodeTokenAccount(newTokenAccount(programs.mint, at.config().address)));
  const config = arnsConfig.encode({
    authority: faucet,
    mint: programs.mint,
    treasury,
    gracePeriod: gracePeriodSeconds,
    auctionDuration: auctionSeconds,
    maxLeaseYears,
    totalNames: 0n,
    nextRecordsPrune: never,
    nextReturnedPrune: never,
    migrationActive: false,
    migrationAuthority: faucet,
    ...stamp(at.config()),
  });
  put(at.config().address, programs.arns, config);
  const factor = genesisDemandFactor(BigInt(settings.demandFactor), seconds, at.demandFactor().bump);
  put(at.demandFactor().address, programs.arns, demandFactor.encode(factor));
  const registry = Buffer.alloc(nameRegistry.headSize + nameRegistry.slotSize * settings.registryCapacity);
  nameRegistry.encodeHead({ authority: faucet, count: 0 }).copy(registry);
  put(at.registry().address, programs.arns, registry);
  const reserved = reservedName.encode({
    name: 'www',
    reservedFor: undefined,
    expiresAt: undefined,
    reservedBy: faucet,
    createdAt: seconds,
    ...stamp(at.reserved('www')),
  });
  put(at.reserved('www').address, programs.arns, reserved);
  return accounts;
}

/** The programs, and the mint of wrapped SOL: what a ledger of an earlier release is given when it is opened. */
export function builtInAccounts(programs: NamePrograms): Map<SolanaAddress, Account> {
  const accounts = new Map<SolanaAddress, Account>();
  for (const program of programTable(programs).keys()) {
    const owner = program === systemProgram ? nativeLoader : bpfLoader;
    const data = Buffer.from('local ledger');
    accounts.set(program, { lamports: rentExemptMinimum(36), owner, data, executable: true });
  }
  const data = encodeMint({
    authority: undefined,
    supply: 0n,
    decimals: 9,
    initialized: true,
    freezeAuthority: undefined,
  });
  accounts.set(nativeMint, {
    lamports: rentExemptMinimum(data.length),
    owner: tokenProgram,
    data,
    executable: false,
  });
  return accounts;
}

export const defaultDemandFactor = Number(scale);
