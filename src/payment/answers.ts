/** How answers are written: amounts as exact integers, caching said on each. */
import { lackHeaderNames } from '../credits/lack.ts';
import type { Reply } from '../kernel/http/app.ts';
import { WINC_PER_CREDIT } from '../pricing/pricing.ts';

declare global {
  interface JSON {
    /** ECMAScript "JSON.parse source text access": text that is put into the JSON as it stands. */
    rawJSON(text: string): object;
  }
}

/** Prices and rates change with the oracles, about once a minute. */
export const cacheMinute = 'public, max-age=60';
export const cacheHour = 'public, max-age=3600';
/** Whatever depends on a wallet or on who asks. */
export const neverCache = 'no-store';

/** Browsers may read the protocols' headers only where they are named. */
export const paymentCors = {
  methods: ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'],
  exposeHeaders: [
    'authorization',
    'x-payment-response',
    'payment-required',
    'payment-response',
    'retry-after',
    ...lackHeaderNames,
  ],
};

/** A bigint is a JSON number with all its digits: clients of the contract read numbers there. */
export function sendExact(reply: Reply, value: unknown, cacheControl: string): void {
  sendJsonText(reply, exactJson(value), cacheControl);
}

export function sendJsonText(reply: Reply, text: string, cacheControl: string): void {
  // Text that is said to be JSON goes out as it is.
  reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', cacheControl)
    .send(text);
}

/** `1.2256` for people: four places, rounded down. */
export function creditsText(amount: bigint): string {
  const tenThousandths = (amount * 10_000n) / WINC_PER_CREDIT;
  const text = tenThousandths.toString().padStart(5, '0');
  return `${text.slice(0, -4)}.${text.slice(-4)}`.replace(/\.?0+$/, '');
}

export function exactJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'bigint' ? JSON.rawJSON(member.toString()) : member,
  );
}
