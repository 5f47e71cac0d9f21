/** Requests that a wallet signs. Each signature names the service and covers the request, so that it is good for nothing else. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { memberOf } from '../formats/json.ts';
import { StartupError } from '../kernel/errors.ts';
import { signedText } from '../wallets/request-signature.ts';
import type { PersonKey } from './person-key.ts';

export interface SignedRequest {
  /** The service's Arweave address, as its `/v1/info` says. */
  readonly service: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query, as they are sent. */
  readonly path: string;
  /** What is sent as JSON, where something is. */
  readonly body?: object;
}

export async function signedHeaders(
  key: PersonKey,
  { service, method, path, body }: SignedRequest,
): Promise<Record<string, string>> {
  // A UUID acts and is remembered by the service for ever; whoever reads shows another kind of nonce.
  const nonce = method === 'GET' ? randomBytes(16).toString('hex') : randomUUID();
  const contentDigest =
    body === undefined ? '' : `sha-256=:${hash('sha256', JSON.stringify(body), 'base64')}:`;
  const signature = await key.signText(
    signedText({ nonce, boundTo: { service, method, path, contentDigest } }),
  );
  return {
    'x-service-address': service,
    ...(contentDigest === '' ? {} : { 'content-digest': contentDigest }),
    'x-nonce': nonce,
    'x-signature': signature.toString('base64url'),
    'x-public-key': key.items.owner.toString('base64url'),
    'x-signature-type': String(key.items.signatureType),
  };
}

/** What signatures name a service by, of its answer to `/v1/info`. */
export function serviceAddress(info: unknown, url: string): string {
  const address = memberOf(memberOf(info, 'addresses'), 'arweave');
  if (typeof address === 'string') return address;
  throw new StartupError(`${url} does not say its Arweave address, which signatures name it by`);
}
