/**
 * Signatures on requests (interface §5), for every surface that takes them: who signed, found out once per request, and
 * the rule that what was shown anywhere can never act later. The server keeps that rule for every request (`admit`),
 * whatever the route is and however it answers; only a route marked `acts` may claim the signature for what it does.
 *
 * A nonce that is no UUID cannot act, so that it is neither looked at nor stored: reading stays as fast as verifying.
 */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import { HttpError } from '../../kernel/errors.ts';
import type { App, Request } from '../../kernel/http/app.ts';
import { SharedRate } from '../../kernel/http/shared-rate.ts';
import { DatabaseUnavailable, type Sql } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import type { AddressForms } from '../../wallets/address-forms.ts';
import {
  type BoundRequest,
  canonicalUuid,
  formsOfRequestKey,
  type RequestSignature,
  signatureHeaderHash,
  verifyRequestSignatureAsync,
} from '../../wallets/request-signature.ts';
import type { Credits } from '../credits.ts';
import {
  type ClaimResult,
  payerNonceKey,
  type SpentKey,
  SpentSignatures,
  signatureKey,
} from './spent-signatures.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route acts on a signature: it claims it by itself, and what it leaves unclaimed is spent when it answers. */
    acts?: boolean;
  }
}

/** A wallet that signed this request. */
export interface Signer {
  readonly wallet: WalletAddress;
  /** Whether the signature covers this service, the method, the path and the digest of the body. */
  readonly bound: boolean;
}

/** A signer whose signature may act. */
export interface ActingSigner extends Signer {
  /** The nonce in lower case. */
  readonly uuid: string;
  /** Names the signature, whatever it was encoded in. */
  readonly signatureHash: string;
}

export interface RequestSignaturesOptions {
  /** The `ledger` database. */
  readonly sql: Sql;
  /** Learns which addresses are the same wallet from the keys that sign. */
  readonly credits?: Pick<Credits, 'unite'>;
  /** What bound signatures name this service by: its Arweave address, as `/v1/info` says. */
  readonly service: string;
  /** Whether only bound signatures act. */
  readonly requireBound?: boolean;
  /** How many signatures that could act are stored per minute for one client network. */
  readonly perMinute?: number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

const defaultPerMinute = 1_200;
const FORMS_KEPT = 10_000;
const contentDigestForm = /^sha-256=:[A-Za-z0-9+/]{43}=:$/;
const tooManySignatures = (retryAfter: number) =>
  new HttpError(429, 'Too many signed requests from this network address', { retryAfter });

export class RequestSignatures {
  readonly service: string;
  readonly requireBound: boolean;
  readonly #credits: Pick<Credits, 'unite'> | undefined;
  readonly #forms = new LRUCache<string, AddressForms>(atMost(FORMS_KEPT));
  readonly #spent: SpentSignatures;
  readonly #stored: SharedRate;
  readonly #signers = new WeakMap<IncomingMessage, Promise<Signer | undefined>>();
  readonly #claimed = new WeakSet<IncomingMessage>();

