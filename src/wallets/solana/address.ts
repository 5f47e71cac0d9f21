/** Solana addresses: base58 of an Ed25519 public key. */
import { encodeBase58, tryDecodeBase58 } from '../../formats/base58.ts';

export function solanaAddress(publicKey: Uint8Array): string {
  return encodeBase58(publicKey);
}

/**
 * The address when the text is base58 of 32 bytes that are a point of the curve: a wallet. Program addresses
 * are off the curve on purpose; nobody could spend what they are given.
 */
export function parseSolanaAddress(text: string): string | undefined {
  if (text.length < 32 || text.length > 44) return undefined;
  const bytes = tryDecodeBase58(text);
  return bytes?.length === 32 && isOnCurve(bytes) ? text : undefined;
}

const prime = 2n ** 255n - 19n;
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** Whether some x has x² = (y² − 1) / (d·y² + 1), by Euler's criterion. */
export function isOnCurve(publicKey: Uint8Array): boolean {
  const bytes = Buffer.from(publicKey).reverse();
  bytes[0]! &= 0x7f;
  const y = BigInt(`0x${bytes.toString('hex')}`);
  if (y >= prime) return false;
  const square = (y * y) % prime;
  const numerator = (square - 1n + prime) % prime;
  const denominator = (d * square + 1n) % prime;
  if (numerator === 0n) return (publicKey[31]! & 0x80) === 0;
  return power((numerator * denominator) % prime, (prime - 1n) / 2n) === 1n;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let bit = exponent.toString(2).length - 1; bit >= 0; bit--) {
    result = (result * result) % prime;
    if (((exponent >> BigInt(bit)) & 1n) === 1n) result = (result * base) % prime;
  }
  return result;
}
