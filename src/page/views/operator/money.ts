/** Amounts of payments as people read them: each currency and token has its own smallest unit. */
import { formatDecimal } from '../../kit/format.ts';

/** Places behind the point of tokens, as the payment service counts them (interface §3). */
const tokens: Readonly<Record<string, readonly [places: number, symbol: string]>> = {
  arweave: [12, 'AR'],
  ario: [6, 'ARIO'],
  'base-ario': [6, 'ARIO'],
  solana: [9, 'SOL'],
  ed25519: [9, 'SOL'],
  ethereum: [18, 'ETH'],
  'base-eth': [18, 'ETH'],
  kyve: [6, 'KYVE'],
  matic: [18, 'POL'],
  pol: [18, 'POL'],
  usdc: [6, 'USDC'],
  'base-usdc': [6, 'USDC'],
  'polygon-usdc': [6, 'USDC'],
};
/** Currencies without cents. */
const whole = new Set(['jpy', 'krw', 'vnd', 'clp']);

export function amountText(amount: string, currency: string): string {
  const name = currency.toLowerCase();
  if (!/^-?\d{1,60}$/.test(amount)) return `${amount} ${currency}`;
  const token = tokens[name];
  if (token !== undefined) return `${formatDecimal(BigInt(amount), token[0])} ${token[1]}`;
  if (!/^[a-z]{3}$/.test(name)) return `${amount} ${currency}`;
  const value = whole.has(name) ? Number(amount) : Number(amount) / 100;
  return new Intl.NumberFormat('en', { style: 'currency', currency: name.toUpperCase() }).format(value);
}
