/** Winston in AR, and winc in credits: both have twelve decimals. */
import { toText } from '../pricing/decimal.ts';

/** Of a decimal text, those at its end that say nothing. */
export const withoutZeros = (text: string): string =>
  text.includes('.') ? text.replace(/\.?0+$/, '') : text;

const withTwelveDecimals = (units: bigint): string => withoutZeros(toText({ digits: units, scale: 12 }));

export const inAr = withTwelveDecimals;
export const inCredits = withTwelveDecimals;

const byteUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1.5 MiB` */
export function inBytes(bytes: number): string {
  const step = Math.min(byteUnits.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  if (step === 0) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  return `${(bytes / 1024 ** step).toPrecision(3)} ${byteUnits[step]}`;
}
