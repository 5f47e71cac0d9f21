/**
 * Signed requests (interface §5): the headers `x-public-key`, `x-nonce`, `x-signature` and, from newer
 * clients, `x-signature-type` prove which wallet speaks. Published clients sign the nonce and nothing else. A client
 * that also names the service (`x-service-address`) signs the request with it: see `signedText`.
 *
 * A signature over a nonce alone can be replayed by anyone who saw it: it identifies a reader and must never
 * by itself move credits.
 */
import type { WalletAddress } from './address.ts';
import type { AddressForms } from './address-forms.ts';
import {
  formsOfMessageKey,
  inferSignatureType,
  messageSignatureTypes,
  signatureHash,
  verifyMessageAsync,
} from './message-signature.ts';

/** An RSA modulus or signature is 683 characters of base64url; with padding, 684. */
const maxFieldLength = 700;

/**
 * What a nonce may look like. Published clients send 32 hexadecimal digits to read and a UUID to act. Nothing that
 * wallets sign elsewhere has this form: a data item is signed over 48 bytes or their 96 hexadecimal digits, a
 * transaction, an owner's proof and a bound request over more, with bytes that are not in this set.
 */
const nonceForm = /^[A-Za-z0-9._:-]{1,64}$/;
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export interface RequestSignature {
  readonly publicKey: string;
  readonly signature: string;
  readonly nonce: string;
  /** Decimal digits as in the header; without it the key's length decides. */
  readonly signatureType?: string | undefined;
  /** What the signature covers beside the nonce; undefined: nothing. */
  readonly boundTo?: BoundRequest | undefined;
}

/** The one request that a bound signature is good for. */
export interface BoundRequest {
  /** The service's Arweave address, as its `/v1/info` says. */
  readonly service: string;
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly path: string;
  /** The `Content-Digest` header (RFC 9530) as it was sent; empty for a request without a body. */
  readonly contentDigest: string;
}

/** The first line of everything that is signed for a service of this kind, and signed for nothing else. */
export const boundPrefix = 'turnpike request';

/**
 * The text that is signed. The lines of a bound request cannot run into each other: none of its parts has a line
 * break, and the nonce has a form of its own.
 */
export function signedText({ nonce, boundTo }: Pick<RequestSignature, 'nonce' | 'boundTo'>): string {
  if (boundTo === undefined) return nonce;
  const { service, method, path, contentDigest } = boundTo;
  return [boundPrefix, service, method, path, contentDigest, nonce].join('\n');
}

/** A UUID in its one form, lower case; undefined for anything else. The signature covers the text as it was sent. */
export function canonicalUuid(text: string): string | undefined {
  return uuidForm.test(text) ? text.toLowerCase() : undefined;
}

/** The wallet that signed, or undefined when anything is wrong. RSA does not hold the event loop. */
export async function verifyRequestSignatureAsync(
  request: RequestSignature,
): Promise<WalletAddress | undefined> {
  const read = readRequest(request);
  return read && verifyMessageAsync(read.type, read.publicKey, read.message, read.signature);
}

/** Every form of the address of the key that a valid request was signed with, where it has several. */
export function formsOfRequestKey(request: RequestSignature): AddressForms | undefined {
  const read = readRequest(request);
  return read && formsOfMessageKey(read.type, read.publicKey);
}

/** Names a signature header whatever it is encoded in; undefined when it is malformed. */
export function signatureHeaderHash(header: string): string | undefined {
  const signature = decodeBase64(header);
  return signature && signatureHash(signature);
}

function readRequest(request: RequestSignature) {
  if (!nonceForm.test(request.nonce)) return undefined;
  const publicKey = decodeKey(request.publicKey);
  const signature = decodeBase64(request.signature);
  if (publicKey === undefined || signature === undefined) return undefined;
  const type =
    request.signatureType === undefined
      ? inferSignatureType(publicKey)
      : messageSignatureTypes.find((known) => String(known) === request.signatureType);
  if (type === undefined) return undefined;
  return { type, publicKey, message: Buffer.from(signedText(request), 'utf8'), signature };
}

/** Ethereum tools also write keys as `0x` hex. */
function decodeKey(text: string): Buffer | undefined {
  if (/^0x(?:[0-9a-fA-F]{66}|[0-9a-fA-F]{130})$/.test(text)) return Buffer.from(text.slice(2), 'hex');
  return decodeBase64(text);
}

/** Either alphabet, with or without padding: clients differ, and nothing is named by this text. */
function decodeBase64(text: string): Buffer | undefined {
  if (text.length > maxFieldLength || !/^[A-Za-z0-9_+/-]+={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, 'base64url');
}
