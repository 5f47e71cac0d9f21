/** What a person may have to look at: payments that failed although our wallet may have been paid. */
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import {
  type ChainPaymentRow,
  FAILED_CHECKED_FOR_MS,
  failedThoughPaid,
  isFinal,
  moveRow,
  readRow,
} from './store.ts';

export function failedPayments(
  executor: SqlExecutor,
  limit: number,
  now: number,
): Promise<ChainPaymentRow[]> {
  return failedThoughPaid(executor, now - FAILED_CHECKED_FOR_MS, limit);
}

/**
 * Ends a failed payment for good, `chain:transaction`: it was never made, or its payer has been made good otherwise, and
 * it must not be credited when its chain shows it after all. False when there is no such payment to end.
 */
export async function voidPayment(sql: Sql, id: string): Promise<boolean> {
  const split = id.indexOf(':');
  if (split < 0) return false;
  return sql.transaction(async (tx) => {
    const row = await readRow(tx, id.slice(0, split), id.slice(split + 1));
    if (row === undefined || row.state !== 'failed' || isFinal(row)) return false;
    return moveRow(tx, row, { ...row, failure_reason: 'voided' });
  });
}
