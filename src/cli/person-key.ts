/**
 * A person's key of any chain, as commands sign with it: an Arweave wallet (JWK), an Ethereum key (64 hex digits) or a
 * Solana key (the list of 64 numbers of Solana's tools, or base58 as browser wallets write it). It comes from a file, from
 * the environment where no file should be (CI), or is asked for where a person sits in front.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { decodeBase58 } from '../formats/base58.ts';
import { tryParseJson } from '../formats/json.ts';
import { type SolanaAddress, toSolanaAddress } from '../formats/solana/address.ts';
import { hasCode, messageOf, StartupError } from '../kernel/errors.ts';
import { arweaveKey, importJwk, signPss } from '../wallets/arweave/rsa.ts';
import {
  arweaveSigner,
  ethereumSigner,
  type ItemSigner,
  solanaSigner,
} from '../wallets/data-items/signer.ts';
import { ethereumAddress } from '../wallets/ethereum/address.ts';
import { personalMessageHash, signEthereumDigest } from '../wallets/ethereum/personal-message.ts';
import { publicKeyOf } from '../wallets/ethereum/secp256k1.ts';
import { ed25519PrivateKey, ed25519RawPublicKey, signEd25519 } from '../wallets/solana/ed25519.ts';
import { UsageError } from './command.ts';

/** Who owns names: a Solana key. */
export interface OwnerKey {
  readonly address: SolanaAddress;
  sign(message: Uint8Array): Buffer;
}

export interface PersonKey {
  readonly kind: 'arweave' | 'ethereum' | 'solana';
  /** Of the account that its credits are on. */
  readonly address: string;
  /** Without salt: the same contents are the same item, whose id tells whether it is stored already. */
  readonly items: ItemSigner;
  /** Signs a request's text as the wallets of its chain do. */
  signText(text: string): Promise<Buffer>;
  /** Where it can own names. */
  readonly owner?: OwnerKey;
  /** Where it can sign token transfers: a digest of typed data (EIP-712). */
  signDigest?(digest: Uint8Array): Buffer;
}

export interface KeyPlaces {
  /** Of `--wallet`. */
  readonly file: string | undefined;
  /** What TURNPIKE_WALLET holds. */
  readonly inEnvironment: string | undefined;
}

/** The wallet that pays. A file wins over the environment; a person is asked where there is a terminal. */
export async function findKey({ file, inEnvironment }: KeyPlaces): Promise<PersonKey> {
  if (file !== undefined) return readKeyFile(file);
  if (inEnvironment !== undefined) return parseKey(inEnvironment, 'in TURNPIKE_WALLET');
  if (process.stdin.isTTY && process.stderr.isTTY) {
    const typed = await askHidden('--wallet is missing. Key of the wallet, or the path of its file: ');
    return isKeyText(typed) ? parseKey(typed, 'that was typed') : readKeyFile(typed.trim());
  }
  throw new UsageError('--wallet is missing: a key file, or the key itself in TURNPIKE_WALLET');
}

/** Who owns names where no file says it: the key in TURNPIKE_OWNER, else the wallet that pays, if it is a Solana key. */
export function findOwner(inEnvironment: string | undefined, payer: PersonKey): OwnerKey {
  const key = inEnvironment === undefined ? payer : parseKey(inEnvironment, 'in TURNPIKE_OWNER');
  if (key.owner === undefined) {
    throw new UsageError('--owner is missing: a Solana key file, see "turnpike name key", or TURNPIKE_OWNER');
  }
  return key.owner;
}

export function readKeyFile(path: string): PersonKey {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const reason = hasCode(error, 'ENOENT') ? 'there is no such file' : messageOf(error);
    throw new StartupError(`key ${path} cannot be read: ${reason}`);
  }
  return parseKey(text, path);
}

/** `where` names it in messages; the text never is in one. */
export function parseKey(text: string, where: string): PersonKey {
  const trimmed = text.trim();
  try {
    return keyOf(trimmed);
  } catch (error) {
    const reason = error instanceof NoKey ? error.message : 'it is damaged';
    throw new StartupError(`key ${where} cannot be used: ${reason}`);
  }
}

class NoKey extends Error {}

function keyOf(text: string): PersonKey {
  // Services kept their wallets as PEM once.
  if (text.startsWith('-----BEGIN')) return arweavePerson(arweaveKey(createPrivateKey(text)));
  if (/^(?:0x)?[0-9a-fA-F]{64}$/.test(text)) return ethereumPerson(Buffer.from(text.slice(-64), 'hex'));
  const json = tryParseJson(text);
  if (Array.isArray(json)) return solanaPerson(bytesOf(json));
  if (typeof json === 'object' && json !== null) return arweavePerson(importJwk(text));
  if (/^[1-9A-HJ-NP-Za-km-z]{80,90}$/.test(text)) return solanaPerson(Buffer.from(decodeBase58(text)));
  // CI secrets are often kept in base64, because a JWK has quotes.
  const decoded = /^[A-Za-z0-9+/=_-]{100,}$/.test(text) ? Buffer.from(text, 'base64').toString() : '';
  if (decoded.startsWith('{')) return arweavePerson(importJwk(decoded));
  throw new NoKey('it is no JWK, no 64 hex digits and no Solana key');
}

const isKeyText = (text: string): boolean =>
  /^\s*(?:[[{]|0x[0-9a-fA-F]{64}\s*$|[0-9a-fA-F]{64}\s*$|-----BEGIN)/.test(text);

function bytesOf(numbers: readonly unknown[]): Buffer {
  const isByte = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
  if (!numbers.every(isByte)) throw new NoKey('a Solana key is a list of 64 numbers from 0 to 255');
  return Buffer.from(numbers as number[]);
}

function arweavePerson(key: ReturnType<typeof arweaveKey>): PersonKey {
  return {
    kind: 'arweave',
    address: key.address,
    items: arweaveSigner(key, { saltLength: 0 }),
    signText: (text) => signPss(key.privateKey, Buffer.from(text)),
  };
}

function ethereumPerson(secret: Buffer): PersonKey {
  return {
    kind: 'ethereum',
    address: ethereumAddress(publicKeyOf(secret)),
    items: ethereumSigner(secret),
    signText: async (text) => signEthereumDigest(personalMessageHash(Buffer.from(text)), secret),
    signDigest: (digest) => signEthereumDigest(digest, secret),
  };
}

function solanaPerson(bytes: Buffer): PersonKey {
  if (bytes.length !== 64) throw new NoKey('a Solana key has 64 bytes: the seed and the public key');
  const privateKey: KeyObject = ed25519PrivateKey(bytes.subarray(0, 32));
  const address = toSolanaAddress(ed25519RawPublicKey(privateKey));
  if (address !== toSolanaAddress(bytes.subarray(32)))
    throw new NoKey('its two halves do not belong together');
  const sign = (message: Uint8Array): Buffer => signEd25519(privateKey, message);
  return {
    kind: 'solana',
    address,
    items: solanaSigner(privateKey),
    signText: async (text) => sign(Buffer.from(text)),
    owner: { address, sign },
  };
}

/** What is typed is not shown. */
function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  return new Promise((answered, failed) => {
    lines.once('line', (line) => {
      lines.close();
      process.stderr.write('\n');
      answered(line);
    });
    lines.once('SIGINT', () => {
      lines.close();
      process.stderr.write('\n');
      failed(new StartupError('no key was given'));
    });
  });
}
