/**
 * What a wallet lacks for what it wants: every 402 that credits would settle says it, in words for people, in fields and
 * headers for programs, with where more can be bought.
 */
import type { Credits, Winc } from './credits.ts';

export interface Lack {
  /** What is asked for it, winc. */
  readonly price: bigint;
  /** What the wallet has of its own; one that owes has nothing. */
  readonly balance: bigint;
  readonly missing: bigint;
  /** A page on which the wallet can be topped up. */
  readonly topUp?: string | undefined;
}

/** Where a wallet can be topped up; undefined where nobody knows. */
export type TopUpPage = (address: string) => string | undefined;

export async function lackOf(
  credits: Pick<Credits, 'balance'>,
  address: string,
  price: Winc,
  topUpPage?: TopUpPage,
): Promise<Lack> {
  const own: bigint = (await credits.balance(address))?.winc ?? 0n;
  const balance = own < 0n ? 0n : own;
  // Credits may have come since: nothing is missing then, and asking again helps.
  const missing = price > balance ? price - balance : 0n;
  return { price, balance, missing, topUp: topUpPage?.(address) };
}

export function lackFields({ price, balance, missing, topUp }: Lack): Record<string, string> {
  const amounts = { price: `${price}`, balance: `${balance}`, missing: `${missing}` };
  return topUp === undefined ? amounts : { ...amounts, topUp };
}

/** To go behind the contract's words, which stay as they are. */
export function lackWords({ price, balance, missing, topUp }: Lack): string {
  const amounts = `it costs ${price} winc, the wallet has ${balance}, ${missing} are missing`;
  return topUp === undefined ? amounts : `${amounts}; to top up: ${topUp}`;
}

/** Browsers may read them where they are named (`access-control-expose-headers`). */
export const lackHeaderNames = ['x-price-winc', 'x-balance-winc', 'x-missing-winc', 'link'] as const;

/** `rel="payment"`: where a resource can be paid for (IANA's list of link relations). */
export function lackHeaders({ price, balance, missing, topUp }: Lack): Record<string, string> {
  return {
    'x-price-winc': `${price}`,
    'x-balance-winc': `${balance}`,
    'x-missing-winc': `${missing}`,
    ...(topUp === undefined ? {} : { link: `<${topUp}>; rel="payment"` }),
  };
}
