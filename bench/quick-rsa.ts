/**
 * RSA-4096 signatures in a quarter of a millisecond, to make as many signed items as a measurement reads. The modulus has some
 * 158 small primes, so that anybody could find them; to verify with it is as much work as with any other.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { ItemSigner } from '../src/wallets/data-items/signer.ts';

const exponent = 65_537;
const modulusBytes = 512;
/** Products of two numbers below are exact. */
const largestPrime = 2 ** 26;

interface Factor {
  readonly prime: number;
  /** Inverse of the exponent. */
  readonly power: number;
  /** 1 modulo this prime, 0 modulo the others. */
  readonly unit: bigint;
}

/** Signer number n; each has a modulus of its own. */
export function quickRsaSigner(number: number): ItemSigner {
  const limit = 1n << BigInt(8 * modulusBytes);
  const primes: number[] = [];
  let modulus = 1n;
  for (let next = largestPrime - number * 10_000; limit / modulus >= BigInt(next); ) {
    next = primeBelow(next);
    primes.push(next);
    modulus *= BigInt(next);
  }
  const last = primeBelow(Number(limit / modulus));
  primes.push(last);
  modulus *= BigInt(last);
  const factors = primes.map((prime): Factor => {
    const rest = modulus / BigInt(prime);
    const unit = rest * BigInt(power(Number(rest % BigInt(prime)), prime - 2, prime));
    return { prime, power: inverse(exponent, prime - 1), unit };
  });
  return {
    signatureType: 1,
    owner: bytesOf(modulus),
    async sign(message) {
      const encoded = BigInt(`0x${encode(message).toString('hex')}`);
      let sum = 0n;
      for (const factor of factors) {
        const rest = Number(encoded % BigInt(factor.prime));
        sum += BigInt(power(rest, factor.power, factor.prime)) * factor.unit;
      }
      return bytesOf(sum % modulus);
    },
  };
}

/** EMSA-PSS with SHA-256 and a salt of 32 bytes (RFC 8017 §9.1.1). */
function encode(message: Buffer): Buffer {
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
  const salt = randomBytes(32);
  const digest = sha256(Buffer.concat([Buffer.alloc(8), sha256(message), salt]));
  const block = Buffer.alloc(modulusBytes - digest.length - 1);
  block[block.length - salt.length - 1] = 1;
  block.set(salt, block.length - salt.length);
  const counter = Buffer.alloc(4);
  for (let at = 0; at < block.length; at += 32) {
    counter.writeUInt32BE(at / 32);
    const mask = sha256(Buffer.concat([digest, counter]));
    for (let byte = at; byte < Math.min(at + 32, block.length); byte += 1) {
      block[byte] = (block[byte] ?? 0) ^ (mask[byte - at] ?? 0);
    }
  }
  block[0] = (block[0] ?? 0) & 0x7f;
  return Buffer.concat([block, digest, Buffer.from([0xbc])]);
}

const bytesOf = (value: bigint): Buffer =>
  Buffer.from(value.toString(16).padStart(2 * modulusBytes, '0'), 'hex');

/** The next smaller prime whose predecessor the exponent does not divide. */
function primeBelow(value: number): number {
  let candidate = value - 1;
  while (!isPrime(candidate) || (candidate - 1) % exponent === 0) candidate -= 1;
  return candidate;
}

function isPrime(value: number): boolean {
  for (let divisor = 2; divisor * divisor <= value; divisor += 1) if (value % divisor === 0) return false;
  return value > 1;
}

function power(base: number, times: number, prime: number): number {
  let result = 1;
  let square = base % prime;
  for (let rest = times; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = product(result, square, prime);
    square = product(square, square, prime);
  }
  return result;
}

const product = (a: number, b: number, prime: number): number => (a * b) % prime;

/** The x with `value * x = 1 (mod modulus)`, by the extended Euclidean algorithm. */
function inverse(value: number, modulus: number): number {
  let [a, b, x, y] = [value % modulus, modulus, 1, 0];
  while (a > 1) {
    const quotient = Math.floor(a / b);
    [a, b] = [b, a % b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
}
