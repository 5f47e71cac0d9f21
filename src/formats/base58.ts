/**
 * base58 in the Bitcoin alphabet, as Solana writes addresses, blockhashes and signatures. Strict: one text per
 * byte string, foreign characters refused. The work grows with the square of the length, so texts are bounded.
 */
import { FormatError } from './format-error.ts';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Five digits at a time: 58^5 · 2^16 stays below 2^53, so plain numbers carry the whole division. */
const limbDigits = 5;
const limbBase = 58 ** limbDigits;

/** Longest text that is decoded: a whole Solana transaction of 1232 bytes has at most 1683 digits. */
const maxTextLength = 2048;

const digitOf = new Int8Array(128).fill(-1);
for (let digit = 0; digit < alphabet.length; digit += 1) digitOf[alphabet.charCodeAt(digit)] = digit;

export function encodeBase58(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1;
  const limbs: number[] = [];
  let at = zeros;
  if ((bytes.length - zeros) % 2 === 1) {
    limbs.push(bytes[at]!);
    at += 1;
  }
  for (; at < bytes.length; at += 2) {
    let carry = bytes[at]! * 256 + bytes[at + 1]!;
    for (let index = 0; index < limbs.length; index += 1) {
      const value = limbs[index]! * 65536 + carry;
      carry = Math.floor(value / limbBase);
      limbs[index] = value - carry * limbBase;
    }
    if (carry > 0) limbs.push(carry);
  }
  let text = '';
  for (let index = 0; index < limbs.length; index += 1) {
    let limb = limbs[index]!;
    const last = index === limbs.length - 1;
    for (let digit = 0; last ? limb > 0 : digit < limbDigits; digit += 1) {
      const rest = Math.floor(limb / 58);
      text = alphabet[limb - rest * 58]! + text;
      limb = rest;
    }
  }
  return '1'.repeat(zeros) + text;
}

/** The bytes, or undefined where the text is no base58 or is longer than anything we read. */
export function tryDecodeBase58(text: string): Buffer | undefined {
  if (text.length > maxTextLength) return undefined;
  let zeros = 0;
  while (zeros < text.length && text.charCodeAt(zeros) === 0x31) zeros += 1;
  /** Base 2^24, least first: 2^24 · 58 is far below 2^53. */
  const words: number[] = [];
  for (let at = zeros; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const digit = code < 128 ? digitOf[code]! : -1;
    if (digit < 0) return undefined;
    let carry = digit;
    for (let index = 0; index < words.length; index += 1) {
      const value = words[index]! * 58 + carry;
      carry = Math.floor(value / 0x1000000);
      words[index] = value - carry * 0x1000000;
    }
    if (carry > 0) words.push(carry);
  }
  const bytes: number[] = [];
  for (const word of words) bytes.push(word & 0xff, (word >> 8) & 0xff, (word >> 16) & 0xff);
  while (bytes.length > 0 && bytes[bytes.length - 1] === 0) bytes.pop();
  const result = Buffer.alloc(zeros + bytes.length);
  for (let index = 0; index < bytes.length; index += 1) result[result.length - 1 - index] = bytes[index]!;
  return result;
}

/** The bytes of a base58 text; `what` names the field in the error. */
export function decodeBase58(text: string, what = 'value'): Buffer {
  const bytes = tryDecodeBase58(text);
  if (bytes === undefined) throw new FormatError(`${what} is not base58`);
  return bytes;
}
