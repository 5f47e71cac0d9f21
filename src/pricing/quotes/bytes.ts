/**
 * Bytes to winc: the network's price of 10 GiB in proportion, never rounded to chunks; then the upload
 * adjustments; then a surcharge per item that no adjustment touches.
 */
import { type Decimal, divide, scaled } from '../decimal.ts';
import type { AppliedAdjustment } from '../pricing.ts';
import { WINC_PER_CREDIT } from '../units.ts';
import { type Adjusted, type AdjustmentRow, applied, atLeastZero, multiplied } from './adjust.ts';

/** The size the network is asked the price of. */
export const REFERENCE_BYTES = 10_737_418_240;

export interface UploadRow extends AdjustmentRow {
  /** The row is skipped above this size; 0 = for every size. */
  readonly byteCountThreshold: number;
  /** Most winc one user may be spared within the interval; 0 = no limit. */
  readonly wincLimitation: bigint;
}

export const networkPrice = (referencePrice: bigint, bytes: number): bigint =>
  divide(referencePrice * BigInt(bytes), BigInt(REFERENCE_BYTES), 'up');

/** The price of one item as such, given in US dollars. */
export const itemSurcharge = (usdPerItem: Decimal, usdPerAr: Decimal): bigint =>
  scaled(WINC_PER_CREDIT, [usdPerItem], [usdPerAr], 'up');

/**
 * Applies the rows in their order. `spared` says how much a limited row has spared the user already (as the
 * negative sum of its amounts); without a user there is none and limited rows are skipped.
 */
export function adjustUpload(
  price: bigint,
  bytes: number,
  rows: readonly UploadRow[],
  spared?: ReadonlyMap<string, bigint>,
): Adjusted {
  const list: AppliedAdjustment[] = [];
  let amount = price;
  for (const row of rows) {
    if (amount === 0n) break;
    if (row.byteCountThreshold > 0 && bytes > row.byteCountThreshold) continue;
    const after = atLeastZero(
      row.operator === 'multiply'
        ? multiplied(amount, row, 'down')
        : amount + scaled(1n, [row.magnitude], [], 'down'),
    );
    const change = after - amount;
    if (row.wincLimitation > 0n) {
      const before = spared?.get(row.id);
      if (before === undefined || before - change > row.wincLimitation) continue;
      list.push({ ...applied(row, change), limited: true });
    } else {
      list.push(applied(row, change));
    }
    amount = after;
  }
  return { amount, applied: list };
}
