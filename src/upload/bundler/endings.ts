/** How a bundle ends: its items are permanent, or go back to wait, or fail for good and are paid back. */
import type { Credits } from '../../credits/credits.ts';
import type { Transactions } from '../../storage/sql/lease.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';

/** Bundles an item may be dropped with before it is given up. */
const maxFailures = 10;

export function makePermanent(
  sql: Transactions,
  plan: string,
  blockHeight: number,
  now: number,
): Promise<void> {
  return sql.transaction(async (tx) => {
    await tx.run(
      `UPDATE upload_bundles SET state = 'permanent', block_height = ?, changed_at = ? WHERE plan = ?`,
      blockHeight,
      now,
      plan,
    );
    await tx.run(
      `UPDATE upload_items SET state = 'permanent', permanent_at = ? WHERE bundle = ? AND state = 'planned'`,
      now,
      plan,
    );
  });
}

/** The bundle is gone: its items wait for another. Those dropped too often fail, and their credits return. */
export function dropBundle(sql: Transactions, credits: Credits, plan: string, now: number): Promise<void> {
  return sql.transaction(async (tx) => {
    await tx.run(`UPDATE upload_bundles SET state = 'dropped', changed_at = ? WHERE plan = ?`, now, plan);
    const hopeless = await tx.all<{ id: string }>(
      `SELECT id FROM upload_items WHERE bundle = ? AND state = 'planned' AND failures >= ?`,
      plan,
      maxFailures,
    );
    for (const { id } of hopeless) await failItem(tx, credits, id, 'too_many_failures');
    await tx.run(
      `UPDATE upload_items SET state = 'new', bundle = NULL, position = NULL, bundle_offset = NULL,
         failures = failures + 1 WHERE bundle = ? AND state = 'planned'`,
      plan,
    );
  });
}

/** An item without its bytes cannot be bundled: it fails, and the others wait for another bundle. */
export function dropLostItem(
  sql: Transactions,
  credits: Credits,
  plan: string,
  id: string,
  now: number,
): Promise<void> {
  return sql.transaction(async (tx) => {
    await failItem(tx, credits, id, 'missing_from_object_store');
    await tx.run(`UPDATE upload_bundles SET state = 'dropped', changed_at = ? WHERE plan = ?`, now, plan);
    await tx.run(
      `UPDATE upload_items SET state = 'new', bundle = NULL, position = NULL, bundle_offset = NULL
       WHERE bundle = ? AND state = 'planned'`,
      plan,
    );
  });
}

async function failItem(tx: SqlExecutor, credits: Credits, id: string, reason: string): Promise<void> {
  await tx.run(
    `UPDATE upload_items SET state = 'failed', failed_reason = ?, bundle = NULL, position = NULL,
       bundle_offset = NULL WHERE id = ?`,
    reason,
    id,
  );
  await credits.within(tx).refund('upload', id);
}
