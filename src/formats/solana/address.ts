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
  // x² = u/v has a root exactly where u·v is a square; v is never zero.
  return jacobi((u * v) % p, p) >= 0;
}

/** The Jacobi symbol of a over n: for a prime n, 1 where a is a square, 0 where n divides it, else -1. */
function jacobi(a: bigint, n: bigint): number {
  let symbol = 1;
  let [top, bottom] = [a, n];
  while (top !== 0n) {
    const twos = trailingZeros(top);
    if (twos > 0) {
      top >>= BigInt(twos);
      const rest = Number(bottom & 7n);
      if (twos % 2 === 1 && (rest === 3 || rest === 5)) symbol = -symbol;
    }
    // Quadratic reciprocity, for the two odd numbers.
    if (Number(top & 3n) === 3 && Number(bottom & 3n) === 3) symbol = -symbol;
    [top, bottom] = [bottom % top, top];
  }
  return bottom === 1n ? symbol : 0;
}

function trailingZeros(value: bigint): number {
  let zeros = 0;
  let rest = value;
  while ((rest & 0xffffffffn) === 0n) {
    rest >>= 32n;
    zeros += 32;
  }
  const low = Number(rest & 0xffffffffn);
  return zeros + 31 - Math.clz32(low & -low);
}
