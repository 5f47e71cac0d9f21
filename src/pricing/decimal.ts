/**
 * Exact decimals: an integer and how many of its digits stand after the point. Rates and magnitudes come as
 * decimal text and stay exact; a quotient is only ever taken as an integer with its rounding named.
 */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/** Reads `12`, `0.766`, `-3.5`, and, as JSON numbers have it, `1e-7`. Undefined for anything else or too long. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = /^(-?)([0-9]{1,40})(?:\.([0-9]{1,40}))?(?:[eE]([+-]?[0-9]{1,3}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', part = '', exponent = '0'] = match;
  const scale = part.length - Number(exponent);
  if (Math.abs(scale) > 100) return undefined;
  const digits = BigInt(`${sign}${whole}${part}`);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

/** For literals in code, where a mistake is a bug. */
export function decimal(text: string): Decimal {
  const parsed = parseDecimal(text);
  if (parsed === undefined) throw new Error(`not a decimal: ${text}`);
  return parsed;
}

export const isPositive = (value: Decimal): boolean => value.digits > 0n;

/** For display only. */
export const toNumber = (value: Decimal): number => Number(toText(value));

export function toText({ digits, scale }: Decimal): string {
  const sign = digits < 0n ? '-' : '';
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  return scale === 0 ? sign + text : `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

type Rounding = 'down' | 'up' | 'half-up';

/** numerator ÷ denominator as an integer; `down` and `up` are towards −∞ and +∞, a half goes up. */
export function divide(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  if (denominator === 0n) throw new Error('division by zero');
  const [n, d] = denominator < 0n ? [-numerator, -denominator] : [numerator, denominator];
  if (rounding === 'half-up') return floorDivide(2n * n + d, 2n * d);
  return rounding === 'down' ? floorDivide(n, d) : -floorDivide(-n, d);
}

function floorDivide(n: bigint, d: bigint): bigint {
  const quotient = n / d;
  return n % d < 0n ? quotient - 1n : quotient;
}

/** a × Π multipliers ÷ Π divisors as an integer, exact until the one rounding at the end. */
export function scaled(
  amount: bigint,
  multipliers: readonly Decimal[],
  divisors: readonly Decimal[],
  rounding: Rounding,
): bigint {
  let numerator = amount;
  let denominator = 1n;
  for (const { digits, scale } of multipliers) {
    numerator *= digits;
    denominator *= 10n ** BigInt(scale);
  }
  for (const { digits, scale } of divisors) {
    denominator *= digits;
    numerator *= 10n ** BigInt(scale);
  }
  return divide(numerator, denominator, rounding);
}
