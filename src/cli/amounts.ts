/** Winston in AR, and winc in credits: both have twelve decimals. */
const unitsPerWhole = 1_000_000_000_000n;

function withTwelveDecimals(units: bigint): string {
  const size = units < 0n ? -units : units;
  const part = (size % unitsPerWhole).toString().padStart(12, '0').replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${size / unitsPerWhole}${part === '' ? '' : `.${part}`}`;
}

export const inAr = withTwelveDecimals;
export const inCredits = withTwelveDecimals;
