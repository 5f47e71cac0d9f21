/**
 * An RSA-4096 key for signing often, made of four primes (RFC 8017 §3.2). To every verifier it is an ordinary
 * RSA-4096 key; to us it signs 1.5 (x64) to 3 times (arm64) as fast, because the arithmetic is done modulo four numbers of
 * 1024 bits instead of two of 2048. Four is what OpenSSL allows at this length.
 *
 * `node:crypto` makes two-prime keys only, so the primes come from `crypto.generatePrime` (on the libuv pool, in
 * parallel) and are put together here, as the version 1 structure of RFC 8017 §A.1.2.
 */
import { createPrivateKey, createPublicKey, generatePrime, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { integer, sequence } from '../formats/der.ts';

const bits = 4096;
const primeCount = 4;
const publicExponent = 65537n;

const randomPrime = promisify((size: number, done: (error: Error | null, prime: bigint) => void): void => {
  generatePrime(size, { bigint: true }, done);
});

/** A new private key as PKCS #8 PEM. Takes 0.1 to 0.5 s; the event loop stays free. */
export async function makeFastRsaKey(): Promise<string> {
  return fastRsaKeyOf(await fourPrimes());
}

/** The key of four primes whose product has 4096 bits, as PKCS #8 PEM. */
export function fastRsaKeyOf(primes: readonly bigint[]): string {
  const ordered = primes.toSorted(largestFirst);
  const key = createPrivateKey({ key: encodePrivateKey(ordered), format: 'der', type: 'pkcs1' });
  const sample = Buffer.from('turnpike');
  if (!verify('sha256', sample, createPublicKey(key), sign('sha256', sample, key))) {
    throw new Error('a new RSA key failed its own check');
  }
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** Distinct primes, largest first, whose product has exactly 4096 bits and which allow the public exponent. */
async function fourPrimes(): Promise<bigint[]> {
  const primes: bigint[] = [];
  for (;;) {
    const wanted = primeCount - primes.length;
    const more = await Promise.all(Array.from({ length: wanted }, () => randomPrime(bits / primeCount)));
    for (const prime of more) {
      if ((prime - 1n) % publicExponent !== 0n && !primes.includes(prime)) primes.push(prime);
    }
    if (primes.length < primeCount) continue;
    primes.sort(largestFirst);
    if (product(primes) >> BigInt(bits - 1) === 1n) return primes;
    primes.pop();
  }
}

const largestFirst = (left: bigint, right: bigint): number => (left < right ? 1 : left > right ? -1 : 0);

function encodePrivateKey(primes: readonly bigint[]): Buffer {
  const [p, q, ...others] = primes;
  if (p === undefined || q === undefined) throw new Error('an RSA key has at least two primes');
  const order = primes.map((prime) => prime - 1n).reduce(leastCommonMultiple);
  const d = inverse(publicExponent, order);
  // RFC 8017 §A.1.2: d mod (r_i - 1), and the inverse of the product of the primes before r_i.
  const otherPrimes = others.map((prime, index) =>
    sequence(
      integer(prime),
      integer(d % (prime - 1n)),
      integer(inverse(product(primes.slice(0, index + 2)) % prime, prime)),
    ),
  );
  return sequence(
    integer(1n),
    integer(product(primes)),
    integer(publicExponent),
    integer(d),
    integer(p),
    integer(q),
    integer(d % (p - 1n)),
    integer(d % (q - 1n)),
    integer(inverse(q % p, p)),
    sequence(...otherPrimes),
  );
}

function product(factors: readonly bigint[]): bigint {
  return factors.reduce((left, right) => left * right, 1n);
}

function leastCommonMultiple(left: bigint, right: bigint): bigint {
  let [a, b] = [left, right];
  while (b !== 0n) [a, b] = [b, a % b];
  return (left / a) * right;
}

/** The x with `value * x = 1 (mod modulus)`, by the extended Euclidean algorithm. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [remainder, next] = [modulus, value];
  let [coefficient, nextCoefficient] = [0n, 1n];
  while (next !== 0n) {
    const quotient = remainder / next;
    [remainder, next] = [next, remainder - quotient * next];
    [coefficient, nextCoefficient] = [nextCoefficient, coefficient - quotient * nextCoefficient];
  }
  if (remainder !== 1n) throw new Error('no inverse: the numbers share a factor');
  return coefficient < 0n ? coefficient + modulus : coefficient;
}
