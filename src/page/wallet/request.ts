/**
 * Signed requests as the services verify them: the nonce is signed, or, for a request bound to one service, the lines that
 * name service, method, path and query, digest of the body and nonce.
 */
import { encodeBase64, encodeBase64url, encodeHex, utf8 } from '../services/encoding.ts';

/** The one request that a bound signature is good for. */
export interface BoundRequest {
  /** The service's Arweave address, as its `/v1/info` says. */
  readonly service: string;
  readonly method: string;
  /** Path and query, as they are sent. */
  readonly path: string;
  /** The body as it is sent; none: undefined. */
  readonly body?: string;
}

interface RequestSigner {
  readonly signatureType: number;
  publicKey(): Promise<Uint8Array>;
  signText(text: string): Promise<Uint8Array>;
}

export async function signedHeaders(
  signer: RequestSigner,
  { nonce = readingNonce(), boundTo }: { readonly nonce?: string; readonly boundTo?: BoundRequest } = {},
): Promise<Readonly<Record<string, string>>> {
  const { text, digest } = await requestText(nonce, boundTo);
  return {
    'x-public-key': encodeBase64url(await signer.publicKey()),
    'x-nonce': nonce,
    'x-signature': encodeBase64url(await signer.signText(text)),
    'x-signature-type': String(signer.signatureType),
    ...(boundTo !== undefined && { 'x-service-address': boundTo.service }),
    ...(digest !== '' && { 'content-digest': digest }),
  };
}

/** What is signed, and the digest of the body that is in it. */
export async function requestText(
  nonce: string,
  boundTo: BoundRequest | undefined,
): Promise<{ readonly text: string; readonly digest: string }> {
  if (boundTo === undefined) return { text: nonce, digest: '' };
  const { service, method, path, body } = boundTo;
  const digest = body === undefined ? '' : await contentDigest(body);
  return { text: ['turnpike request', service, method, path, digest, nonce].join('\n'), digest };
}

/** 32 hexadecimal digits, as published clients send them to read. */
const readingNonce = (): string => encodeHex(crypto.getRandomValues(new Uint8Array(16)));

/** RFC 9530. */
async function contentDigest(body: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', utf8(body));
  return `sha-256=:${encodeBase64(new Uint8Array(digest))}:`;
}
