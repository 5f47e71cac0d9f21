/** How the page asks the payment service, typed; amounts are bigint here and text or numbers on the wire. */
import type { Approval } from '../../formats/approval.ts';
import { texts } from '../texts.ts';
import { messageIn, ServiceError } from './console.ts';
import { serviceUrl } from './settings.ts';

const timeoutMs = 30_000;

/** A 402 carries what to pay, a 400 what has failed: whoever asks for them reads them. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

interface Asking {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

async function askRaw(path: string, { signal, ...init }: Asking = {}): Promise<Answer> {
  const base = serviceUrl('payment');
  if (base === undefined) throw new ServiceError(0, texts.wallet.noService);
  const limit = AbortSignal.timeout(timeoutMs);
  const ends = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  const answer = await fetch(`${base}${path}`, { cache: 'no-store', ...init, signal: ends }).catch(
    (error: unknown) => {
      signal?.throwIfAborted();
      throw new ServiceError(0, error instanceof Error ? error.message : String(error));
    },
  );
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

async function ask<T>(path: string, asking?: Asking): Promise<T> {
  const { status, text } = await askRaw(path, asking);
  if (status < 200 || status > 299) throw new ServiceError(status, messageIn(text));
  return JSON.parse(text) as T;
}

export interface PaymentInfo {
  readonly version: string;
  /** Token -> the wallet it is paid to. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly freeUploadLimitBytes?: number;
  /** Whether signatures that act or read must name the service; absent where it does not know such. */
  readonly boundSignatures?: 'optional' | 'required';
}

export const paymentInfo = (signal?: AbortSignal): Promise<PaymentInfo> => ask('/v1/info', { signal });

export interface Balance {
  readonly winc: bigint;
  /** With what was lent by others. */
  readonly effectiveWinc: bigint;
  /** After a payment was taken back. */
  readonly owedWinc: bigint;
  readonly given: readonly Approval[];
  readonly received: readonly Approval[];
}

/** A wallet that the service has never seen has nothing. */
export async function balanceOf(address: string, signal?: AbortSignal): Promise<Balance> {
  const path = `/v1/account/balance?address=${encodeURIComponent(address)}`;
  const { status, text } = await askRaw(path, { signal });
  if (status === 404) return { winc: 0n, effectiveWinc: 0n, owedWinc: 0n, given: [], received: [] };
  if (status !== 200) throw new ServiceError(status, messageIn(text));
  const balance = JSON.parse(text) as {
    winc: string;
    effectiveBalance?: string;
    owedWinc?: string;
    givenApprovals?: readonly Approval[];
    receivedApprovals?: readonly Approval[];
  };
  return {
    winc: BigInt(balance.winc),
    effectiveWinc: BigInt(balance.effectiveBalance ?? balance.winc),
    owedWinc: BigInt(balance.owedWinc ?? '0'),
    given: balance.givenApprovals ?? [],
    received: balance.receivedApprovals ?? [],
  };
}

export async function freeBytesOf(address: string, signal?: AbortSignal): Promise<number | null> {
  const path = `/v1/account/free?address=${encodeURIComponent(address)}`;
  return (await ask<{ bytesRemaining: number | null }>(path, { signal })).bytesRemaining;
}

export interface Rates {
  /** Of a gibibyte. */
  readonly winc: number;
  /** Of a gibibyte, by currency. */
  readonly fiat: Readonly<Record<string, number>>;
}

export const rates = (signal?: AbortSignal): Promise<Rates> => ask('/v1/rates', { signal });

/** What one AR costs; undefined where the service does not say. */
export async function dollarsPerAr(signal?: AbortSignal): Promise<number | undefined> {
  const { rate } = await ask<{ rate?: number }>('/v1/rates/usd', { signal });
  return rate;
}

export interface CurrencyLimits {
  readonly minimumPaymentAmount: number;
  readonly maximumPaymentAmount: number;
  readonly suggestedPaymentAmounts: readonly number[];
  readonly zeroDecimalCurrency: boolean;
}

export interface Currencies {
  readonly supportedCurrencies: readonly string[];
  readonly limits: Readonly<Record<string, CurrencyLimits>>;
}

export const currencies = (signal?: AbortSignal): Promise<Currencies> => ask('/v1/currencies', { signal });

export async function priceOfBytes(bytes: bigint, signal?: AbortSignal): Promise<bigint> {
  return BigInt((await ask<{ winc: string }>(`/v1/price/bytes/${bytes}`, { signal })).winc);
}

export interface Adjustment {
  readonly name: string;
  readonly description?: string;
  readonly adjustmentAmount: string | number;
}

export interface PaymentPrice {
  readonly winc: bigint;
  readonly adjustments: readonly Adjustment[];
  readonly fees: readonly Adjustment[];
  /** After discounts, in the smallest unit. */
  readonly actualPaymentAmount: number;
  readonly quotedPaymentAmount: number;
}

