/** What limited upload adjustments have spared each user: counted with the spending, forgotten with its refund. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { AdjustmentUsedUp, type AppliedAdjustment } from '../pricing.ts';
import type { UploadAdjustment } from './rows.ts';

/**
 * Called by the ledger in the transaction of the spending. Quotes are made before it, and many at once: here, one
 * after the other by the row's lock, the limit is held. Throws `AdjustmentUsedUp`.
 */
export async function recordUploadUses(
  tx: SqlExecutor,
  spending: string,
  address: string,
  adjustments: readonly AppliedAdjustment[],
  now: number,
): Promise<void> {
  for (const { catalogueId, amount, limited } of adjustments) {
    if (limited !== true) continue;
    await holdLimit(tx, catalogueId, address, amount, now);
    await tx.run(
      `INSERT INTO pricing_upload_uses (spending, catalogue_id, address, amount, used_at)
       VALUES (?, ?, ?, ?, ?) ON CONFLICT (spending, catalogue_id) DO NOTHING`,
      spending,
      catalogueId,
      address,
      amount.toString(),
      now,
    );
  }
}

async function holdLimit(
  tx: SqlExecutor,
  catalogueId: string,
  address: string,
  amount: bigint,
  now: number,
): Promise<void> {
  const row = await tx.get<{ winc_limit: string; limit_interval_ms: number }>(
    `SELECT winc_limit, limit_interval_ms FROM pricing_catalogue WHERE id = ? ${tx.forUpdate}`,
    catalogueId,
  );
  if (row === undefined) throw new AdjustmentUsedUp(`${catalogueId} is gone`);
  const spared = await sparedOf(tx, catalogueId, address, now - row.limit_interval_ms);
  if (spared - amount > BigInt(row.winc_limit)) throw new AdjustmentUsedUp(`${catalogueId} is used up`);
}

/** Called by the ledger when the spending is refunded. */
export async function forgetUploadUses(tx: SqlExecutor, spending: string): Promise<void> {
  await tx.run('DELETE FROM pricing_upload_uses WHERE spending = ?', spending);
}

/** Row id -> winc spared within the row's interval. */
export async function sparedBy(
  sql: SqlExecutor,
  rows: readonly UploadAdjustment[],
  address: string,
  now: number,
): Promise<Map<string, bigint>> {
  const spared = new Map<string, bigint>();
  for (const row of rows) {
    if (row.wincLimitation === 0n) continue;
    spared.set(row.id, await sparedOf(sql, row.id, address, now - row.limitIntervalMs));
  }
  return spared;
}

async function sparedOf(
  sql: SqlExecutor,
  catalogueId: string,
  address: string,
  since: number,
): Promise<bigint> {
  const uses = await sql.all<{ amount: string }>(
    'SELECT amount FROM pricing_upload_uses WHERE address = ? AND catalogue_id = ? AND used_at > ?',
    address,
    catalogueId,
    since,
  );
  return uses.reduce((sum, use) => sum - BigInt(use.amount), 0n);
}
