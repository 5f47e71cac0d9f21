/**
 * How much payments have brought in all. Entries are only appended, so that what was summed once is not read again; the
 * newest are, because a transaction that began earlier may write its entry later.
 */
import { Type } from 'typebox';
import type { Sql } from '../../storage/sql/sql.ts';
import { amountText, rowReader } from '../../storage/sql/typed-rows.ts';

const pageSize = 5_000;
/** No transaction stays open for so long. */
const settledAfterMs = 10 * 60_000;

const readRow = rowReader(
  'a payment',
  Type.Object({ sequence: Type.Integer(), amount: amountText, created_at: Type.Integer() }),
);

export function createSold(sql: Sql, now: () => number): () => Promise<bigint> {
  let settled = { sequence: 0, sum: 0n };
  return async () => {
    const until = now() - settledAfterMs;
    let [sequence, sum, isSettled] = [settled.sequence, settled.sum, true];
    for (;;) {
      const rows = await sql.all(
        `SELECT sequence, amount, created_at FROM credits_entries
         WHERE sequence > ? AND payment IS NOT NULL ORDER BY sequence LIMIT ${pageSize}`,
        sequence,
      );
      for (const row of rows.map(readRow)) {
        sequence = row.sequence;
        sum += BigInt(row.amount);
        isSettled &&= row.created_at < until;
        if (isSettled) settled = { sequence, sum };
      }
      if (rows.length < pageSize) return sum;
    }
  };
}
