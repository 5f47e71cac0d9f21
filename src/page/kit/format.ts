/** Values as people read them. Amounts are cut, not rounded up: nobody is shown more than there is. */
import { texts } from '../texts.ts';

export const WINC_PER_CREDIT = 10n ** 12n;
const creditDecimals = 12;
/** Below it a balance is told in winc: zeros say nothing. */
const smallestShownCredit = 10n ** 6n;

const { locale } = texts.kit;
const counts = new Intl.NumberFormat(locale);

/** Head and tail of an id, enough to tell two of them apart. */
export function shortId(id: string): string {
  return id.length <= 17 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`;
}

/** Characters that are not seen but turn the text around them or hide in it: file names are forged with them. */
const unseen = /[\p{Cc}\u061C\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu;

/** Text of strangers, bounded; what is cut off or taken out is shown to be. */
export function clampText(text: string, most = 200): string {
  const isCut = text.length > most;
  // A character outside the basic plane is two units, which must not be parted.
  const start = isCut ? text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '') : text;
  const shown = start.replace(unseen, (each) => (/[\n\t]/.test(each) ? each : '\uFFFD'));
  return isCut ? `${shown}…` : shown;
}

export const formatCount = (count: number | bigint): string => counts.format(count);

const byteUnits = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

export function formatBytes(bytes: number | bigint): string {
  let value = Number(bytes);
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) < 1024) return texts.kit.bytes(value);
  let unit = -1;
  // 1,023.95 KiB would be shown as 1,024 KiB.
  while (Math.abs(value) >= 1023.95 && unit < byteUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${number(value, value < 100 ? 1 : 0)} ${byteUnits[unit]}`;
}

export function formatCredits(winc: bigint): string {
  const size = winc < 0n ? -winc : winc;
  if (size !== 0n && size < smallestShownCredit) return `${counts.format(winc)} winc`;
  return winc === WINC_PER_CREDIT
    ? texts.kit.oneCredit
    : texts.kit.credits(formatDecimal(winc, creditDecimals));
}

export function formatCoin(amount: bigint, decimals: number, symbol: string): string {
  return `${formatDecimal(amount, decimals)} ${symbol}`;
}

/**
 * An integer amount of smallest units as a decimal number: four places from one upwards, four significant digits below
 * one.
 */
export function formatDecimal(amount: bigint, decimals: number): string {
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals === 0 ? '' : digits.slice(-decimals);
  const places = whole === '0' ? fraction.search(/[1-9]/) + 4 : 4;
  const shown = fraction.slice(0, places).replace(/0+$/, '');
  return `${sign}${counts.format(BigInt(whole))}${shown === '' ? '' : `.${shown}`}`;
}

export function formatDollars(dollars: number): string {
  if (!Number.isFinite(dollars)) return '–';
  const isSmall = dollars !== 0 && Math.abs(dollars) < 0.01;
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'USD',
    ...(isSmall ? { maximumSignificantDigits: 2 } : {}),
  }).format(dollars);
}

const times = new Intl.DateTimeFormat(locale, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
});

/** In the reader's own time zone. */
export function formatTime(at: number | Date): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? '–' : times.format(date);
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const agoUnits: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];
const oldestAgoMs = 30 * 86_400_000;

export function formatAgo(at: number | Date, now = Date.now()): string {
  const difference = new Date(at).getTime() - now;
  if (Number.isNaN(difference)) return '–';
  const size = Math.abs(difference);
  if (size < 2000) return texts.kit.justNow;
  if (size > oldestAgoMs) return formatTime(at);
  const [unit, ms] = agoUnits.find(([, each]) => size >= each) ?? ['second', 1000];
  return relative.format(Math.trunc(difference / ms), unit);
}

/** The two largest units of a span. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1000) return `${number(ms, ms < 10 ? 1 : 0)} ms`;
  if (ms < 60_000) return `${number(ms / 1000, 1)} s`;
  const seconds = Math.floor(ms / 1000);
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** An address of the web and nothing else: `javascript:` and `data:` are no places to go. */
export function safeHref(text: string): string | undefined {
  try {
    const url = new URL(text);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function number(value: number, places: number): string {
  return new Intl.NumberFormat(locale, { maximumFractionDigits: places }).format(value);
}
