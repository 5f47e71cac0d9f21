/**
 * base64url without padding (RFC 4648 §5), strict: one text per byte string. Padding, characters outside the
 * alphabet, impossible lengths and non-zero trailing bits are refused, so an id has exactly one spelling.
 */
import { FormatError } from './format-error.ts';

declare const brand: unique symbol;

/** 43 characters, 32 bytes: the id of a transaction or data item. */
export type TxId = string & { readonly [brand]: 'TxId' };
/** 43 characters, 32 bytes: SHA-256 of a wallet's public key. */
export type ArweaveAddress = string & { readonly [brand]: 'ArweaveAddress' };
/** 64 characters, 48 bytes: the independent hash of a block. */
export type BlockHash = string & { readonly [brand]: 'BlockHash' };

/** 43 characters carry 258 bits: the last one may only use its upper four. */
const canonical32 = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;
const canonical48 = /^[A-Za-z0-9_-]{64}$/;

export function encodeBase64url(bytes: Uint8Array): string {
  const view = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view.toString('base64url');
}

/** The bytes, or undefined where the text is not the canonical form of any. */
export function tryDecodeBase64url(text: string): Buffer | undefined {
  // Node's decoder is lenient (skips foreign characters, takes `+/=`): only what it encodes back to the same
  // text was canonical.
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

/** The bytes of a canonical text; `what` names the field in the error. */
export function decodeBase64url(text: string, what = 'value'): Buffer {
  const bytes = tryDecodeBase64url(text);
  if (bytes === undefined) throw new FormatError(`${what} is not canonical base64url`);
  return bytes;
}

export function isTxId(text: string): text is TxId {
  return canonical32.test(text);
}

export function isArweaveAddress(text: string): text is ArweaveAddress {
  return canonical32.test(text);
}

/** The form that the contract names for addresses in paths; not every text of it is the address of some key. */
export function hasAddressForm(text: string): boolean {
  return /^[0-9a-zA-Z_-]{43}$/.test(text);
}

export function isBlockHash(text: string): text is BlockHash {
  return canonical48.test(text);
}

/** The id of 32 bytes. */
export function toTxId(bytes: Uint8Array): TxId {
  const text = encodeBase64url(bytes);
  if (!isTxId(text)) throw new FormatError('an id has 32 bytes');
  return text;
}

/** The address of 32 bytes. */
export function toArweaveAddress(bytes: Uint8Array): ArweaveAddress {
  const text = encodeBase64url(bytes);
  if (!isArweaveAddress(text)) throw new FormatError('an address has 32 bytes');
  return text;
}

/** The block hash of 48 bytes. */
export function toBlockHash(bytes: Uint8Array): BlockHash {
  const text = encodeBase64url(bytes);
  if (!isBlockHash(text)) throw new FormatError('a block hash has 48 bytes');
  return text;
}
