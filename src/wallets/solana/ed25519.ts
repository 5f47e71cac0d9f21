/**
 * Ed25519 with raw 32-byte keys, strict: S below the group order (RFC 8032 §5.1.7), keys in canonical form and
 * not of small order. A key of small order "signs" messages nobody signed, and OpenSSL takes it.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex');
const privatePrefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The group order L, little-endian. */
const order = Buffer.from('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010', 'hex');

/** Points of order 1, 2, 4 and 8, little-endian without the sign bit. */
const smallOrder = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]);

/** The key object of a raw public key, or undefined for one that no honest wallet has. */
export function ed25519PublicKey(raw: Uint8Array): KeyObject | undefined {
  if (raw.length !== 32 || !isCanonical(raw) || isSmallOrder(raw)) return undefined;
  return createPublicKey({ key: Buffer.concat([publicPrefix, raw]), format: 'der', type: 'spki' });
}

/** Verifies with a key of `ed25519PublicKey`. */
export function verifyEd25519(key: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  return signature.length === 64 && isBelowOrder(signature) && verify(null, message, key, signature);
}

/** The same on the thread pool. */
export function verifyEd25519Async(
  key: KeyObject,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (signature.length !== 64 || !isBelowOrder(signature)) return Promise.resolve(false);
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  verify(null, message, key, signature, (error, isGood) => (error ? reject(error) : resolve(isGood)));
  return promise;
}

/** The private key of a 32-byte seed. */
export function ed25519PrivateKey(seed: Uint8Array): KeyObject {
  if (seed.length !== 32) throw new Error('an Ed25519 seed has 32 bytes');
  return createPrivateKey({ key: Buffer.concat([privatePrefix, seed]), format: 'der', type: 'pkcs8' });
}

/** The raw public key of a private one. */
export function ed25519RawPublicKey(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(publicPrefix.length);
}

export function signEd25519(privateKey: KeyObject, message: Uint8Array): Buffer {
  return sign(null, message, privateKey);
}

/** Whether S (the second half, little-endian) is below L. */
function isBelowOrder(signature: Uint8Array): boolean {
  for (let i = 31; i >= 0; i--) {
    const difference = signature[32 + i]! - order[i]!;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Whether y is below the field's prime 2^255 − 19. */
function isCanonical(raw: Uint8Array): boolean {
  if ((raw[31]! & 0x7f) !== 0x7f || raw[0]! < 0xed) return true;
  for (let i = 1; i < 31; i++) {
    if (raw[i] !== 0xff) return true;
  }
  return false;
}

function isSmallOrder(raw: Uint8Array): boolean {
  const bytes = Buffer.from(raw);
  bytes[31]! &= 0x7f;
  return smallOrder.has(bytes.toString('hex'));
}
