/** A rate table from plain numbers or decimal text, as configuration and HTTP sources have them. */
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { type Decimal, isPositive, parseDecimal } from '../decimal.ts';
import {
  type Currency,
  currencies,
  OracleUnavailable,
  type RateSource,
  type RateTable,
  type Token,
  tokens,
} from '../pricing.ts';
import { tokenFacts } from '../tokens.ts';

/** Rate id of the source -> currency -> price of one whole token. */
export type RawRates = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Throws when a currency of AR is missing: such an answer is no answer. */
export function rateTable(raw: RawRates, at: number): RateTable {
  const prices = new Map<string, Decimal>();
  for (const id of new Set(tokens.map((token) => tokenFacts[token].rateId))) {
    for (const currency of currencies) {
      const price = readPrice(raw[id]?.[currency]);
      if (price !== undefined) prices.set(`${id} ${currency}`, price);
    }
  }
  const missing = currencies.filter((currency) => !prices.has(`arweave ${currency}`));
  if (missing.length > 0) throw new Error(`no price of AR in ${missing.join(', ')}`);
  return {
    at,
    price(token: Token, currency: Currency): Decimal {
      const price = prices.get(`${tokenFacts[token].rateId} ${currency}`);
      if (price === undefined) throw new OracleUnavailable('rates', 60);
      return price;
    },
  };
}

function readPrice(value: unknown): Decimal | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const price = parseDecimal(String(value));
  return price !== undefined && isPositive(price) ? price : undefined;
}

/** Rates from configuration: the program runs with no outside network. */
export function staticRates(raw: RawRates): RateSource {
  try {
    rateTable(raw, 0); // A table that lacks a currency of AR stops the start, not a request.
  } catch (error) {
    throw new StartupError(`STATIC_RATES: ${messageOf(error)}`);
  }
  return { fetch: async () => rateTable(raw, Date.now()) };
}
