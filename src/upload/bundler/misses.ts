/**
 * How often in a row the bytes of an item were not there when its bundle was read. Nothing else counts here: what a
 * node, the wallet or the network did says nothing about the bytes.
 */
import type { Transactions } from '../../storage/sql/lease.ts';

/** Counts a miss of an item and answers how many there are in a row. What lies before it was read. */
export function countMiss(sql: Transactions, plan: string, id: string): Promise<number> {
  return sql.transaction(async (tx) => {
    await tx.run(
      `UPDATE upload_items SET misses = 0 WHERE bundle = ? AND misses > 0
         AND position < (SELECT position FROM upload_items WHERE id = ? AND bundle = ?)`,
      plan,
      id,
      plan,
    );
    const missed = await tx.get<{ misses: number }>(
      'UPDATE upload_items SET misses = misses + 1 WHERE id = ? AND bundle = ? RETURNING misses',
      id,
      plan,
    );
    return missed?.misses ?? 0;
  });
}

/** All bytes of a bundle were read. */
export function forgetMisses(sql: Transactions, plan: string): Promise<number> {
  return sql.transaction((tx) =>
    tx.run('UPDATE upload_items SET misses = 0 WHERE bundle = ? AND misses > 0', plan),
  );
}
