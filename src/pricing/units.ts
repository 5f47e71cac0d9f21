/** Amounts that must not be mixed up. All are integers; arithmetic on one answers a plain bigint again. */
declare const unit: unique symbol;

/** Winston credits, the currency of the ledger: one buys what one winston of storage costs. */
export type Winc = bigint & { readonly [unit]: 'winc' };

/** One credit as people count them. */
export const WINC_PER_CREDIT = 1_000_000_000_000n;

/** The one place that makes a `Winc` of a number known to be one. */
export const winc = (amount: bigint): Winc => amount as Winc;

/** Largest single amount the ledger moves; columns of 40 digits hold thousands of them. */
export const MAX_WINC = 10n ** 36n;

/** Reads decimal digits as they stand: no sign, point, exponent, spaces or leading zeros. */
export function parseAmount(text: string): bigint | undefined {
  return /^(0|[1-9][0-9]{0,38})$/.test(text) ? BigInt(text) : undefined;
}
