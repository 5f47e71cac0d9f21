/**
 * Keys for tests, the same in every run. The RSA primes are found from a label (the first prime at or above
 * SHAKE256 of it, with the two top bits and the lowest set); how far the search went is written down here.
 */
import { createHash, createPrivateKey } from 'node:crypto';
import { type ArweaveKey, arweaveKey } from '../arweave/rsa.ts';
import { ed25519PrivateKey } from '../solana/ed25519.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest();

export const testArweaveKey: ArweaveKey = rsaKey(
  prime('credit-gateway test key p', 4n),
  prime('credit-gateway test key q', 1991n),
);
/** Those of other wallets. */
export const moreArweaveKeys = {
  second: moreRsaKey('second', 1492n, 950n),
  third: moreRsaKey('third', 568n, 313n),
  fourth: moreRsaKey('fourth', 290n, 525n),
};
export const testEd25519Key = ed25519PrivateKey(sha256('credit-gateway test seed'));
export const testEthereumKey = sha256('credit-gateway test eth');

/** More keys of the quick kinds. */
export const ed25519TestKey = (label: string) => ed25519PrivateKey(sha256(`ed25519 ${label}`));
export const ethereumTestKey = (label: string) => sha256(`secp256k1 ${label}`);

function moreRsaKey(label: string, p: bigint, q: bigint): ArweaveKey {
  return rsaKey(prime(`turnpike ${label} test key p`, p), prime(`turnpike ${label} test key q`, q));
}

function prime(label: string, steps: bigint): bigint {
  const bytes = createHash('shake256', { outputLength: 256 }).update(label).digest();
  bytes[0]! |= 0xc0;
  bytes[255]! |= 1;
  return BigInt(`0x${bytes.toString('hex')}`) + 2n * steps;
}

function rsaKey(one: bigint, other: bigint): ArweaveKey {
  const [p, q] = one > other ? [one, other] : [other, one];
  const e = 65537n;
  const d = inverse(e, (p - 1n) * (q - 1n));
  const key = {
    kty: 'RSA',
    n: text(p * q),
    e: text(e),
    d: text(d),
    p: text(p),
    q: text(q),
    dp: text(d % (p - 1n)),
    dq: text(d % (q - 1n)),
    qi: text(inverse(q, p)),
  };
  return arweaveKey(createPrivateKey({ key, format: 'jwk' }));
}

function text(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (a > 1n) {
    const quotient = a / b;
    [a, b] = [b, a % b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
}
