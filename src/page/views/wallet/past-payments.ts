/** A payment of the service's list in words, and the list as a chart. */
import { formatCoin } from '../../kit/format.ts';
import type { PastPayment } from '../../services/payment.ts';
import { tokenFacts } from '../../services/tokens.ts';
import { texts } from '../../texts.ts';
import { formatMoney } from './amounts.ts';

export interface DescribedPayment {
  readonly how: string;
  readonly paid: string;
  readonly reference: string | undefined;
}

export function describePayment(payment: PastPayment): DescribedPayment {
  const words = texts.wallet.history;
  const text = (name: string): string | undefined => {
    const value = payment[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  if (payment.type === 'fiat') {
    const currency = text('currencyType');
    const amount = Number(text('paymentAmount') ?? Number.NaN);
    const isKnown = currency !== undefined && /^[a-z]{3}$/i.test(currency) && Number.isFinite(amount);
    // The provider counts yen and a few others whole.
    const hasDecimals = currency?.toLowerCase() !== 'jpy';
    return {
      how: words.fiat,
      paid: isKnown ? formatMoney(amount, currency, hasDecimals) : '–',
      reference: text('receiptId'),
    };
  }
  const token = text('tokenType') ?? '';
  const facts = tokenFacts(token);
  const quantity = text('tokenQuantity') ?? '';
  const isCounted = facts !== undefined && /^[0-9]{1,40}$/.test(quantity);
  return {
    how: facts === undefined ? words.crypto(token) : words.crypto(facts.symbol),
    paid: isCounted ? formatCoin(BigInt(quantity), facts.decimals, facts.symbol) : '–',
    reference: text('transactionId'),
  };
}

const dayMs = 86_400_000;
const fewestDays = 30;
const mostDays = 400;

/** Credits by day up to today, the oldest first; days without any count too, unless they would be too many. */
export function creditsByDay(payments: readonly PastPayment[], now = Date.now()): [number, number][] {
  const days = new Map<number, bigint>();
  for (const { date, wincCredited } of payments) {
    const day = dayOf(Date.parse(date));
    if (!Number.isNaN(day)) days.set(day, (days.get(day) ?? 0n) + BigInt(wincCredited));
  }
  const last = dayOf(now);
  const first = Math.min(last - (fewestDays - 1) * dayMs, ...days.keys());
  const isLong = (last - first) / dayMs > mostDays;
  for (let day = first; day <= last && !isLong; day += dayMs) days.set(day, days.get(day) ?? 0n);
  return [...days].sort(([left], [right]) => left - right).map(([day, winc]) => [day, Number(winc) / 1e12]);
}

/** In UTC: every day is as long as the others. */
const dayOf = (at: number): number => Math.floor(at / dayMs) * dayMs;
