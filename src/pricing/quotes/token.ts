/** Tokens to winc: worth in AR first, rounded down, then the fees. */
import { type Decimal, scaled } from '../decimal.ts';
import { AmountTooSmall, type Token } from '../pricing.ts';
import { tokenFacts } from '../tokens.ts';
import { WINC_PER_CREDIT } from '../units.ts';
import { type Adjusted, type AdjustmentRow, applyRows, atLeastZero, multiplied } from './adjust.ts';

/** Winc that base units of a token are worth. Winston are winc; the rest goes by the dollar prices. */
export function wincOfToken(
  amount: bigint,
  token: Token,
  {
    usdPerToken,
    usdPerAr,
  }: { readonly usdPerToken?: Decimal | undefined; readonly usdPerAr?: Decimal | undefined },
): bigint {
  if (token === 'arweave') return amount;
  if (usdPerToken === undefined || usdPerAr === undefined) throw new Error(`${token} is priced in dollars`);
  const base = { digits: 10n ** BigInt(tokenFacts[token].exponent), scale: 0 };
  const worth = scaled(amount * WINC_PER_CREDIT, [usdPerToken], [base, usdPerAr], 'down');
  if (worth < 1n) {
    throw new AmountTooSmall(
      'Crypto payment amount is too small! Token value must convert to at least one winc',
    );
  }
  return worth;
}

/** US dollars with six decimals, as payment history shows them. */
export function usdOfToken(amount: bigint, token: Token, usdPerToken: Decimal): string {
  const base = { digits: 10n ** BigInt(tokenFacts[token].exponent), scale: 0 };
  const micro = scaled(amount * 1_000_000n, [usdPerToken], [base], 'half-up')
    .toString()
    .padStart(7, '0');
  return `${micro.slice(0, -6)}.${micro.slice(-6)}`;
}

/** Inclusive rows on winc: `multiply` rounds down, the magnitude of an `add` is in US cents and needs the price of AR. */
export function chargeTokenFees(
  amount: bigint,
  rows: readonly AdjustmentRow[],
  usdPerAr: Decimal | undefined,
): Adjusted {
  return applyRows(amount, rows, (current, row) => {
    if (row.operator === 'multiply') return atLeastZero(multiplied(current, row, 'down'));
    if (usdPerAr === undefined) throw new Error('a fee in cents needs the price of AR');
    const cents = scaled(WINC_PER_CREDIT, [row.magnitude], [usdPerAr, { digits: 100n, scale: 0 }], 'down');
    return atLeastZero(current + cents);
  });
}

/** Dollars per whole USDC atom count: x402 takes a USDC for a dollar. */
const ATOMS_PER_DOLLAR = 1_000_000n;

/** Winc that atomic USDC buys after the multiplying fees, rounded down. */
export const wincOfUsdc = (amount: bigint, fees: readonly Decimal[], usdPerAr: Decimal): bigint =>
  scaled(amount * (WINC_PER_CREDIT / ATOMS_PER_DOLLAR), fees, [usdPerAr], 'down');

/** Atomic USDC that buys so much winc after the multiplying fees, rounded up. */
export const usdcOfWinc = (amount: bigint, fees: readonly Decimal[], usdPerAr: Decimal): bigint =>
  scaled(amount, [usdPerAr], [...fees, { digits: WINC_PER_CREDIT / ATOMS_PER_DOLLAR, scale: 0 }], 'up');
