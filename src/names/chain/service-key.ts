/** The service's Solana key: it pays for every transaction, buys the names and manages their records. */
import type { KeyObject } from 'node:crypto';
import { randomBytes } from 'node:crypto';
import { encodeBase58, tryDecodeBase58 } from '../../formats/base58.ts';
import { tryParseJson } from '../../formats/json.ts';
import { type SolanaAddress, toSolanaAddress } from '../../formats/solana/address.ts';
import { StartupError } from '../../kernel/errors.ts';
import { ed25519PrivateKey, ed25519RawPublicKey, signEd25519 } from '../../wallets/solana/ed25519.ts';

export interface SolanaKey {
  readonly address: SolanaAddress;
  sign(message: Uint8Array): Buffer;
}

function keyOf(privateKey: KeyObject): SolanaKey {
  return {
    address: toSolanaAddress(ed25519RawPublicKey(privateKey)),
    sign: (message) => signEd25519(privateKey, message),
  };
}

/** A key for one transaction: the address of an asset that does not exist yet. */
export function freshKey(): SolanaKey {
  return keyOf(ed25519PrivateKey(randomBytes(32)));
}

/** Seed and public key, 64 bytes: in base58 as browser wallets write them, or as the JSON list of Solana's tools. */
export function parseSecretKey(text: string, variable = 'SOLANA_SIGNER_SECRET_KEY'): SolanaKey {
  const bytes = tryDecodeList(text) ?? tryDecodeBase58(text.trim());
  if (bytes?.length !== 64) throw new StartupError(`${variable} must be base58 of 64 bytes`);
  const key = keyOf(ed25519PrivateKey(bytes.subarray(0, 32)));
  if (key.address !== toSolanaAddress(bytes.subarray(32))) {
    throw new StartupError(`${variable} holds a public key that is not the private key's own`);
  }
  return key;
}

function tryDecodeList(text: string): Buffer | undefined {
  const list = tryParseJson(text);
  const isByte = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
  return Array.isArray(list) && list.every(isByte) ? Buffer.from(list) : undefined;
}

/** A new key, in base58. */
export function makeSecretKey(): string {
  const seed = randomBytes(32);
  return encodeBase58(Buffer.concat([seed, ed25519RawPublicKey(ed25519PrivateKey(seed))]));
}
