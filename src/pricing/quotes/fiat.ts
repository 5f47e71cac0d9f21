/**
 * Fiat to winc. Exclusive rows and promo codes change what is charged, inclusive ones (fees) what is
 * credited, and both start from the amount that was asked for.
 */
import { currencyFacts, minorUnits } from '../currencies.ts';
import { type Decimal, divide, scaled } from '../decimal.ts';
import type { Currency, CurrencyLimits } from '../pricing.ts';
import { WINC_PER_CREDIT } from '../units.ts';
import { type Adjusted, type AdjustmentRow, applyRows, atLeastZero, multiplied } from './adjust.ts';

/** What one AR costs: in the currency of the payment and in US dollars. */
export interface FiatPrices {
  readonly currency: Currency;
  readonly perAr: Decimal;
  readonly usdPerAr: Decimal;
}

/** A row that changes the charge. */
export interface DiscountRow extends AdjustmentRow {
  readonly promoCode?: string;
  /** Largest discount in US cents; 0 = none. */
  readonly maximumDiscount: bigint;
}

/** Minor units of the currency worth so many US cents. */
export const fromCents = (cents: bigint, { currency, perAr, usdPerAr }: FiatPrices): bigint =>
  scaled(cents * minorUnits(currency), [perAr], [usdPerAr, { digits: 100n, scale: 0 }], 'half-up');

/** US cents worth so many minor units. */
export const toCents = (amount: bigint, { currency, perAr, usdPerAr }: FiatPrices): bigint =>
  scaled(amount * 100n, [usdPerAr], [perAr, { digits: minorUnits(currency), scale: 0 }], 'half-up');

/** Winc that a credited amount buys. */
export const wincOfFiat = (amount: bigint, { currency, perAr }: FiatPrices): bigint =>
  scaled(amount * WINC_PER_CREDIT, [], [perAr, { digits: minorUnits(currency), scale: 0 }], 'half-up');

/** Minor units that are worth so much winc, rounded up. */
export const fiatOfWinc = (amount: bigint, { currency, perAr }: FiatPrices): bigint =>
  scaled(amount * minorUnits(currency), [perAr], [{ digits: WINC_PER_CREDIT, scale: 0 }], 'up');

/** Inclusive rows: what of the payment is credited. */
export function chargeFees(amount: bigint, rows: readonly AdjustmentRow[], prices: FiatPrices): Adjusted {
  return applyRows(amount, rows, (current, row) => adjusted(current, row, prices));
}

/** Exclusive rows and promo codes: what is charged. */
export function discount(amount: bigint, rows: readonly DiscountRow[], prices: FiatPrices): Adjusted {
  return applyRows(amount, rows, (current, row) => {
    const after = adjusted(current, row, prices);
    const tooMuch = row.maximumDiscount > 0n && exceeds(current - after, row.maximumDiscount, prices);
    return tooMuch ? atLeastZero(current - fromCents(row.maximumDiscount, prices)) : after;
  });
}

/** The smallest payment of which, after the fees, at least `credited` is left: the fees run backwards. */
export function withFees(credited: bigint, rows: readonly AdjustmentRow[], prices: FiatPrices): bigint {
  return rows.reduceRight((amount, row) => {
    if (row.operator === 'add') return atLeastZero(amount - addend(row, prices));
    const { digits, scale } = row.magnitude;
    return divide(amount * 10n ** BigInt(scale), digits, 'up');
  }, credited);
}

const adjusted = (amount: bigint, row: AdjustmentRow, prices: FiatPrices): bigint =>
  atLeastZero(
    row.operator === 'multiply' ? multiplied(amount, row, 'half-up') : amount + addend(row, prices),
  );

/** The magnitude of an `add` is in US cents. */
function addend(row: AdjustmentRow, { currency, perAr, usdPerAr }: FiatPrices): bigint {
  return scaled(
    minorUnits(currency),
    [row.magnitude, perAr],
    [usdPerAr, { digits: 100n, scale: 0 }],
    'half-up',
  );
}

/** Whether an amount is worth more than so many US cents, without rounding. */
function exceeds(amount: bigint, cents: bigint, { currency, perAr, usdPerAr }: FiatPrices): boolean {
  const left = amount * 100n * usdPerAr.digits * 10n ** BigInt(perAr.scale);
  const right = cents * minorUnits(currency) * perAr.digits * 10n ** BigInt(usdPerAr.scale);
  return left > right;
}

/** The card provider takes at most eight digits. */
const PROVIDER_MAXIMUM = 99_000_000;

/**
 * What a card payment may be, per currency: the US dollar limits at current rates to two significant
 * digits, unless the round figures of the static table are within a tenth of that.
 */
export function limitsOf(prices: FiatPrices): CurrencyLimits {
  const { minimum, maximum, suggested, zeroDecimal } = currencyFacts[prices.currency];
  const { minimum: usdMinimum, maximum: usdMaximum } = currencyFacts.usd;
  const dynamicMinimum = twoDigits(fromCents(BigInt(usdMinimum), prices), Math.ceil);
  const dynamicMaximum = twoDigits(fromCents(BigInt(usdMaximum), prices), Math.floor);
  const min = isNear(dynamicMinimum, minimum) ? minimum : dynamicMinimum;
  const max = isNear(dynamicMaximum, maximum) ? maximum : Math.min(dynamicMaximum, PROVIDER_MAXIMUM);
  const fits = suggested.every((amount) => amount >= min && amount <= max);
  return {
    minimumPaymentAmount: min,
    maximumPaymentAmount: max,
    suggestedPaymentAmounts: fits ? suggested : [min, 2 * min, 4 * min],
    zeroDecimalCurrency: zeroDecimal,
  };
}

function twoDigits(amount: bigint, round: (value: number) => number): number {
  const digits = amount.toString().length;
  const step = 10 ** Math.max(0, digits - 2);
  return round(Number(amount) / step) * step;
}

const isNear = (dynamic: number, fixed: number): boolean => Math.abs(dynamic - fixed) * 10 <= fixed;
