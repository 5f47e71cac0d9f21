/** Addresses: base58 of 32 bytes. On the Ed25519 curve they can sign; off it they belong to a program. */
import { encodeBase58, tryDecodeBase58 } from '../base58.ts';
import { FormatError } from '../format-error.ts';

declare const brand: unique symbol;

/** 32 to 44 base58 characters, 32 bytes. */
export type SolanaAddress = string & { readonly [brand]: 'SolanaAddress' };

export const addressLength = 32;

/** Decoding costs a few microseconds and the same few addresses come again and again. */
const decoded = new Map<string, Buffer>();
const maxDecoded = 8192;

export function isSolanaAddress(text: string): text is SolanaAddress {
  return tryAddressBytes(text) !== undefined;
}

/** The address of a text, or FormatError; `what` names the field. */
export function parseSolanaAddress(text: string, what = 'address'): SolanaAddress {
  if (!isSolanaAddress(text)) throw new FormatError(`${what} is not a Solana address`);
  return text;
}

export function toSolanaAddress(bytes: Uint8Array): SolanaAddress {
  if (bytes.length !== addressLength) throw new FormatError('a Solana address has 32 bytes');
  const text = encodeBase58(bytes);
  return parseSolanaAddress(text);
}

/** The 32 bytes of an address. The buffer is shared: do not write to it. */
export function addressBytes(address: SolanaAddress): Buffer {
  const bytes = tryAddressBytes(address);
  if (bytes === undefined) throw new FormatError(`${address} is not a Solana address`);
  return bytes;
}

function tryAddressBytes(text: string): Buffer | undefined {
  const known = decoded.get(text);
  if (known !== undefined) return known;
  if (text.length < 32 || text.length > 44) return undefined;
  const bytes = tryDecodeBase58(text);
  if (bytes?.length !== addressLength) return undefined;
  if (decoded.size >= maxDecoded) decoded.clear();
  decoded.set(text, bytes);
  return bytes;
}

const p = 2n ** 255n - 19n;
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** True where the bytes are a compressed Ed25519 point: then somebody may hold a key for them. */
export function isOnCurve(bytes: Uint8Array): boolean {
  if (bytes.length !== addressLength) return false;
  const big = Buffer.from(bytes).reverse();
  big[0] = big[0]! & 0x7f;
  const y = BigInt(`0x${big.toString('hex')}`) % p;
  const y2 = (y * y) % p;
  const u = (y2 + p - 1n) % p;
  const v = (d * y2 + 1n) % p;
  // x² = u/v has a root exactly where u·v is a square (Euler's criterion); v is never zero.
  const power = toHalfOrder((u * v) % p);
  return power === 1n || power === 0n;
}

/** x^((p-1)/2) = x^(2^254 - 10), by the usual chain of 2^n - 1 powers. */
function toHalfOrder(x: bigint): bigint {
  const x2 = (x * x) % p;
  const e2 = (x2 * x) % p;
  const e4 = (square(e2, 2) * e2) % p;
  const e5 = (square(e4, 1) * x) % p;
  const e10 = (square(e5, 5) * e5) % p;
  const e20 = (square(e10, 10) * e10) % p;
  const e40 = (square(e20, 20) * e20) % p;
  const e50 = (square(e40, 10) * e10) % p;
  const e100 = (square(e50, 50) * e50) % p;
  const e200 = (square(e100, 100) * e100) % p;
  const e250 = (square(e200, 50) * e50) % p;
  const x6 = (square(x2, 1) * x2) % p;
  return (square(e250, 4) * x6) % p;
}

function square(value: bigint, times: number): bigint {
  let result = value;
  for (let count = 0; count < times; count += 1) result = (result * result) % p;
  return result;
}
