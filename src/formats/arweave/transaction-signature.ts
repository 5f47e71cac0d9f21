/** What a transaction signs, how it is signed, and who signed it. */
import type { JsonWebKey, KeyObject } from 'node:crypto';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { type DeepHashInput, deepHash } from '../deep-hash.ts';
import { FormatError } from '../format-error.ts';
import { sha256 } from './merkle.ts';
import { rsaModulus, rsaPrivateKey, rsaVerifyAsync, signPssAsync } from './rsa-pss.ts';
import { checkTransaction, type Transaction, type UnsignedTransaction } from './transaction.ts';

/** r ‖ s ‖ recovery id (0–3). */
const ECDSA_SIGNATURE_BYTES = 65;

/**
 * The bytes under the signature. Version 1: the fields back to back. Version 2: the deep hash of the list of
 * fields, led by the denomination where there is one, and without the owner where that is recovered (ECDSA).
 */
export function signatureData(transaction: UnsignedTransaction): Buffer {
  const { owner, target, lastTx, tags, dataSize, dataRoot, data, denomination } = transaction;
  const quantity = String(transaction.quantity);
  const reward = String(transaction.reward);
  if (transaction.format === 1) {
    const flatTags = tags.flatMap((tag) => [tag.name, tag.value]);
    return Buffer.concat([owner, target, data, Buffer.from(`${quantity}${reward}`), lastTx, ...flatTags]);
  }
  const tagList = tags.map((tag) => [tag.name, tag.value]);
  const list: DeepHashInput[] = ['2', target, quantity, reward, lastTx, tagList, String(dataSize), dataRoot];
  if (owner.length > 0) list.splice(1, 0, owner);
  if (denomination > 0) list.unshift(String(denomination));
  return deepHash(list);
}

export interface SignOptions {
  /** 0 makes RSA signatures reproducible; verifiers take any. */
  readonly saltLength?: number;
}

/** Signs with an RSA key (JWK or key object), on the thread pool; the key's modulus becomes the owner. */
export async function signTransactionAsync(
  transaction: UnsignedTransaction,
  key: JsonWebKey | KeyObject,
  options: SignOptions = {},
): Promise<Transaction> {
  const privateKey = rsaPrivateKey(key);
  const owned = { ...transaction, owner: rsaModulus(privateKey) };
  checkTransaction(owned);
  return withSignature(owned, await signPssAsync(privateKey, signatureData(owned), options.saltLength));
}

/** Signs with a secp256k1 private key of 32 bytes: the owner stays empty. */
export function signTransactionEcdsa(transaction: UnsignedTransaction, privateKey: Uint8Array): Transaction {
  if (transaction.format !== 2) throw new FormatError('only version 2 can be signed with ECDSA');
  const ownerless = { ...transaction, owner: Buffer.alloc(0) };
  checkTransaction(ownerless);
  const digest = sha256(signatureData(ownerless));
  const signature = secp256k1.sign(digest, privateKey, { prehash: false, format: 'recovered', lowS: true });
  return withSignature(ownerless, Buffer.concat([signature.subarray(1), signature.subarray(0, 1)]));
}

function withSignature(transaction: UnsignedTransaction, signature: Buffer): Transaction {
  return { ...transaction, signature, id: sha256(signature) };
}

/**
 * The signer's public key: the modulus (RSA), or the compressed point recovered from the signature (ECDSA).
 * Undefined where an ECDSA signature recovers none, or is not the canonical one (s in the lower half).
 */
export function transactionOwner(transaction: Transaction): Buffer | undefined {
  if (transaction.owner.length > 0) return transaction.owner;
  const { signature } = transaction;
  const recovery = signature[ECDSA_SIGNATURE_BYTES - 1];
  if (transaction.format !== 2 || signature.length !== ECDSA_SIGNATURE_BYTES) return undefined;
  if (recovery === undefined || recovery > 3) return undefined;
  try {
    const parsed = secp256k1.Signature.fromBytes(signature.subarray(0, 64), 'compact');
    if (parsed.hasHighS()) return undefined;
    const digest = sha256(signatureData(transaction));
    return Buffer.from(parsed.addRecoveryBit(recovery).recoverPublicKey(digest).toBytes(true));
  } catch {
    return undefined;
  }
}

/** SHA-256 of the signer's public key: 32 bytes. Undefined where there is no signer. */
export function ownerAddress(transaction: Transaction): Buffer | undefined {
  const owner = transactionOwner(transaction);
  return owner === undefined ? undefined : sha256(owner);
}

/** True when the id is that of the signature and the signature is good; RSA is verified on the thread pool. */
export async function verifyTransactionAsync(transaction: Transaction): Promise<boolean> {
  if (!sha256(transaction.signature).equals(transaction.id)) return false;
  if (transaction.owner.length === 0) return transactionOwner(transaction) !== undefined;
  return rsaVerifyAsync(transaction.owner, signatureData(transaction), transaction.signature);
}
