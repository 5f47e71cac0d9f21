/** Arweave: RSA-4096, PSS with SHA-256 and a salt of 32 bytes, by the browser itself, which does it off the page's thread. */
import { decodeBase64, encodeBase64url, utf8 } from '../../services/encoding.ts';
import type { KeySigner } from './key-signer.ts';

const algorithm = { name: 'RSA-PSS', hash: 'SHA-256' } as const;
export const pss = { name: 'RSA-PSS', saltLength: 32 } as const;

export async function makeArweaveKey(): Promise<JsonWebKey> {
  const parameters = { ...algorithm, modulusLength: 4_096, publicExponent: Uint8Array.of(1, 0, 1) };
  const { privateKey } = await crypto.subtle.generateKey(parameters, true, ['sign', 'verify']);
  const { kty, n, e, d, p, q, dp, dq, qi } = await crypto.subtle.exportKey('jwk', privateKey);
  return { kty, n, e, d, p, q, dp, dq, qi } as JsonWebKey;
}

/** The key cannot be read out of the browser again. */
export const importArweaveKey = (jwk: JsonWebKey): Promise<CryptoKey> =>
  crypto.subtle.importKey('jwk', { ...jwk, ext: true }, algorithm, false, ['sign']);

export const modulusOf = (jwk: JsonWebKey): Uint8Array<ArrayBuffer> =>
  decodeBase64(jwk.n ?? '') ?? new Uint8Array();

export async function arweaveAddressOf(modulus: Uint8Array<ArrayBuffer>): Promise<string> {
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', modulus)));
}

export function arweaveSigner(key: CryptoKey, modulus: Uint8Array<ArrayBuffer>): KeySigner {
  const sign = async (message: Uint8Array): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.sign(pss, key, new Uint8Array(message)));
  return {
    kind: 'arweave',
    signatureType: 1,
    publicKey: modulus,
    signItem: sign,
    signText: (text) => sign(utf8(text)),
    signBytes: sign,
  };
}
