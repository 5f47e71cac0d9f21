/** Prices: what bytes cost in winc, and what a payment in fiat or in a token buys. */
import type { SqlExecutor } from '../storage/sql/sql.ts';
import type { Decimal } from './decimal.ts';
import type { Winc } from './units.ts';

export type { Decimal } from './decimal.ts';
export { MAX_WINC, parseAmount, WINC_PER_CREDIT, type Winc, winc } from './units.ts';

/** The currencies cards are charged in, in the order `/currencies` lists them. */
export const currencies = ['aud', 'brl', 'cad', 'eur', 'gbp', 'hkd', 'inr', 'jpy', 'sgd', 'usd'] as const;
export type Currency = (typeof currencies)[number];

/** Tokens a payment may be made in. */
export const tokens = [
  'arweave',
  'ethereum',
  'base-eth',
  'matic',
  'pol',
  'solana',
  'ed25519',
  'ario',
  'base-ario',
  'kyve',
  'usdc',
  'base-usdc',
  'polygon-usdc',
] as const;
export type Token = (typeof tokens)[number];

/** Interface §2 "Adjustment", ready for JSON. */
interface Adjustment extends NamedAdjustment {
  readonly adjustmentAmount: string;
}

interface NamedAdjustment {
  readonly name: string;
  readonly description: string;
  readonly operator: 'multiply' | 'add';
  readonly operatorMagnitude: string;
  readonly promoCode?: string;
}

/** An adjustment as it was applied, with the catalogue row it came from. */
export interface AppliedAdjustment extends NamedAdjustment {
  readonly catalogueId: string;
  /** After minus before: winc on bytes and tokens, minor units on fiat. */
  readonly amount: bigint;
  /** The row is limited per user and interval, so a use of it must be recorded with the spending. */
  readonly limited?: true;
}

export interface BytesQuote {
  /** What an upload of this size is charged. */
  readonly winc: Winc;
  /** The network's own price, before adjustments and surcharge. */
  readonly networkWinc: Winc;
  /** Charged per item whatever its size; never discounted, not listed among the adjustments. */
  readonly surchargeWinc: Winc;
  readonly adjustments: readonly AppliedAdjustment[];
}

/** What a card is charged, in minor units of the currency. */
interface CardCharge {
  readonly currency: Currency;
  /** What was asked for, or for a purchase what the winc cost with inclusive fees: before promo codes. */
  readonly quotedPaymentAmount: number;
  /** What is charged: after exclusive adjustments and promo codes; a purchase at least the card provider's minimum. */
  readonly paymentAmount: number;
  /** Exclusive: they change the charge. */
  readonly adjustments: readonly AppliedAdjustment[];
  /** Inclusive: they change what is credited. */
  readonly fees: readonly AppliedAdjustment[];
}

export interface FiatQuote extends CardCharge {
  readonly winc: Winc;
}

export interface TokenQuote {
  readonly token: Token;
  /** After fees: what is credited. */
  readonly winc: Winc;
  /** Before fees: what the tokens are worth. */
  readonly equivalentWinc: Winc;
  readonly fees: readonly AppliedAdjustment[];
  /** Six decimals, as payment history shows it; `0` when it was not asked for. */
  readonly usdEquivalent: string;
}

/** What must be charged so that a given amount of winc arrives. Used by names. */
export interface PurchaseQuote extends CardCharge {
  /** Credits for the difference when the minimum raised the amount, else 0. */
  readonly excessWinc: Winc;
}

export interface CurrencyLimits {
  readonly minimumPaymentAmount: number;
  readonly maximumPaymentAmount: number;
  readonly suggestedPaymentAmounts: readonly number[];
  readonly zeroDecimalCurrency: boolean;
}

/** One moment's prices; every figure of one answer comes from one table. */
export interface RateTable {
  /** Unix milliseconds at which the source was asked. */
  readonly at: number;
  /** Major units of `currency` for one whole token. Throws `OracleUnavailable` when the source lacks it. */
  price(token: Token, currency: Currency): Decimal;
}

/** Where token prices come from: the static table or an HTTP source. */
export interface RateSource {
  fetch(): Promise<RateTable>;
}

/** Where the price of storage comes from. */
export interface NetworkPriceSource {
  /** Winston for 10 GiB. */
  fetch(): Promise<bigint>;
}

export interface PromoContext {
  readonly codes: readonly string[];
  /** The wallet the codes are judged for. */
  readonly address: string;
}

