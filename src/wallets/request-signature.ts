/**
 * Signed requests (interface §5): the headers `x-public-key`, `x-nonce`, `x-signature` and, from newer
 * clients, `x-signature-type` prove which wallet speaks. What is signed is the UTF-8 text of the bound data
 * (empty on most routes) followed by the nonce.
 *
 * A signature over a nonce alone can be replayed by whoever saw it: it identifies a reader and must never
 * by itself move credits.
 */
import type { WalletAddress } from './address.ts';
import {
  inferSignatureType,
  messageSignatureTypes,
  verifyMessage,
  verifyMessageAsync,
} from './message-signature.ts';

export const maxNonceBytes = 256;
/** An RSA modulus or signature is 683 characters of base64url; with padding, 684. */
const maxFieldLength = 700;

export interface RequestSignature {
  readonly publicKey: string;
  readonly signature: string;
  readonly nonce: string;
  /** Decimal digits as in the header; without it the key's length decides. */
  readonly signatureType?: string | undefined;
  /** What the route binds to the signature, put before the nonce. */
  readonly boundData?: string;
}

/** The wallet that signed, or undefined when anything is wrong. */
export function verifyRequestSignature(request: RequestSignature): WalletAddress | undefined {
  const read = readRequest(request);
  return read && verifyMessage(read.type, read.publicKey, read.message, read.signature);
}

/** The same without holding the event loop for an RSA verification: for servers. */
export async function verifyRequestSignatureAsync(
  request: RequestSignature,
): Promise<WalletAddress | undefined> {
  const read = readRequest(request);
  return read && verifyMessageAsync(read.type, read.publicKey, read.message, read.signature);
}

function readRequest(request: RequestSignature) {
  if (request.nonce === '' || Buffer.byteLength(request.nonce) > maxNonceBytes) return undefined;
  const publicKey = decodeKey(request.publicKey);
  const signature = decodeBase64(request.signature);
  if (publicKey === undefined || signature === undefined) return undefined;
  const type =
    request.signatureType === undefined
      ? inferSignatureType(publicKey)
      : messageSignatureTypes.find((known) => String(known) === request.signatureType);
  if (type === undefined) return undefined;
  const message = Buffer.from((request.boundData ?? '') + request.nonce, 'utf8');
  return { type, publicKey, message, signature };
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
