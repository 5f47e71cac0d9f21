/**
 * What becomes of a bundle's items: they are on their way, permanent, wait again, or fail for good and are paid back.
 * Local copies of permanent items are deleted after a while.
 */
import type { Credits } from '../../credits/credits.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import type { Transactions } from '../../storage/sql/lease.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { dropBlobs } from '../items/blob-uses.ts';
import { tellBundle, tellFailed } from '../items/notices.ts';
import { parseSegments } from '../items/segments.ts';
import type { BundleRow } from './bundle-rows.ts';
import type { Mined } from './confirm.ts';

/** Bundles an item may be dropped with before it is given up. */
const maxFailures = 10;
const deletedAtOnce = 200;

/** A node has its transaction. Its items are told of it once, also when it is posted again. */
export function markPosted(
  sql: Transactions,
  { plan, state, tx_id }: Pick<BundleRow, 'plan' | 'state' | 'tx_id'>,
  now: number,
): Promise<void> {
  return sql.transaction(async (tx) => {
    await changeOne(
      tx,
      `UPDATE upload_bundles SET state = 'posted', attempts = 0, posted_at = ? WHERE plan = ? AND state = ?`,
      now,
      plan,
      state,
    );
    const untold = await tx.run(
      `UPDATE upload_bundles SET told_tx_id = tx_id
       WHERE plan = ? AND (told_tx_id IS NULL OR told_tx_id <> tx_id)`,
      plan,
    );
    if (untold === 1) await tellBundle(tx, 'upload.bundled', plan, { bundle: tx_id }, now);
  });
}

/** `lookAt`: when it is looked at again; undefined where bundles are not watched. */
export function makePermanent(
  sql: Transactions,
  plan: string,
  { blockHeight, confirmations }: Mined,
  now: number,
  lookAt: number | undefined = undefined,
): Promise<void> {
  return sql.transaction(async (tx) => {
    const bundle = await tx.get<{ tx_id: string | null }>(
      `UPDATE upload_bundles SET state = 'permanent', block_height = ?, confirmations = ?, changed_at = ?,
         look_at = ?
       WHERE plan = ? RETURNING tx_id`,
      blockHeight,
      confirmations,
      now,
      lookAt ?? null,
      plan,
    );
    if (bundle === undefined) throw new Error(`there is no bundle ${plan}`);
    await tx.run(
      `UPDATE upload_items SET state = 'permanent', permanent_at = ? WHERE bundle = ? AND state = 'planned'`,
      now,
      plan,
    );
    await tellBundle(tx, 'upload.permanent', plan, { bundle: bundle.tx_id, blockHeight }, now);
  });
}

/** The bundle is gone: its items wait for another. Those dropped too often fail, and their credits return. */
export function dropBundle(sql: Transactions, credits: Credits, plan: string, now: number): Promise<void> {
  return sql.transaction(async (tx) => {
    await markDropped(tx, plan, now);
    const hopeless = await tx.all<{ id: string }>(
      `SELECT id FROM upload_items WHERE bundle = ? AND state = 'planned' AND failures >= ?`,
      plan,
      maxFailures,
    );
    for (const { id } of hopeless) await failItem(tx, credits, id, 'too_many_failures', now);
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
    await failItem(tx, credits, id, 'missing_from_object_store', now);
    await markDropped(tx, plan, now);
    await tx.run(
      `UPDATE upload_items SET state = 'new', bundle = NULL, position = NULL, bundle_offset = NULL
       WHERE bundle = ? AND state = 'planned'`,
      plan,
    );
  });
}

/** An item is given up: what was paid for it returns, and its wallets are told. */
export async function failItem(
  tx: SqlExecutor,
  credits: Credits,
  id: string,
  reason: string,
  now: number,
): Promise<void> {
  const failed = await tx.get<{ signer: string }>(
    `UPDATE upload_items SET state = 'failed', failed_reason = ?, bundle = NULL, position = NULL,
       bundle_offset = NULL WHERE id = ? RETURNING signer`,
    reason,
    id,
  );
  if (failed === undefined) throw new Error(`there is no item ${id} to give up`);
  const refund = await credits.within(tx).refund('upload', id);
  await tellFailed(tx, { id, signer: failed.signer, reason }, refund, now);
}

export function markDropped(tx: SqlExecutor, plan: string, now: number): Promise<void> {
  return changeOne(
    tx,
    `UPDATE upload_bundles SET state = 'dropped', changed_at = ? WHERE plan = ?`,
    now,
    plan,
  );
}

/** Deletes local copies of items that have been permanent for long enough, and need not be mended; answers how many. */
export async function deleteLocalCopies(sql: Sql, retentionMs: number, now: number): Promise<number> {
  const rows = await sql.all<{ id: string; segments: string | null }>(
    `SELECT id, segments FROM upload_items WHERE permanent_at IS NOT NULL AND held = 1 AND permanent_at <= ?
       AND NOT EXISTS (SELECT 1 FROM upload_bundles b WHERE b.plan = upload_items.bundle AND b.damage IS NOT NULL)
     ORDER BY permanent_at LIMIT ?`,
    now - retentionMs,
    deletedAtOnce,
  );
  for (const { id, segments } of rows) {
    await sql.transaction(async (tx) => {
      const changed = await tx.run(
        'UPDATE upload_items SET held = 0, segments = NULL WHERE id = ? AND held = 1',
        id,
      );
      if (changed === 0) return;
      await tx.run('DELETE FROM upload_heads WHERE id = ?', id);
      await dropBlobs(tx, parseSegments(segments), now);
    });
  }
  return rows.length;
}
