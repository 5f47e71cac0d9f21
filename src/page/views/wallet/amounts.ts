/** Amounts as people write them, and back. */

/** `0.25` in the smallest unit; undefined for what is no amount above zero or has more decimals than there are. */
export function parseAmount(text: string, decimals: number): bigint | undefined {
  const match = /^([0-9]{1,20})(?:[.]([0-9]{0,24}))?$/.exec(text.trim().replace(/^[.]/, '0.'));
  if (match === null) return undefined;
  const [, whole = '', part = ''] = match;
  const digits = part.replace(/0+$/, '');
  if (digits.length > decimals) return undefined;
  const amount = BigInt(whole + digits.padEnd(decimals, '0'));
  return amount > 0n ? amount : undefined;
}

/** How many bytes so many winc store, at the price of a gibibyte. */
export function bytesFor(winc: bigint, wincPerGibibyte: number): bigint {
  const price = BigInt(Math.max(1, Math.round(wincPerGibibyte)));
  return (winc * 2n ** 30n) / price;
}

/** What so many winc are worth, at the price of a gibibyte in both. */
export function worthOf(
  winc: bigint,
  { winc: wincPerGibibyte, fiat }: PriceOfGibibyte,
  currency = 'usd',
): number {
  const price = fiat[currency] ?? 0;
  return wincPerGibibyte > 0 ? (Number(winc) / wincPerGibibyte) * price : 0;
}

interface PriceOfGibibyte {
  readonly winc: number;
  readonly fiat: Readonly<Record<string, number>>;
}

/** An amount in a currency's smallest unit, as people write it. */
export function formatMoney(amount: number, currency: string, hasDecimals: boolean): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency: currency.toUpperCase() }).format(
    hasDecimals ? amount / 100 : amount,
  );
}

/** By the form alone; the service decides. */
export function addressKind(text: string): 'arweave' | 'ethereum' | 'solana' | undefined {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return 'ethereum';
  if (/^[A-Za-z0-9_-]{43}$/.test(text) && !/^[1-9A-HJ-NP-Za-km-z]{43}$/.test(text)) return 'arweave';
  if (/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return 'solana';
  return undefined;
}
