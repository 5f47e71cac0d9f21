/** Rates from configuration: the program runs with no outside network. */
import { StartupError } from '../../kernel/errors.ts';
import type { RateSource } from '../pricing.ts';
import { type RawRates, rateTable } from './table.ts';

export function staticRates(raw: RawRates): RateSource {
  try {
    rateTable(raw, 0); // A table that lacks a currency of AR stops the start, not a request.
  } catch (error) {
    throw new StartupError(`STATIC_RATES: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { fetch: async () => rateTable(raw, Date.now()) };
}