  constructor(options: RequestSignaturesOptions) {
    const { now = Date.now } = options;
    this.service = options.service;
    this.requireBound = options.requireBound ?? false;
    this.#credits = options.credits;
    this.#spent = new SpentSignatures(options.sql, now);
    this.#stored = new SharedRate({
      name: 'acting signatures',
      limit: options.perMinute ?? defaultPerMinute,
      windowMs: 60_000,
    });
  }

  /** Who signed the request, where the headers are there and hold. */
  signerOf(request: Request): Promise<Signer | undefined> {
    let signer = this.#signers.get(request.raw);
    if (signer === undefined) {
      signer = this.#verify(request);
      this.#signers.set(request.raw, signer);
    }
    return signer;
  }

  /** Whether the request says that its signature is for another service. */
  isForAnother({ headers }: Request): boolean {
    const named = headers['x-service-address'];
    return named !== undefined && named !== this.service;
  }

  /** Whether the body is the one that a bound signature covers. */
  coversBody({ headers }: Request, body: Uint8Array): boolean {
    const digest = headers['content-digest'];
    if (digest === undefined) return body.length === 0;
    return digest === `sha-256=:${hash('sha256', body, 'base64')}:`;
  }

  /**
   * Takes the payer's nonce and signature, and the owner's where the proof holds, for the request named by `claim`.
   * Called once the signatures are found valid; whatever else the request shows is spent.
   */
  async claim(
    request: Request,
    signer: ActingSigner,
    claim: string,
    owner: readonly SpentKey[] = [],
  ): Promise<{ readonly payer: ClaimResult; readonly owner: ClaimResult }> {
    const payer = keysOf(signer);
    await this.#admit(request, [...payer, ...owner]);
    const result = {
      payer: await this.#spent.claim(payer, claim),
      owner: owner.length === 0 ? ('ours' as const) : await this.#spent.claim(owner, claim),
    };
    const shown = ownerKeys(request);
    if (shown.length > 0) await this.#spent.spend(shown);
    this.#claimed.add(request.raw);
    return result;
  }

  /** Nothing that the request shows may act later, unless it is claimed. */
  async spendShown(request: Request): Promise<void> {
    if (this.#claimed.has(request.raw)) return;
    const keys = [...(await this.#payerKeys(request)), ...ownerKeys(request)];
    if (keys.length === 0) return;
    if (await this.#admit(request, keys)) await this.#spent.spend(keys);
  }

  /**
   * For the server's `admit`: spends what a request shows before its route is asked, and costs one without signatures
   * nothing. Routes that act are left to `watch`.
   */
  readonly admit = (request: Request): Promise<void> | undefined => {
    const { headers } = request;
    if (!mayShowActing(headers)) return undefined;
    if (request.routeOptions.config.acts === true) return undefined;
    return this.spendShown(request).catch((error: unknown) => {
      throw request.is404 ? answerOf(error) : error;
    });
  };

  /** Makes routes that act spend what they did not claim, before they answer. Called before any route is added. */
  watch(app: App): void {
    app.addHook('onRoute', (route) => {
      if (route.config?.acts !== true) return;
      route.onSend = [route.onSend ?? [], (request: Request) => this.spendShown(request)].flat();
    });
  }

  async #verify(request: Request): Promise<Signer | undefined> {
    const { headers } = request;
    const publicKey = headers['x-public-key'];
    const nonce = headers['x-nonce'];
    const signature = headers['x-signature'];
    const signatureType = headers['x-signature-type'];
    if (typeof publicKey !== 'string' || typeof nonce !== 'string' || typeof signature !== 'string') {
      return undefined;
    }
    if (Array.isArray(signatureType)) return undefined;
    const bound = headers['x-service-address'] !== undefined;
    const boundTo = bound ? this.#boundTo(request) : undefined;
    if (bound && boundTo === undefined) return undefined;
    const signed = { publicKey, nonce, signature, signatureType, boundTo };
    const wallet = await verifyRequestSignatureAsync(signed);
    if (wallet === undefined) return undefined;
    await this.#learnForms(wallet.address, signed);
    const uuid = canonicalUuid(nonce);
    if (uuid === undefined) return { wallet, bound };
    const signatureHash = signatureHeaderHash(signature);
    if (signatureHash === undefined) return undefined;
    const acting: ActingSigner = { wallet, bound, uuid, signatureHash };
    return acting;
  }

  /** What the key tells of its wallet is worked out once for the wallets seen last. */
  async #learnForms(address: string, signed: RequestSignature): Promise<void> {
    if (this.#credits === undefined) return;
    let forms = this.#forms.get(address);
    if (forms === undefined) {
      forms = formsOfRequestKey(signed);
      if (forms === undefined) return;
      this.#forms.set(address, forms);
    }
    await this.#credits.unite(forms);
  }

  #boundTo(request: Request): BoundRequest | undefined {
    const digest = request.headers['content-digest'] ?? '';
    if (this.isForAnother(request) || typeof digest !== 'string') return undefined;
    if (digest !== '' && !contentDigestForm.test(digest)) return undefined;
    const { method, url: path = '' } = request.raw;
    return { service: this.service, method: method ?? '', path, contentDigest: digest };
  }

  /** What could act of the payer's headers. */
  async #payerKeys(request: Request): Promise<SpentKey[]> {
    const nonce = request.headers['x-nonce'];
    if (typeof nonce !== 'string' || canonicalUuid(nonce) === undefined) return [];
    const signer = await this.signerOf(request);
    if (signer !== undefined) return isActing(signer) ? keysOf(signer) : [];
    // A bound signature does not verify where it was not made for, and may still be good where it was.
    const bound = request.headers['x-service-address'] === this.service;
    return bound ? signatureKeys(request.headers['x-signature']) : [];
  }

  /** Whether something of it is new. What is stored for ever is limited: signing costs a stranger nothing. */
  async #admit(request: Request, keys: readonly SpentKey[]): Promise<boolean> {
    if (await this.#spent.knowsAll(keys)) return false;
    const { allowed, resetSeconds } = await this.#stored.take(request.ip ?? '');
    if (!allowed) throw tooManySignatures(resetSeconds);
    return true;
  }
}

/** Whether something is shown that could act; most requests, signed ones that read among them, show nothing. */
function mayShowActing(headers: IncomingHttpHeaders): boolean {
  if (headers['x-owner-signature'] !== undefined) return true;
  if (headers['x-signature'] === undefined) return false;
  const nonce = headers['x-nonce'];
  return typeof nonce === 'string' && canonicalUuid(nonce) !== undefined;
}

export function isActing(signer: Signer): signer is ActingSigner {
  return 'uuid' in signer;
}

function keysOf({ wallet, uuid, signatureHash }: ActingSigner): SpentKey[] {
  return [payerNonceKey(wallet.address, uuid), signatureKey(signatureHash)];
}

/**
 * What could act of an owner's proof. It covers the fields of its action, so that it cannot be verified on another
 * route: its signature alone is spent, which nobody can name who has not seen it.
 */
function ownerKeys({ headers }: Request): SpentKey[] {
  const nonce = headers['x-owner-nonce'];
  if (typeof nonce !== 'string' || canonicalUuid(nonce) === undefined) return [];
  return signatureKeys(headers['x-owner-signature']);
}

function signatureKeys(header: string | string[] | undefined): SpentKey[] {
  const named = typeof header === 'string' ? signatureHeaderHash(header) : undefined;
  return named === undefined ? [] : [signatureKey(named)];
}

/** Where no route has words of its own. */
function answerOf(error: unknown): unknown {
  if (!(error instanceof DatabaseUnavailable)) return error;
  return new HttpError(503, 'Database unavailable', { retryAfter: 5, cause: error });
}
