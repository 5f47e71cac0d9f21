/**
 * The wallets of the local network: ten of each kind, the same on every machine, and the wallet of the local service.
 * Their keys are known to everyone, so that they are refused wherever money is real (`isKnownToEveryone`).
 *
 * Ethereum and Solana wallets come from the mnemonic that local chains have in common, at the paths that wallets use.
 * Arweave has no such custom: its wallets come from labels.
 */
import { encodeBase58 } from '../formats/base58.ts';
import { bytesOf, labelledPrime, rsaKeyOf } from './arweave/labelled-key.ts';
import { type ArweaveKey, arweaveAddress, exportJwk, type RsaJwk } from './arweave/rsa.ts';
import { ethereumAddress } from './ethereum/address.ts';
import { publicKeyOf } from './ethereum/secp256k1.ts';
import { ed25519SeedAt, secp256k1KeyAt, seedOfMnemonic } from './mnemonic.ts';
import { solanaAddress } from './solana/address.ts';
import { ed25519PrivateKey, ed25519RawPublicKey } from './solana/ed25519.ts';

export const localMnemonic = 'test test test test test test test test test test test junk';
export const mostLocalWallets = 10;

export interface LocalArweaveWallet {
  readonly address: string;
  /** Computed when it is asked for: that takes some milliseconds. */
  readonly jwk: RsaJwk;
}

export interface LocalEthereumWallet {
  readonly address: string;
  /** `0x` and 64 hex digits. */
  readonly privateKey: string;
}

export interface LocalSolanaWallet {
  readonly address: string;
  /** Seed and public key in base58, as browser wallets take it. */
  readonly secretKey: string;
  /** The same 64 bytes as Solana's own tools keep them in a file. */
  readonly bytes: readonly number[];
}

export interface LocalWallets {
  readonly mnemonic: string;
  readonly arweave: readonly LocalArweaveWallet[];
  readonly ethereum: readonly LocalEthereumWallet[];
  readonly solana: readonly LocalSolanaWallet[];
}

/** The first `count` of each kind. */
export function localWallets(count = mostLocalWallets): LocalWallets {
  const all = allWallets();
  return {
    mnemonic: localMnemonic,
    arweave: all.arweave.slice(0, count),
    ethereum: all.ethereum.slice(0, count),
    solana: all.solana.slice(0, count),
  };
}

/** Pays for bundles on the local network. */
export function localServiceWallet(): ArweaveKey {
  return rsaKeyOf(...servicePrimes());
}

/** Primes of the local service's other keys, four each. */
export function localServicePrimes(key: 'receipt key' | 'data key'): bigint[] {
  return fourPrimeSteps[key].map((steps, index) =>
    labelledPrime(`turnpike local ${key} ${index + 1}`, steps, 128, 0xf0),
  );
}

/** Whether anyone can sign for this address, because it is one of the local network's. */
export function isKnownToEveryone(address: string): boolean {
  known ??= new Set(knownAddresses().map(spelling));
  return known.has(spelling(address));
}
let known: ReadonlySet<string> | undefined;

/** Ethereum addresses are the same in any case. */
const spelling = (address: string): string => (address.startsWith('0x') ? address.toLowerCase() : address);

function knownAddresses(): string[] {
  const { arweave, ethereum, solana } = allWallets();
  const ofPrimes = [servicePrimes(), localServicePrimes('receipt key'), localServicePrimes('data key')];
  return [
    ...[...arweave, ...ethereum, ...solana].map(({ address }) => address),
    ...ofPrimes.map((primes) => arweaveAddress(bytesOf(product(primes)))),
  ];
}

/** How far the search for the primes p and q of each wallet went. */
const walletSteps = [
  [38, 1021],
  [45, 158],
  [1632, 375],
  [1857, 316],
  [615, 227],
  [693, 428],
  [1928, 891],
  [618, 47],
  [690, 439],
  [54, 457],
] as const;
const fourPrimeSteps = {
  'receipt key': [89, 174, 214, 184],
  'data key': [169, 72, 15, 922],
} as const;

const servicePrimes = (): [bigint, bigint] => [
  labelledPrime('turnpike local service wallet p', 1626),
  labelledPrime('turnpike local service wallet q', 0),
];

let computed: LocalWallets | undefined;

function allWallets(): LocalWallets {
  if (computed !== undefined) return computed;
  const seed = seedOfMnemonic(localMnemonic);
  const places = walletSteps.map((_steps, index) => index);
  computed = {
    mnemonic: localMnemonic,
    arweave: walletSteps.map(([p, q], index) =>
      arweaveWallet(
        labelledPrime(`turnpike local wallet ${index} p`, p),
        labelledPrime(`turnpike local wallet ${index} q`, q),
      ),
    ),
    ethereum: places.map((index) => {
      const key = secp256k1KeyAt(seed, `m/44'/60'/0'/0/${index}`);
      return { address: ethereumAddress(publicKeyOf(key)), privateKey: `0x${key.toString('hex')}` };
    }),
    solana: places.map((index) => {
      const secret = ed25519SeedAt(seed, `m/44'/501'/${index}'/0'`);
      const publicKey = ed25519RawPublicKey(ed25519PrivateKey(secret));
      const bytes = Buffer.concat([secret, publicKey]);
      return { address: solanaAddress(publicKey), secretKey: encodeBase58(bytes), bytes: [...bytes] };
    }),
  };
  return computed;
}

function arweaveWallet(p: bigint, q: bigint): LocalArweaveWallet {
  let jwk: RsaJwk | undefined;
  return {
    address: arweaveAddress(bytesOf(p * q)),
    get jwk() {
      jwk ??= exportJwk(rsaKeyOf(p, q));
      return jwk;
    },
  };
}

const product = (factors: readonly bigint[]): bigint => factors.reduce((left, right) => left * right, 1n);