/**
 * Promo codes tied to a card quote: noted while it is open, used (and only then counted) when it is paid, forgotten when
 * it fails.
 * Each runs in the caller's transaction, so that the quote and its codes move together.
 */
export interface PromoUses {
  holdIn(tx: SqlExecutor, quote: PromoHold): Promise<void>;
  /** Checks eligibility once more; throws `PromoCodeRefused`. */
  useIn(tx: SqlExecutor, quoteId: string): Promise<void>;
  releaseIn(tx: SqlExecutor, quoteId: string): Promise<void>;
}

export interface PromoHold {
  readonly quoteId: string;
  readonly address: string;
  /** Unix milliseconds after which the quote can no longer be paid. */
  readonly expiresAt: number;
  readonly adjustments: readonly AppliedAdjustment[];
}

export interface Pricing {
  /** Winc for an upload. `user` is its signer: rows limited per user apply only with one. */
  quoteBytes(bytes: number, user?: string): Promise<BytesQuote>;
  /** The same without a user, when it is known without waiting. */
  knownBytesQuote(bytes: number): BytesQuote | undefined;
  /** Winc for a card payment of `amount` minor units. Throws `PromoCodeRefused`, `OracleUnavailable`. */
  quoteFiat(amount: number, currency: Currency, promo?: PromoContext): Promise<FiatQuote>;
  /** Winc for `amount` base units of a token. Throws `AmountTooSmall`, `OracleUnavailable`. */
  quoteToken(
    amount: bigint,
    token: Token,
    /** Nobody asks for dollars. Winston are winc and most fees are factors: AR is then priced without rates too. */
    options?: { readonly inWincOnly?: boolean },
  ): Promise<TokenQuote>;
  /** The charge that buys `amount` winc. */
  quotePurchase(amount: Winc, currency: Currency, promo?: PromoContext): Promise<PurchaseQuote>;
  /** Minor units worth `amount` winc at the current rate, no fee, rounded up. */
  fiatOf(amount: Winc, currency: Currency): Promise<number>;
  /** Atomic USDC (6 decimals) that buys `amount` winc after fees, rounded up. */
  usdcFor(amount: Winc): Promise<bigint>;
  /** Winc bought by atomic USDC after fees, rounded down. */
  wincForUsdc(amount: bigint): Promise<Winc>;
  /** Price of 1 GiB without surcharge, and what a buyer pays for it in each currency (doubles, for display). */
  gibibyteRates(): Promise<GibibyteRates>;
  limits(): Promise<Readonly<Record<Currency, CurrencyLimits>>>;
  /** The current table; single-flight, at most as old as configuration allows, else `OracleUnavailable`. */
  rates(): Promise<RateTable>;
  readonly promoUses: PromoUses;
  /** Age of each oracle's value in seconds, for metrics and readiness; undefined before the first answer. */
  oracleAges(): { readonly rates: number | undefined; readonly network: number | undefined };
  /** Why nothing can be priced, in sentences; asks the sources where they have not been asked. */
  problems(): Promise<readonly string[]>;
}

export interface GibibyteRates {
  readonly winc: Winc;
  readonly fiat: Readonly<Record<Currency, number>>;
  readonly adjustments: readonly AppliedAdjustment[];
}

/** An oracle has no value that is fresh enough. Surfaces answer 503 with `Retry-After`. */
export class OracleUnavailable extends Error {
  override readonly name = 'OracleUnavailable';
  readonly oracle: 'rates' | 'network';
  readonly retryAfter: number;

  constructor(oracle: 'rates' | 'network', retryAfter: number, cause?: unknown) {
    super(`the ${oracle} oracle is unavailable`, { cause });
    this.oracle = oracle;
    this.retryAfter = retryAfter;
  }
}

/** A promo code cannot be applied; the message is the answer's text, status 400. */
export class PromoCodeRefused extends Error {
  override readonly name = 'PromoCodeRefused';
}

/** A limited adjustment of a quote has been used up since: quote again. */
export class AdjustmentUsedUp extends Error {
  override readonly name = 'AdjustmentUsedUp';
}

/** The tokens are worth less than one winc. */
export class AmountTooSmall extends Error {
  override readonly name = 'AmountTooSmall';
}

/** The wire form: integers as decimal strings, the catalogue id left out. */
export function renderAdjustment(applied: AppliedAdjustment): Adjustment {
  const { name, description, operator, operatorMagnitude, amount, promoCode } = applied;
  const rendered = { name, description, operator, operatorMagnitude, adjustmentAmount: amount.toString() };
  return promoCode === undefined ? rendered : { ...rendered, promoCode };
}
