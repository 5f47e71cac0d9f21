/**
 * RSA keys that are the same on every machine. A prime is found from a label (the first at or above SHAKE256 of it, with
 * its top bits and the lowest set); how far the search went is written down where the label is. Such a key is known to
 * everyone: it is for tests and for the local network.
 */
import { createHash, createPrivateKey } from 'node:crypto';
import { type ArweaveKey, arweaveKey } from './rsa.ts';

const exponent = 65_537n;

/** `topBits` are set in the first byte, so that a product of such primes has its full length. */
export function labelledPrime(label: string, steps: number, size = 256, topBits = 0xc0): bigint {
  const bytes = createHash('shake256', { outputLength: size }).update(label).digest();
  bytes[0]! |= topBits;
  bytes[size - 1]! |= 1;
  return BigInt(`0x${bytes.toString('hex')}`) + 2n * BigInt(steps);
}

/** The key of two primes. */
export function rsaKeyOf(one: bigint, other: bigint): ArweaveKey {
  const [p, q] = one > other ? [one, other] : [other, one];
  const d = inverse(exponent, (p - 1n) * (q - 1n));
  const key = {
    kty: 'RSA',
    n: base64url(p * q),
    e: base64url(exponent),
    d: base64url(d),
    p: base64url(p),
    q: base64url(q),
    dp: base64url(d % (p - 1n)),
    dq: base64url(d % (q - 1n)),
    qi: base64url(inverse(q, p)),
  };
  return arweaveKey(createPrivateKey({ key, format: 'jwk' }));
}

/** Big-endian, without leading zeros. */
export function bytesOf(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

const base64url = (value: bigint): string => bytesOf(value).toString('base64url');

/** The x with `value * x = 1 (mod modulus)`, by the extended Euclidean algorithm. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (a > 1n) {
    const quotient = a / b;
    [a, b] = [b, a % b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
}
