/** The money of the local network, and what of it a faucet gives at once. */
import { parseDecimal, toText } from '../../pricing/decimal.ts';
import type { AddressKind } from '../../wallets/address.ts';

interface Coin {
  /** As people write it. */
  readonly label: string;
  readonly decimals: number;
  /** Who can have it; undefined: every kind of address. */
  readonly holder: AddressKind | undefined;
  /** Whole coins, at once. */
  readonly most: bigint;
}

export const coins = {
  ar: { label: 'AR', decimals: 12, holder: 'arweave', most: 1_000_000_000n },
  sol: { label: 'SOL', decimals: 9, holder: 'solana', most: 1_000_000n },
  ario: { label: 'ARIO', decimals: 6, holder: 'solana', most: 1_000_000_000n },
  usdc: { label: 'USDC', decimals: 6, holder: 'ethereum', most: 1_000_000_000n },
  credits: { label: 'credits', decimals: 12, holder: undefined, most: 1_000_000n },
} as const satisfies Readonly<Record<string, Coin>>;

export type CoinName = keyof typeof coins;

export const coinNames = Object.keys(coins) as readonly CoinName[];

/** In any case: people write AR and ar. */
export function parseCoin(text: string): CoinName | undefined {
  return coinNames.find((name) => name === text.toLowerCase());
}

/** An amount such as `0.25` in the coin's smallest unit; a sentence about what is wrong with it. */
export function unitsOf(coin: CoinName, text: string): bigint | string {
  const { label, decimals, most } = coins[coin];
  const amount = text.length > 64 ? undefined : parseDecimal(text);
  if (amount === undefined || amount.digits <= 0n) return `the amount is in ${label}, for example 1 or 0.25`;
  const shift = decimals - amount.scale;
  const units = shift >= 0 ? amount.digits * 10n ** BigInt(shift) : amount.digits / 10n ** BigInt(-shift);
  if (shift < 0 && units * 10n ** BigInt(-shift) !== amount.digits) {
    return `${label} has ${decimals} decimals`;
  }
  if (units > most * 10n ** BigInt(decimals)) return `at most ${most} ${label} are given at once`;
  return units;
}

/** Units as text in whole coins. */
export function inCoins(coin: CoinName, units: bigint): string {
  return toText({ digits: units, scale: coins[coin].decimals }).replace(/\.?0+$/, '');
}
