/** How one catalogue row changes an amount. */
import { type Decimal, scaled } from '../decimal.ts';
import type { AppliedAdjustment } from '../pricing.ts';

export type Operator = 'multiply' | 'add';

/** What every catalogue row has in common. */
export interface AdjustmentRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly operator: Operator;
  readonly magnitude: Decimal;
  /** As it was written, for answers. */
  readonly magnitudeText: string;
}

export interface Adjusted {
  readonly amount: bigint;
  readonly applied: readonly AppliedAdjustment[];
}

/** The row as an answer shows it. */
export function applied(row: AdjustmentRow, amount: bigint, promoCode?: string): AppliedAdjustment {
  const base = {
    catalogueId: row.id,
    name: row.name,
    description: row.description,
    operator: row.operator,
    operatorMagnitude: row.magnitudeText,
    amount,
  };
  return promoCode === undefined ? base : { ...base, promoCode };
}

/** amount × magnitude, rounded as the unit asks. */
export const multiplied = (
  amount: bigint,
  row: Pick<AdjustmentRow, 'magnitude'>,
  rounding: 'down' | 'half-up',
): bigint => scaled(amount, [row.magnitude], [], rounding);

export const atLeastZero = (amount: bigint): bigint => (amount < 0n ? 0n : amount);

/** Applies the rows in their order; `step` says what one makes of the amount. */
export function applyRows<R extends AdjustmentRow & { readonly promoCode?: string }>(
  amount: bigint,
  rows: readonly R[],
  step: (amount: bigint, row: R) => bigint,
): Adjusted {
  const list: AppliedAdjustment[] = [];
  let current = amount;
  for (const row of rows) {
    const after = step(current, row);
    list.push(applied(row, after - current, row.promoCode));
    current = after;
  }
  return { amount: current, applied: list };
}