/** What a payment buys; `type` is a currency or a token, the amount in its smallest unit. */
export async function priceOfPayment(
  type: string,
  amount: bigint,
  { promoCode, address, signal }: { promoCode?: string; address?: string; signal?: AbortSignal } = {},
): Promise<PaymentPrice> {
  const query = new URLSearchParams();
  if (promoCode !== undefined && promoCode !== '') query.set('promoCode', promoCode);
  if (address !== undefined) query.set('destinationAddress', address);
  const price = await ask<Omit<PaymentPrice, 'winc'> & { winc: string }>(
    `/v1/price/${encodeURIComponent(type)}/${amount}?${query}`,
    { signal },
  );
  return { ...price, winc: BigInt(price.winc), adjustments: price.adjustments ?? [], fees: price.fees ?? [] };
}

export interface TopUpOrder {
  /** A wallet, or for a gift an email address. */
  readonly to: string;
  readonly addressType: 'arweave' | 'ethereum' | 'solana' | 'email';
  readonly currency: string;
  readonly amount: number;
  readonly promoCode?: string;
  readonly giftMessage?: string;
  readonly successUrl: string;
  readonly cancelUrl: string;
}

export interface TopUpSession {
  readonly topUpQuote: {
    readonly topUpQuoteId: string;
    readonly winstonCreditAmount: string;
    readonly paymentAmount: number;
    readonly currencyType: string;
    readonly quoteExpirationDate: string;
  };
  readonly paymentSession: { readonly id: string; readonly url: string | null };
}

/** Opens a page at the card provider. */
export function openTopUp(order: TopUpOrder): Promise<TopUpSession> {
  const { to, addressType, currency, amount, promoCode, giftMessage, successUrl, cancelUrl } = order;
  const query = new URLSearchParams({ destinationAddressType: addressType, successUrl, cancelUrl });
  if (promoCode !== undefined && promoCode !== '') query.set('promoCode', promoCode);
  if (giftMessage !== undefined && giftMessage !== '') query.set('giftMessage', giftMessage);
  return ask(`/v1/top-up/checkout-session/${encodeURIComponent(to)}/${currency}/${amount}?${query}`);
}

export interface CardState {
  readonly state: 'waiting' | 'paid' | 'failed' | 'refunded';
}

/** How a card payment stands; undefined where the service does not tell. */
export async function cardState(quoteId: string, signal?: AbortSignal): Promise<CardState | undefined> {
  const path = `/v1/thank-you?quote=${encodeURIComponent(quoteId)}`;
  const { status, text, headers } = await askRaw(path, { headers: { accept: 'application/json' }, signal });
  const isJson = headers.get('content-type')?.startsWith('application/json') === true;
  return status === 200 && isJson ? (JSON.parse(text) as CardState) : undefined;
}

export interface ReportedPayment {
  readonly state: 'credited' | 'pending' | 'failed';
  readonly winc: bigint;
  readonly reason: string | undefined;
}

/** A payment of the wallet as far as it can be returned. */
export interface ReturnablePayment {
  readonly payment: string;
  readonly kind: 'card' | 'chain' | 'x402';
  readonly token: string;
  /** The wallet that paid, or `card`. */
  readonly to: string;
  readonly date: string;
  readonly until: string;
  readonly wincCredited: string;
  readonly unspentWinc: string;
  readonly amount: string;
  readonly byHand: boolean;
  readonly refusal: string | null;
}

export interface CreditReturn {
  readonly id: string;
  readonly payment: string;
  readonly token: string;
  readonly to: string;
  readonly winc: string;
  readonly amount: string;
  readonly state: string;
  readonly transaction: string | null;
  readonly reason: string | null;
  readonly date: string;
}

export interface Returns {
  /** 0: the service does not return payments. */
  readonly windowDays: number;
  readonly feePercent: number;
  readonly payments: readonly ReturnablePayment[];
  readonly returns: readonly CreditReturn[];
}

export const returnsPath = '/v1/account/returns';

/** `body` is signed as it is sent. */
export const makeReturn = (body: string, headers: Readonly<Record<string, string>>): Promise<CreditReturn> =>
  ask(returnsPath, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });

