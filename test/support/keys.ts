/** Keys that are public on purpose: vectors are signed with them. Never fund them outside a local network. */
import type { JsonWebKey, KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** RSA-4096; its primes are the first at or above SHAKE256 of two labels, so anyone can derive it. */
export const arweaveTestKey: RsaJwk = JSON.parse(
  readFileSync(join(import.meta.dirname, 'keys', 'arweave.json'), 'utf8'),
);

export const arweaveTestAddress = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';

/** All parts present, as wallets write it. */
export interface RsaJwk extends JsonWebKey {
  kty: string;
  n: string;
  e: string;
  d: string;
  p: string;
  q: string;
  dp: string;
  dq: string;
  qi: string;
}

/** A private key as wallets keep it. */
export function toRsaJwk(key: KeyObject): RsaJwk {
  const { kty, n, e, d, p, q, dp, dq, qi } = key.export({ format: 'jwk' });
  if (kty === undefined || n === undefined || e === undefined || d === undefined)
    throw new Error('not an RSA key');
  if (p === undefined || q === undefined || dp === undefined || dq === undefined || qi === undefined) {
    throw new Error('not a private key');
  }
  return { kty, n, e, d, p, q, dp, dq, qi };
}
