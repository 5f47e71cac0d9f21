/**
 * What a card payment may be, per currency: the US dollar limits at current rates to two significant
 * digits, unless the round figures of the static table are within a tenth of that.
 */
import { currencyFacts } from '../currencies.ts';
import type { CurrencyLimits } from '../pricing.ts';
import { type FiatPrices, fromCents } from './fiat.ts';

/** The card provider takes at most eight digits. */
const PROVIDER_MAXIMUM = 99_000_000;

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
