/**
 * Whose request this is (interface §5): the signature headers where they are sent, else a token issued
 * after an earlier signature. Either identifies a reader and never by itself moves credits.
 */
import { LRUCache } from 'lru-cache';
import type { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import { atMost } from '../../kernel/at-most.ts';
import type { Reply, Request } from '../../kernel/http/app.ts';
import { parseAddress } from '../../wallets/address.ts';
import { invalidSignature } from '../errors.ts';
import { type Audience, issueToken, readToken } from './jwt.ts';

/** Who a request speaks for, when it said so in a way that was checked. */
export interface RequestWallet {
  readonly address: string;
  readonly addressType: string;
}

export interface Authenticator {
  /**
   * The wallet; `undefined` when the request names none, `'invalid'` when it carries a signature that does
   * not hold. A verified signature puts a fresh token into the answer's `Authorization` header.
   */
  walletOf(request: Request, reply: Reply): Promise<RequestWallet | 'invalid' | undefined>;
  /** Stands for a wallet in the address of an event stream for a minute: browsers send no headers there. */
  ticketFor(address: string): string;
  /** The wallet of a ticket; undefined when it is forged or its minute is over. */
  ticketWallet(ticket: string): RequestWallet | undefined;
}

export interface AuthenticatorOptions {
  readonly jwtSecret: string;
  /** Also watches the server, so that what is shown to read cannot act later. */
  readonly signatures: Pick<RequestSignatures, 'signerOf' | 'requireBound'>;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** A wallet that asks again within this is given the same token, which saves signing one per request. */
const TOKEN_REUSE_SECONDS = 60;
const TOKENS_KEPT = 10_000;

export function createAuthenticator({
  jwtSecret,
  signatures,
  now = Date.now,
}: AuthenticatorOptions): Authenticator {
  const seconds = (): number => Math.floor(now() / 1000);
  const issued = new LRUCache<string, { readonly header: string; readonly at: number }>(atMost(TOKENS_KEPT));
  return {
    async walletOf(request, reply) {
      if (request.headers['x-signature'] === undefined) return bearer(request);
      const signer = await signatures.signerOf(request);
      // One over a bare nonce may have been shown to another service, which could then read here.
      if (signer === undefined || (signatures.requireBound && !signer.bound)) return 'invalid';
      const { address, kind } = signer.wallet;
      reply.header('authorization', tokenFor(address));
      return { address, addressType: kind };
    },
    ticketFor: (address) => issueToken(jwtSecret, address, seconds(), 'events'),
    ticketWallet: (ticket) => walletOfToken(ticket, 'events'),
  };

  function walletOfToken(token: string, audience: Audience): RequestWallet | undefined {
    const address = readToken(jwtSecret, token, seconds(), audience);
    const parsed = address === undefined ? undefined : parseAddress(address);
    return parsed && { address: parsed.address, addressType: parsed.kind };
  }

  function tokenFor(address: string): string {
    const at = seconds();
    const last = issued.get(address);
    if (last !== undefined && at - last.at < TOKEN_REUSE_SECONDS) return last.header;
    const header = `Bearer ${issueToken(jwtSecret, address, at)}`;
    issued.set(address, { header, at });
    return header;
  }

  function bearer(request: Request): RequestWallet | undefined {
    const header = request.headers.authorization;
    if (header === undefined || !header.startsWith('Bearer ')) return undefined;
    return walletOfToken(header.slice('Bearer '.length), 'balance');
  }
}

/** Throws where the request names no wallet, or does not prove it. */
export async function requireWallet(
  auth: Authenticator,
  request: Request,
  reply: Reply,
): Promise<RequestWallet> {
  const wallet = await auth.walletOf(request, reply);
  if (wallet === undefined || wallet === 'invalid') throw invalidSignature();
  return wallet;
}
