/** Winston in AR, and winc in credits: both have twelve decimals. */
import { toText } from '../pricing/decimal.ts';

const withTwelveDecimals = (units: bigint): string =>
  toText({ digits: units, scale: 12 }).replace(/\.?0+$/, '');

export const inAr = withTwelveDecimals;
export const inCredits = withTwelveDecimals;
