/**
 * RSA-PSS with SHA-256 as the chain uses it: the public key is the bare modulus with exponent 65537, and a
 * signature is good with any salt length.
 */
import {
  constants,
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { encodeBase64url } from '../base64url.ts';
import { FormatError } from '../format-error.ts';

/** Making a key object costs a quarter of a verification, and owners repeat. */
const keptKeys = 512;
const publicKeys = new Map<string, KeyObject>();

/** The key of a modulus; undefined where OpenSSL refuses it. */
export function rsaPublicKey(modulus: Uint8Array): KeyObject | undefined {
  const n = encodeBase64url(modulus);
  let key = publicKeys.get(n);
  if (key !== undefined) return key;
  try {
    key = withPss(createPublicKey({ key: { kty: 'RSA', n, e: 'AQAB' }, format: 'jwk' }));
  } catch {
    return undefined;
  }
  if (publicKeys.size >= keptKeys) {
    for (const oldest of publicKeys.keys()) {
      publicKeys.delete(oldest);
      break;
    }
  }
  publicKeys.set(n, key);
  return key;
}

export function rsaPrivateKey(key: JsonWebKey | KeyObject): KeyObject {
  const object = key instanceof KeyObject ? key : createPrivateKey({ key, format: 'jwk' });
  if (object.type !== 'private' || object.asymmetricKeyType !== 'rsa') {
    throw new FormatError('not an RSA private key');
  }
  return object;
}

/** The modulus of a key, which is the `owner` of what it signs. */
export function rsaModulus(key: KeyObject): Buffer {
  const { n } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  if (n === undefined) throw new FormatError('not an RSA key');
  return Buffer.from(n, 'base64url');
}

/**
 * On the thread pool: a 4096-bit signature takes 20 ms and more of a core. Salt length 32 unless said otherwise; 0 makes
 * the signature reproducible.
 */
export function signPssAsync(key: KeyObject, message: Uint8Array, saltLength = 32): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const isMade = 'saltLength' in key && key.saltLength === saltLength;
  const options = isMade ? key : { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
  sign('sha256', message, options, (error, signature) => (error ? reject(error) : resolve(signature)));
  return promise;
}

/** On the thread pool. */
export function rsaVerifyAsync(
  modulus: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const key = rsaPublicKey(modulus);
  if (key === undefined || signature.length !== modulus.length) return Promise.resolve(false);
  return verifyPssAsync(key, message, signature);
}

/** Whether `signature` is one of `message`, with whatever salt length it says. */
export function verifyPss(key: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify('sha256', message, pss(key), signature);
  } catch {
    return false;
  }
}

/** The same on the thread pool: a server that verifies per request must not do it on its event loop. */
export function verifyPssAsync(key: KeyObject, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  verify('sha256', message, pss(key), signature, (error, valid) => resolve(error === null && valid));
  return promise;
}

const anySalt = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_AUTO,
} as const;

/**
 * A public key that carries the options of its signatures. `crypto.verify` reads them from whatever it is given as the
 * key; given an object around the key instead, it first finds out that this object is no key, which costs an eighth of
 * the verification.
 */
export function withPss(publicKey: KeyObject): KeyObject {
  return Object.assign(publicKey, anySalt);
}

/** A copy of a private key for signatures without salt, for who makes many: it carries their options, as above. */
export function withoutSalt(privateKey: KeyObject): KeyObject {
  const copy = createPrivateKey({
    key: privateKey.export({ format: 'der', type: 'pkcs1' }),
    format: 'der',
    type: 'pkcs1',
  });
  return Object.assign(copy, { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 0 });
}

const pss = (key: KeyObject) => ('saltLength' in key ? key : { key, ...anySalt });
