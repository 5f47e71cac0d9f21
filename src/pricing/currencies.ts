/** What is fixed about each currency: limits that hold while the dynamic ones stay near them. */
import { asciiLowerCase } from '../formats/ascii-case.ts';
import { type Currency, currencies } from './pricing.ts';

interface CurrencyFacts {
  readonly minimum: number;
  readonly maximum: number;
  readonly suggested: readonly [number, number, number];
  /** The card provider charges no less than this. */
  readonly providerMinimum: number;
  /** Minor units are the major ones. */
  readonly zeroDecimal: boolean;
}

const facts = (
  minimum: number,
  maximum: number,
  suggested: readonly [number, number, number],
  providerMinimum: number,
  zeroDecimal = false,
): CurrencyFacts => ({ minimum, maximum, suggested, providerMinimum, zeroDecimal });

export const currencyFacts: Readonly<Record<Currency, CurrencyFacts>> = {
  aud: facts(7_500, 1_500_000, [2_500, 7_500, 15_000], 50),
  brl: facts(2_500, 1_000_000, [12_500, 25_000, 50_000], 50),
  cad: facts(500, 1_000_000, [2_500, 5_000, 10_000], 50),
  eur: facts(500, 1_000_000, [2_500, 5_000, 10_000], 50),
  gbp: facts(500, 1_000_000, [2_000, 4_000, 8_000], 30),
  hkd: facts(5_000, 10_000_000, [20_000, 40_000, 80_000], 400),
  inr: facts(50_000, 90_000_000, [200_000, 400_000, 800_000], 1_000),
  jpy: facts(750, 1_500_000, [3_500, 6_500, 15_000], 120, true),
  sgd: facts(750, 1_500_000, [2_500, 7_500, 15_000], 50),
  usd: facts(500, 1_000_000, [2_500, 5_000, 10_000], 50),
};

/** Any letter case; undefined for a code that is not charged. */
export function parseCurrency(code: string): Currency | undefined {
  const lower = asciiLowerCase(code);
  return currencies.find((known) => known === lower);
}

/** Minor units in one major unit. */
export const minorUnits = (currency: Currency): bigint => (currencyFacts[currency].zeroDecimal ? 1n : 100n);
