/**
 * RSA-PSS with SHA-256 as Arweave uses it: 4096-bit keys with the exponent 65537, known by their modulus.
 * Any salt length verifies (Node signs with the longest, wallets with 32, receipts with 0).
 *
 * Signing runs on libuv's threads: one signature is milliseconds of work and must not hold the event loop.
 */
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import { withPss } from '../../formats/arweave/rsa-pss.ts';
import {
  type ArweaveAddress,
  encodeBase64url,
  toArweaveAddress,
  tryDecodeBase64url,
} from '../../formats/base64url.ts';

/** Signing is the asynchronous form here: a service never signs on its event loop. */
export {
  signPssAsync as signPss,
  verifyPss,
  verifyPssAsync,
  withoutSalt,
} from '../../formats/arweave/rsa-pss.ts';

const modulusBytes = 512;

/** The members of a private RSA key in JWK form, each base64url. */
export interface RsaJwk {
  readonly kty: 'RSA';
  readonly n: string;
  readonly e: string;
  readonly d: string;
  readonly p: string;
  readonly q: string;
  readonly dp: string;
  readonly dq: string;
  readonly qi: string;
}

export interface ArweaveKey {
  /** 512 bytes: the public key. */
  readonly modulus: Buffer;
  readonly address: ArweaveAddress;
  readonly privateKey: KeyObject;
}

/** SHA-256 of the modulus. */
export function arweaveAddress(modulus: Uint8Array): ArweaveAddress {
  return toArweaveAddress(hash('sha256', modulus, 'buffer'));
}

/** The public key of a modulus, or undefined when it cannot be one. */
export function arweavePublicKey(modulus: Uint8Array): KeyObject | undefined {
  if (modulus.length !== modulusBytes || modulus[0]! < 0x80 || modulus[modulusBytes - 1]! % 2 === 0) {
    return undefined;
  }
  const key = createPublicKey({ key: { kty: 'RSA', n: encodeBase64url(modulus), e: 'AQAB' }, format: 'jwk' });
  return withPss(key);
}

/** Reads a wallet file: a private RSA key of 4096 bits as JWK. Throws with one sentence for anything else. */
export function importJwk(text: string): ArweaveKey {
  let jwk: unknown;
  try {
    jwk = JSON.parse(text);
  } catch {
    throw new Error('the key is not JSON');
  }
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey({ key: rsaMembers(jwk), format: 'jwk' });
    // OpenSSL reads members that do not belong together; only a signature shows it.
    const signature = sign('sha256', proof, privateKey);
    if (!verify('sha256', proof, createPublicKey(privateKey), signature)) throw new Error('it does not sign');
  } catch (cause) {
    throw new Error('the key is not a private RSA key in JWK form', { cause });
  }
  return arweaveKey(privateKey);
}

const proof = Buffer.from('any message');

function rsaMembers(jwk: unknown): Record<string, string> {
  const members: Record<string, string> = {};
  if (typeof jwk !== 'object' || jwk === null) return members;
  for (const [name, value] of Object.entries(jwk)) {
    if (['kty', 'n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'].includes(name)) members[name] = String(value);
  }
  return members;
}

/** Takes any private RSA key of 4096 bits: JWK wallets, and PEM keys of more than two primes. */
export function arweaveKey(privateKey: KeyObject): ArweaveKey {
  const { n, e } = createPublicKey(privateKey).export({ format: 'jwk' });
  const modulus = n === undefined ? undefined : tryDecodeBase64url(n);
  if (modulus?.length !== modulusBytes || e !== 'AQAB') {
    throw new Error('the key must have 4096 bits and the exponent 65537');
  }
  return { modulus, address: arweaveAddress(modulus), privateKey };
}

/** The wallet file of a two-prime key. */
export function exportJwk(key: ArweaveKey): RsaJwk {
  const { n, e, d, p, q, dp, dq, qi } = key.privateKey.export({ format: 'jwk' });
  for (const member of [n, e, d, p, q, dp, dq, qi]) {
    if (member === undefined) throw new Error('the key has no JWK form');
  }
  return { kty: 'RSA', n: n!, e: e!, d: d!, p: p!, q: q!, dp: dp!, dq: dq!, qi: qi! };
}
