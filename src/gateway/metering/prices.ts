/** What bytes cost, in millionths of a dollar, and how many tokens a payment buys. */
export interface EgressPrices {
  /** Millionths of a dollar per 10^9 bytes. */
  readonly perGigabyte: bigint;
  readonly least: bigint;
  readonly most: bigint;
  /** Tokens bought for one that is needed now. */
  readonly multiplier: number;
}

export const tokenBytes = 1_024;
const gigabyte = 1_000_000_000n;
/** Prices are whole tenths of a cent. */
const step = 1_000n;

/** One token at least: also an answer without a body is work. */
export function costOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / tokenBytes));
}

export function priceOf(bytes: number, prices: EgressPrices): bigint {
  const exact = BigInt(bytes) * prices.perGigabyte;
  const rounded = ((exact + (gigabyte * step) / 2n) / (gigabyte * step)) * step;
  if (rounded < prices.least) return prices.least;
  return rounded > prices.most ? prices.most : rounded;
}

/** By what was asked for or by what was paid, whichever is more. */
export function tokensFor(paid: bigint, bytes: number, prices: EgressPrices): number {
  const byPayment =
    prices.perGigabyte === 0n ? 0n : (paid * gigabyte) / prices.perGigabyte / BigInt(tokenBytes);
  return Math.max(costOf(bytes), Number(byPayment)) * prices.multiplier;
}
