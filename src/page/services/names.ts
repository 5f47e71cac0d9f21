/**
 * Names: what the payment service says of them and does with them (`/v1/arns`), and where gateways resolve them to. A
 * service that speaks the contract alone does not tell a name as it stands; then less is known of it, and said so.
 */
import type { WhereAnswer } from '../../formats/name-where.ts';
import { messageIn, ServiceError } from './console.ts';
import { serviceUrl, settings } from './settings.ts';

export type PurchaseAction = 'buy-name' | 'extend-lease' | 'upgrade-name' | 'increase-undername-limit';
export type RecordAction =
  | 'set-record'
  | 'remove-record'
  | 'set-record-metadata'
  | 'remove-record-metadata'
  | 'transfer-record';
export type AuthorityAction = 'add-controller' | 'remove-controller' | 'transfer';
export type ActionName = PurchaseAction | RecordAction | AuthorityAction;

export const isPurchase = (action: ActionName): action is PurchaseAction =>
  action === 'buy-name' ||
  action === 'extend-lease' ||
  action === 'upgrade-name' ||
  action === 'increase-undername-limit';

/** Those that the owner proves by a signature over their fields. */
export const isOnRecord = (action: ActionName): action is RecordAction => action.includes('record');

export interface NameRecord {
  readonly undername: string;
  readonly target: string;
  readonly protocol: 'arweave' | 'ipfs';
  readonly ttlSeconds: number;
  /** Place by priority, then name; `@` is 0. */
  readonly index: number;
  readonly owner?: string;
  readonly displayName?: string;
  readonly logo?: string;
  readonly description?: string;
  readonly keywords?: readonly string[];
}

export interface NameToken {
  readonly owner: string;
  readonly controllers: readonly string[];
  readonly name: string;
  readonly ticker: string;
  readonly logo: string;
  readonly description: string;
  readonly keywords: readonly string[];
}

interface Lease {
  readonly state: 'free' | 'registered' | 'grace' | 'lapsed' | 'reserved' | 'returned';
  readonly type?: 'lease' | 'permabuy';
  readonly startedAt?: string;
  readonly endsAt?: string;
  readonly graceEndsAt?: string;
  readonly extendableYears?: number;
  readonly undernameLimit?: number;
  readonly auctionEndsAt?: string;
}

export interface NameNow extends Lease {
  readonly name: string;
  /** The service's own Solana address: with it among the controllers, changes of records need no second signature. */
  readonly service?: string;
  readonly antId?: string;
  readonly token?: NameToken;
  readonly records?: readonly NameRecord[];
}

export interface OwnedName extends Lease {
  readonly name: string;
  readonly antId: string;
}

export interface NameReceipt {
  readonly name: string;
  readonly antId: string;
  readonly intent: string;
  readonly type?: 'lease' | 'permabuy';
  readonly years?: number;
  readonly purchaseDate: string;
  /** The service holds the token for its buyer. */
  readonly custodial: boolean;
}

export interface NameEvent {
  readonly signature: string;
  readonly slot: number;
  readonly at?: string;
  readonly failed: boolean;
  readonly steps: readonly {
    readonly instruction: string;
    readonly values: Readonly<Record<string, string>>;
  }[];
}

/** What is bought, as the price and quote routes take it. */
export interface Purchase {
  readonly action: PurchaseAction;
  readonly name: string;
  readonly type?: 'lease' | 'permabuy';
  readonly years?: number;
  readonly increaseQty?: number;
}

export interface NamePrice {
  /** Everything that is debited. */
  readonly winc: bigint;
  /** Of it, for making the token. */
  readonly surcharge: bigint;
  /** By card, in cents of a dollar; undefined where the service does not say. */
  readonly cents: number | undefined;
}

export interface ActionStatus {
  readonly nonce: string;
  readonly action: string;
  readonly status: 'completed' | 'awaiting-signature' | 'pending' | 'expired' | 'failed';
  readonly wincQty: string;
  readonly name?: string;
  readonly ownerAddress?: string;
  readonly antId?: string;
  readonly messageId?: string;
  /** Base64 of the wire, with the owner's slot empty. Only while it can be signed. */
  readonly transaction?: string;
  /** The service adds its signatures after the owner's, and makes the transaction anew when its time is over. */
  readonly signOrder?: 'owner-first';
  readonly feePayer?: string;
  readonly expiresAt?: string;
  readonly failedReason?: string;
  /** Of a failed action, what was spent on the chain and is not returned. */
  readonly keptWincQty?: string;
}

export interface CardPurchase {
  readonly nonce: string;
  readonly status: 'PENDING' | 'CONFIRMED' | 'FAILED';
  readonly paymentAmount: number;
  readonly currencyType: string;
  readonly quoteExpirationDate: string;
  readonly messageId?: string;
  readonly antId?: string;
  readonly failedReason?: string;
}

