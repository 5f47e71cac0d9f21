/** Bytes as text and back, as browsers can do it. Decoders answer undefined for text that is not of the form. */
import { joinBytes } from '../../formats/join-bytes.ts';

export const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

export const concatBytes = (...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => joinBytes(parts);

export function encodeBase64(bytes: Uint8Array): string {
  let text = '';
  // In pieces: the arguments of one call are limited.
  for (let at = 0; at < bytes.length; at += 8_192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  }
  return btoa(text);
}

/** Without padding (RFC 4648 §5). */
export const encodeBase64url = (bytes: Uint8Array): string =>
  encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

/** Either alphabet, with or without padding. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

export const encodeHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** With or without `0x`. */
export function decodeHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) return undefined;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** The work grows with the square of the length; nothing here has more than the 88 characters of a signature. */
const maxBase58Length = 200;

export function encodeBase58(bytes: Uint8Array): string {
  let value = BigInt(`0x0${encodeHex(bytes)}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = base58Alphabet.charAt(Number(value % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text;
}

export function decodeBase58(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length > maxBase58Length) return undefined;
  let value = 0n;
  for (const character of text) {
    const digit = base58Alphabet.indexOf(character);
    if (digit === -1) return undefined;
    value = value * 58n + BigInt(digit);
  }
  const digits = value === 0n ? '' : value.toString(16);
  const tail = decodeHex(digits.length % 2 === 0 ? digits : `0${digits}`) ?? new Uint8Array();
  const zeros = [...text].findIndex((character) => character !== '1');
  return concatBytes(new Uint8Array(zeros === -1 ? text.length : zeros), tail);
}
