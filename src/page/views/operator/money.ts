/** Amounts of payments as people read them: each currency and token has its own smallest unit. */
import { formatDecimal } from '../../kit/format.ts';
import { tokenFacts } from '../../services/tokens.ts';

/** Currencies without cents. */
const whole = new Set(['jpy', 'krw', 'vnd', 'clp']);

export function amountText(amount: string, currency: string): string {
  const name = currency.toLowerCase();
  if (!/^-?\d{1,60}$/.test(amount)) return `${amount} ${currency}`;
  const token = tokenFacts(name);
  if (token !== undefined) return `${formatDecimal(BigInt(amount), token.decimals)} ${token.symbol}`;
  if (!/^[a-z]{3}$/.test(name)) return `${amount} ${currency}`;
  const value = whole.has(name) ? Number(amount) : Number(amount) / 100;
  return new Intl.NumberFormat('en', { style: 'currency', currency: name.toUpperCase() }).format(value);
}
