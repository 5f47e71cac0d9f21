/** Solana addresses: base58 of an Ed25519 public key. */
import { encodeBase58, tryDecodeBase58 } from '../../formats/base58.ts';
import { isOnCurve as isPoint } from '../../formats/solana/address.ts';

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

/** A point of the curve in its one canonical form: y below the prime, and no sign where x is 0. */
export function isOnCurve(publicKey: Uint8Array): boolean {
  const bytes = Buffer.from(publicKey).reverse();
  const signed = (bytes[0]! & 0x80) !== 0;
  bytes[0]! &= 0x7f;
  const y = BigInt(`0x${bytes.toString('hex')}`);
  if (y >= prime || (signed && (y === 1n || y === prime - 1n))) return false;
  return isPoint(publicKey);
}
