/**
 * ECDSA on secp256k1 over a digest that the caller made, which `node:crypto` cannot do. libsecp256k1 as
 * WebAssembly recovers a key about ten times as fast as the pure-JavaScript curve; the latter serves where
 * WebAssembly is switched off.
 *
 * Signatures are strict: r and s in range and s at most n/2 (EIP-2), so that nobody but the signer can make
 * a second signature of the same message.
 */
import type { secp256k1 as NobleCurve } from '@noble/curves/secp256k1.js';

export interface RecoverableSignature {
  /** r ‖ s, 64 bytes, s ≤ n/2. */
  readonly signature: Uint8Array;
  /** 0–3: parity of R.y, and whether R.x exceeded n. */
  readonly recovery: number;
}

interface Curve {
  recover(digest: Uint8Array, signature: Uint8Array, recovery: 0 | 1): Uint8Array | null;
  sign(digest: Uint8Array, privateKey: Uint8Array): RecoverableSignature;
  publicKey(privateKey: Uint8Array): Uint8Array | null;
  decompress(publicKey: Uint8Array): Uint8Array | null;
}

/** n/2, big-endian: the largest canonical s. */
const halfOrder = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex');

const curve = await loadWebAssembly().catch(loadPureJavaScript);

/**
 * The 65-byte public key that made `signature` (r ‖ s) over a 32-byte digest, or undefined when there is none
 * or the signature is not canonical. Recovery bytes 2 and 3 (R.x above n, chance 2⁻¹²⁷) are refused: Ethereum
 * has no way to write them.
 */
export function recoverPublicKey(
  digest: Uint8Array,
  signature: Uint8Array,
  recovery: number,
): Uint8Array | undefined {
  if (digest.length !== 32 || signature.length !== 64 || (recovery !== 0 && recovery !== 1)) return undefined;
  if (!hasLowS(signature)) return undefined;
  try {
    return curve.recover(digest, signature, recovery) ?? undefined;
  } catch {
    return undefined; // r or s is zero or not below n
  }
}

export function signDigest(digest: Uint8Array, privateKey: Uint8Array): RecoverableSignature {
  // The library takes what is too short as if zeros followed.
  if (digest.length !== 32 || privateKey.length !== 32)
    throw new Error('a digest and a key have 32 bytes each');
  return curve.sign(digest, privateKey);
}

/** The uncompressed public key; throws when the private key is zero or not below n. */
export function publicKeyOf(privateKey: Uint8Array): Uint8Array {
  let key: Uint8Array | null = null;
  try {
    if (privateKey.length === 32) key = curve.publicKey(privateKey);
  } catch (cause) {
    throw new Error('not a secp256k1 private key', { cause });
  }
  if (key === null) throw new Error('not a secp256k1 private key');
  return key;
}

/** A 33- or 65-byte public key in its 65-byte form, or undefined when it is no point of the curve. */
export function uncompressedPublicKey(publicKey: Uint8Array): Uint8Array | undefined {
  const [form] = publicKey;
  const isCompressed = publicKey.length === 33 && (form === 2 || form === 3);
  // libsecp256k1 also reads a hybrid form, which nothing writes.
  if (!isCompressed && !(publicKey.length === 65 && form === 4)) return undefined;
  try {
    return curve.decompress(publicKey) ?? undefined;
  } catch {
    return undefined;
  }
}

function hasLowS(signature: Uint8Array): boolean {
  return Buffer.compare(signature.subarray(32, 64), halfOrder) <= 0;
}

/** The file of the library that has the curve alone: its index loads all of Bitcoin. */
async function loadWebAssembly(): Promise<Curve> {
  const { instantiateSecp256k1 } = await import('@bitauth/libauth/build/lib/crypto/secp256k1.js');
  const library = await instantiateSecp256k1();
  return {
    recover: (digest, signature, recovery) =>
      bytesOrNull(library.recoverPublicKeyUncompressed(signature, recovery, digest)),
    sign(digest, privateKey) {
      const signed = library.signMessageHashRecoverableCompact(privateKey, digest);
      if (typeof signed === 'string') throw new Error(signed);
      return { signature: signed.signature, recovery: signed.recoveryId };
    },
    publicKey: (privateKey) => bytesOrNull(library.derivePublicKeyUncompressed(privateKey)),
    decompress: (publicKey) => bytesOrNull(library.uncompressPublicKey(publicKey)),
  };
}

/** The library answers with a sentence where it refuses. */
const bytesOrNull = (answer: Uint8Array | string): Uint8Array | null =>
  typeof answer === 'string' ? null : answer;

/** Exported for the test that both curves agree. */
export async function loadPureJavaScript(): Promise<Curve> {
  const { secp256k1 } = await import('@noble/curves/secp256k1.js');
  return pureJavaScript(secp256k1);
}

function pureJavaScript(noble: typeof NobleCurve): Curve {
  return {
    recover: (digest, signature, recovery) =>
      noble.Signature.fromBytes(signature).addRecoveryBit(recovery).recoverPublicKey(digest).toBytes(false),
    sign(digest, privateKey) {
      const bytes = noble.sign(digest, privateKey, { prehash: false, lowS: true, format: 'recovered' });
      return { signature: bytes.slice(1), recovery: bytes[0] ?? 0 };
    },
    publicKey: (privateKey) => noble.getPublicKey(privateKey, false),
    decompress: (publicKey) => noble.Point.fromBytes(publicKey).toBytes(false),
  };
}