/** Tells of a transaction to the service's wallet, or asks again how it stands. */
export async function reportTransaction(
  token: string,
  id: string,
  signal?: AbortSignal,
): Promise<ReportedPayment> {
  const { status, text } = await askRaw(`/v1/account/balance/${encodeURIComponent(token)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tx_id: id }),
    signal,
  });
  const known = readReported(text);
  if (known === undefined) throw new ServiceError(status, messageIn(text));
  return known;
}

function readReported(text: string): ReportedPayment | undefined {
  interface Transaction {
    readonly winstonCreditAmount?: string;
    readonly failureReason?: string;
  }
  let answer: Partial<Record<string, Transaction>>;
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    return undefined;
  }
  for (const state of ['credited', 'pending', 'failed'] as const) {
    const transaction = typeof answer === 'object' ? answer?.[`${state}Transaction`] : undefined;
    if (transaction === undefined) continue;
    const winc = BigInt(transaction.winstonCreditAmount ?? '0');
    return { state, winc, reason: transaction.failureReason };
  }
  return undefined;
}

export interface PastPayment {
  readonly type: 'crypto' | 'fiat' | string;
  readonly date: string;
  readonly wincCredited: string;
  /** What else it says depends on how it was paid. */
  readonly [field: string]: unknown;
}

export interface PastPayments {
  readonly payments: readonly PastPayment[];
  readonly cursor: string | null;
}

/** What anybody may know of a wallet. */
export interface Account extends Balance {
  /** What the account is called by. */
  readonly address: string;
  readonly otherForms: readonly string[];
  readonly isKnown: boolean;
  readonly freeBytes: number | null;
}

export async function accountOf(address: string, signal?: AbortSignal): Promise<Account> {
  const read = await ask<{
    address: string;
    otherForms: readonly string[];
    known: boolean;
    winc: string;
    owedWinc: string;
    effectiveBalance: string;
    givenApprovals: readonly Approval[];
    receivedApprovals: readonly Approval[];
    bytesRemaining: number | null;
  }>(`/v1/account?address=${encodeURIComponent(address)}`, { signal });
  return {
    address: read.address,
    otherForms: read.otherForms,
    isKnown: read.known,
    winc: BigInt(read.winc),
    effectiveWinc: BigInt(read.effectiveBalance),
    owedWinc: BigInt(read.owedWinc),
    given: read.givenApprovals,
    received: read.receivedApprovals,
    freeBytes: read.bytesRemaining,
  };
}

/** What became of one payment; of a transaction that is no payment here only state and explanation. */
export interface FoundPayment {
  readonly id: string;
  readonly state: string;
  readonly explanation: string;
  readonly kind?: 'chain' | 'x402' | 'card';
  readonly winc?: string;
  readonly amount?: string;
  readonly currency?: string;
  readonly sender?: string | null;
  readonly address?: string | null;
}

/** By chain transaction, x402 settlement, card quote or receipt. A deposit that nobody reported is credited by this. */
export async function findPayment(id: string, signal?: AbortSignal): Promise<FoundPayment> {
  const { status, text } = await askRaw(`/v1/account/payments/${encodeURIComponent(id)}`, { signal });
  if (status !== 200 && status !== 404) throw new ServiceError(status, messageIn(text));
  return JSON.parse(text) as FoundPayment;
}

export interface Holds {
  readonly holds: readonly {
    readonly id: string;
    readonly reason: string;
    readonly winc: string;
    readonly since: string;
  }[];
  readonly count: number;
}

export interface DailySpending {
  readonly days: readonly {
    readonly date: string;
    readonly winc: string;
    readonly uploads: string;
    readonly names: string;
    readonly byOthers: string;
  }[];
  readonly complete: boolean;
}

export const holdsPath = '/v1/account/holds';
export const spendingPath = '/v1/account/spending?days=30';

export const pastPaymentsPath = (cursor: string | undefined): string =>
  `/v1/account/payments?limit=100${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;

/** What only the wallet itself may read: `headers` are its signature, or the token of an earlier answer. */
export async function readAsWallet<T>(
  path: string,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<{ readonly value: T; readonly token: string | undefined }> {
  const answer = await askRaw(path, { headers, signal });
  if (answer.status !== 200) throw new ServiceError(answer.status, messageIn(answer.text));
  const token = answer.headers.get('authorization') ?? undefined;
  return { value: JSON.parse(answer.text) as T, token };
}

/** What only the wallet itself may ask for or change. `headers` are its signature, or to read the token of an earlier answer. */
export async function askSigned<T>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<{ readonly value: T; readonly token: string | undefined }> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const answer = await askRaw(path, {
    method,
    headers: { ...json, ...headers },
    ...(body !== undefined && { body }),
  });
  if (answer.status >= 400) throw new ServiceError(answer.status, messageIn(answer.text));
  return { value: JSON.parse(answer.text) as T, token: answer.headers.get('authorization') ?? undefined };
}

export interface Redeemed {
  readonly message: string;
  readonly userBalance: string;
}

export function redeemGift(gift: {
  id: string;
  email: string;
  address: string;
  kind: string;
}): Promise<Redeemed> {
  const { id, email, address, kind } = gift;
  const query = new URLSearchParams({ id, email, destinationAddress: address, token: kind });
  return ask(`/v1/redeem?${query}`);
}

export interface X402Offer<Requirement> {
  readonly accepts: readonly Requirement[];
}

const x402Path = (credits: string, address: string): string =>
  `/v1/x402/top-up?${new URLSearchParams({ type: 'credits', qty: credits, address })}`;

/** What so many credits cost by x402. */
export async function x402Offer<Requirement>(
  credits: string,
  address: string,
  signal?: AbortSignal,
): Promise<X402Offer<Requirement>> {
  const { status, text } = await askRaw(x402Path(credits, address), { signal });
  if (status !== 402) throw new ServiceError(status, messageIn(text));
  return JSON.parse(text) as X402Offer<Requirement>;
}

export interface X402Settled {
  readonly creditedWinc: string;
  readonly balance: string;
  readonly x402SettlementResponse: { readonly transaction: string; readonly network: string };
}

/** The same payment again answers the same, so that a lost answer can be asked for again. */
export const payX402 = (credits: string, address: string, payment: string): Promise<X402Settled> =>
  ask(x402Path(credits, address), { headers: { 'x-payment': payment } });