export interface Resolved {
  readonly id: string;
  readonly ttlSeconds: number | undefined;
}

/** Actions wait for the chain. */
const timeoutMs = 60_000;

export async function readName(name: string, signal?: AbortSignal): Promise<NameNow> {
  const found = await optional(get<NameNow>(`/v1/arns/names/${encodeURIComponent(name)}`, signal));
  return found ?? (await guessName(name, signal));
}

/** Of a service that does not tell: a price says whether the name is free, the gateway where it leads. */
async function guessName(name: string, signal?: AbortSignal): Promise<NameNow> {
  const refusal = await priceOf({ action: 'buy-name', name, type: 'permabuy' }, signal).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ServiceError && error.status === 400) return error.message;
      throw error;
    },
  );
  if (refusal === undefined) return { name, state: 'free' };
  if (/reserved/i.test(refusal)) return { name, state: 'reserved' };
  const gateway = serviceUrl('gateway');
  const resolver = `${gateway}/gw/resolver/${encodeURIComponent(name)}`;
  const told =
    gateway === undefined
      ? undefined
      : await optional(
          ask<{ txId: string; ttlSeconds: number; antId: string; limit: number }>(resolver, { signal }),
        );
  if (told === undefined) return { name, state: 'registered' };
  const { txId: target, ttlSeconds, antId, limit: undernameLimit } = told;
  const records = [{ undername: '@', target, protocol: 'arweave' as const, ttlSeconds, index: 0 }];
  return { name, state: 'registered', antId, undernameLimit, records };
}

export async function readHistory(
  name: string,
  signal?: AbortSignal,
): Promise<readonly NameEvent[] | undefined> {
  const path = `/v1/arns/names/${encodeURIComponent(name)}/history`;
  return (await optional(get<{ events: NameEvent[] }>(path, signal)))?.events;
}

/** What each gateway that the service knows shows; undefined where the service does not tell. */
export const readWhere = (label: string, signal?: AbortSignal): Promise<WhereAnswer | undefined> =>
  optional(get<WhereAnswer>(`/v1/arns/where/${encodeURIComponent(label)}`, signal));

/** What was bought by or for an address; not what it has now. */
export async function readReceipts(address: string, signal?: AbortSignal): Promise<readonly NameReceipt[]> {
  return (await get<{ names: NameReceipt[] }>(`/v1/arns/my-names/${encodeURIComponent(address)}`, signal))
    .names;
}

/** What a Solana address has now; undefined where the service does not tell. */
export async function readOwned(
  address: string,
  signal?: AbortSignal,
): Promise<readonly OwnedName[] | undefined> {
  const path = `/v1/arns/owned/${encodeURIComponent(address)}`;
  return (await optional(get<{ names: OwnedName[] }>(path, signal)))?.names;
}

export async function priceOf(purchase: Purchase, signal?: AbortSignal): Promise<NamePrice> {
  const { action, name } = purchase;
  const query = purchaseQuery(purchase);
  query.set('currency', 'usd');
  const told = await get<{
    winc: string;
    antSpawnSurchargeWinc?: string;
    wincTotalWithAntSpawn?: string;
    fiatEstimate?: { paymentAmount: number; paymentAmountWithAntSpawn?: number };
  }>(`/v1/arns/price/${action}/${encodeURIComponent(name)}?${query}`, signal);
  return {
    winc: BigInt(told.wincTotalWithAntSpawn ?? told.winc),
    surcharge: BigInt(told.antSpawnSurchargeWinc ?? 0),
    cents: told.fiatEstimate?.paymentAmountWithAntSpawn ?? told.fiatEstimate?.paymentAmount,
  };
}

/** In winc, of an action that is no purchase. */
export async function actionPrice(
  action: RecordAction | AuthorityAction,
  signal?: AbortSignal,
): Promise<bigint> {
  return BigInt((await get<{ wincQty: string }>(`/v1/arns/actions/${action}/price`, signal)).wincQty);
}

/** Whom signatures name the service by; undefined where it does not say, so that they name nobody. */
export async function serviceAddress(): Promise<string | undefined> {
  const { addresses, boundSignatures } = await get<{
    addresses?: Readonly<Record<string, string>>;
    boundSignatures?: string;
  }>('/v1/info');
  return boundSignatures === undefined ? undefined : addresses?.arweave;
}

export const actionPath = (action: ActionName): string => `/v1/arns/actions/${action}`;

