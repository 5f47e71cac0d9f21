/**
 * Signatures that wallets make over messages other than data items: one verifier for every chain. A wrong
 * key, signature or type is `undefined`, never an exception.
 */
import { hash, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { WalletAddress } from './address.ts';
import { type AddressForms, formsOfEthereumKey, formsOfSolanaKey } from './address-forms.ts';
import { arweaveAddress, arweavePublicKey, verifyPssAsync } from './arweave/rsa.ts';
import { ethereumAddress } from './ethereum/address.ts';
import { personalMessageHash, recoverEthereumKey } from './ethereum/personal-message.ts';
import { uncompressedPublicKey } from './ethereum/secp256k1.ts';
import { solanaAddress } from './solana/address.ts';
import { ed25519PublicKey, verifyEd25519 } from './solana/ed25519.ts';

/** Numbered as in ANS-104: Arweave, raw Ed25519, Ethereum, Solana. */
export const messageSignatureTypes = [1, 2, 3, 4] as const;
export type MessageSignatureType = (typeof messageSignatureTypes)[number];

/** The wallet that signed `message`, or undefined; of the kinds that are quick to verify. */
export function verifyMessage(
  type: Exclude<MessageSignatureType, 1>,
  publicKey: Buffer,
  message: Buffer,
  signature: Buffer,
): WalletAddress | undefined {
  return type === 3
    ? verifyEthereum(publicKey, message, signature)
    : verifySolana(type, publicKey, message, signature);
}

/** The same of every kind, with the one slow kind, RSA, on libuv's threads. */
export async function verifyMessageAsync(
  type: MessageSignatureType,
  publicKey: Buffer,
  message: Buffer,
  signature: Buffer,
): Promise<WalletAddress | undefined> {
  if (type !== 1) return verifyMessage(type, publicKey, message, signature);
  const signer = rsaSigner(publicKey, signature);
  if (signer === undefined) return undefined;
  // Some browser wallets hash the message before they sign it, and so sign the hash of its hash.
  const signed =
    (await verifyPssAsync(signer.key, message, signature)) ||
    (await verifyPssAsync(signer.key, hash('sha256', message, 'buffer'), signature));
  return signed ? signer.wallet : undefined;
}

/**
 * Names a signature by its bytes. Of a 65-byte one (Ethereum) the recovery byte is left out: it may be written in two
 * ways. The verifiers take no other form of the same signature: S below the order, s at most n/2, RSA below the modulus.
 */
export function signatureHash(signature: Buffer): string {
  return hash('sha256', signature.length === 65 ? signature.subarray(0, 64) : signature, 'base64url');
}

/** Every form of the address of a key, where it has several. */
export function formsOfMessageKey(type: MessageSignatureType, publicKey: Buffer): AddressForms | undefined {
  if (type === 1) return undefined;
  if (type !== 3) return formsOfSolanaKey(publicKey);
  const key = uncompressedPublicKey(publicKey);
  return key && formsOfEthereumKey(key);
}

/** The type a key of this length has, for clients that do not say. */
export function inferSignatureType(publicKey: Uint8Array): MessageSignatureType | undefined {
  switch (publicKey.length) {
    case 512:
      return 1;
    case 33:
    case 65:
      return 3;
    case 32:
      return 4;
    default:
      return undefined;
  }
}

interface RsaSigner {
  readonly key: KeyObject;
  readonly wallet: WalletAddress;
}

/** Of the wallets seen last: their parsed keys and their addresses. */
const rsaSigners = new LRUCache<string, RsaSigner>({ max: 1_024 });

function rsaSigner(modulus: Buffer, signature: Buffer): RsaSigner | undefined {
  if (modulus.length !== 512 || signature.length !== 512) return undefined;
  const name = modulus.toString('latin1');
  const known = rsaSigners.get(name);
  if (known !== undefined) return known;
  const key = arweavePublicKey(modulus);
  if (key === undefined) return undefined;
  const signer: RsaSigner = { key, wallet: { kind: 'arweave', address: arweaveAddress(modulus) } };
  rsaSigners.set(name, signer);
  return signer;
}

/** Solana wallets of type 4 sign the message itself or, where they refuse binary, its lower-case hex. */
function verifySolana(
  type: 2 | 4,
  publicKey: Buffer,
  message: Buffer,
  signature: Buffer,
): WalletAddress | undefined {
  const key = ed25519PublicKey(publicKey);
  if (key === undefined) return undefined;
  const signed =
    verifyEd25519(key, message, signature) ||
    (type === 4 && verifyEd25519(key, Buffer.from(message.toString('hex'), 'latin1'), signature));
  return signed ? { kind: 'solana', address: solanaAddress(publicKey) } : undefined;
}

/** EIP-191. The recovery byte may be 0 or 1 here: nothing is named by the signature's bytes. */
function verifyEthereum(publicKey: Buffer, message: Buffer, signature: Buffer): WalletAddress | undefined {
  const key = uncompressedPublicKey(publicKey);
  const signer = recoverEthereumKey(personalMessageHash(message), signature, { allowRawRecovery: true });
  if (key === undefined || signer === undefined || !Buffer.from(key).equals(signer)) return undefined;
  return { kind: 'ethereum', address: ethereumAddress(key) };
}