/** `body` as it was signed. */
export const createAction = (
  action: ActionName,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<ActionStatus> => ask(`${payment()}${actionPath(action)}`, { method: 'POST', body, headers });

/** Undefined where the service has never heard of it. */
export const actionStatus = (nonce: string): Promise<ActionStatus | undefined> =>
  optional(get<ActionStatus>(`/v1/arns/actions/${encodeURIComponent(nonce)}`));

export const signAction = (nonce: string, transaction: string): Promise<ActionStatus> =>
  ask(`${payment()}/v1/arns/actions/${encodeURIComponent(nonce)}/sign`, {
    method: 'POST',
    body: JSON.stringify({ transaction }),
  });

/** A transaction that can be signed now; `serviceFirst` asks for one that the service has signed. */
export const freshTransaction = (nonce: string, serviceFirst: boolean): Promise<ActionStatus> =>
  ask(`${payment()}/v1/arns/actions/${encodeURIComponent(nonce)}/sign`, {
    method: 'POST',
    body: JSON.stringify(serviceFirst ? { signOrder: 'service-first' } : {}),
  });

/** A page to pay at, and the purchase that the payment is for. `address` gets the name. */
export async function buyByCard(
  purchase: Purchase,
  address: string,
  back: { readonly successUrl: string; readonly cancelUrl: string },
): Promise<{ readonly purchase: CardPurchase; readonly url: string }> {
  const query = purchaseQuery(purchase);
  query.set('successUrl', back.successUrl);
  query.set('cancelUrl', back.cancelUrl);
  const path = ['checkout-session', address, 'usd', purchase.action, purchase.name].map(encodeURIComponent);
  const told = await get<{
    purchaseQuote: Omit<CardPurchase, 'status'>;
    paymentSession: { url: string | null };
  }>(`/v1/arns/quote/${path.join('/')}?${query}`);
  const { url } = told.paymentSession;
  if (url === null) throw new ServiceError(0, 'The card provider gave no page to pay at.');
  return { purchase: { ...told.purchaseQuote, status: 'PENDING' }, url };
}

export const cardPurchase = (nonce: string): Promise<CardPurchase> =>
  get(`/v1/arns/purchase/${encodeURIComponent(nonce)}`);

/** Where the gateway leads the name to now; undefined: nowhere. */
export async function resolveAtGateway(label: string, signal?: AbortSignal): Promise<Resolved | undefined> {
  const gateway = serviceUrl('gateway');
  if (gateway === undefined) return undefined;
  const url = `${gateway}/gw/resolver/${encodeURIComponent(label)}`;
  const told = await optional(ask<{ txId: string; ttlSeconds: number }>(url, { signal }));
  return told && { id: told.txId, ttlSeconds: told.ttlSeconds };
}

/** Where the router leads the name to now; undefined: nowhere, or it does not say. */
export async function resolveAtRouter(label: string, signal?: AbortSignal): Promise<Resolved | undefined> {
  const url = nameUrl('router', label);
  if (url === undefined) return undefined;
  const limit = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, {
    method: 'HEAD',
    cache: 'no-store',
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  const id = answer.headers.get('x-arns-resolved-id');
  const ttl = Number(answer.headers.get('x-arns-ttl-seconds') ?? Number.NaN);
  return id === null ? undefined : { id, ttlSeconds: Number.isInteger(ttl) ? ttl : undefined };
}

/** Where readers open a name; `label` is the name, or `{undername}_{name}`. */
export function nameUrl(at: 'gateway' | 'router', label: string): string | undefined {
  const { sandbox, routerHosts } = settings();
  return (at === 'gateway' ? sandbox : routerHosts)?.replace('{label}', label);
}

function purchaseQuery({ type, years, increaseQty }: Purchase): URLSearchParams {
  const query = new URLSearchParams();
  if (type !== undefined) query.set('type', type);
  if (years !== undefined && type !== 'permabuy') query.set('years', String(years));
  if (increaseQty !== undefined) query.set('increaseQty', String(increaseQty));
  return query;
}

function payment(): string {
  const url = serviceUrl('payment');
  if (url === undefined) throw new ServiceError(0, 'This console knows no payment service.');
  return url;
}

const get = <T>(path: string, signal?: AbortSignal): Promise<T> => ask<T>(`${payment()}${path}`, { signal });

interface Asked {
  readonly method?: 'GET' | 'POST';
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

async function ask<T>(url: string, { method = 'GET', body, headers, signal }: Asked): Promise<T> {
  const limit = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
    // What was just changed is asked for again.
    cache: 'no-store',
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ServiceError(0, `${new URL(url).host} does not answer.`);
  });
  const text = await answer.text();
  if (!answer.ok) throw new ServiceError(answer.status, messageIn(text));
  return JSON.parse(text) as T;
}

/** Undefined where there is no such thing. */
async function optional<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) return undefined;
    throw error;
  }
}
