/** What limited upload adjustments have spared each user: counted with the spending, forgotten with its refund. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { AppliedAdjustment } from '../pricing.ts';
import type { UploadAdjustment } from './rows.ts';

/** Called by the ledger in the transaction of the spending. */
export async function recordUploadUses(
  tx: SqlExecutor,
  spending: string,
  address: string,
  adjustments: readonly AppliedAdjustment[],
  now: number,
): Promise<void> {
  for (const { catalogueId, amount, limited } of adjustments) {
    if (limited !== true) continue;
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
    const uses = await sql.all<{ amount: string }>(
      'SELECT amount FROM pricing_upload_uses WHERE address = ? AND catalogue_id = ? AND used_at > ?',
      address,
      row.id,
      now - row.limitIntervalMs,
    );
    spared.set(
      row.id,
      uses.reduce((sum, use) => sum - BigInt(use.amount), 0n),
    );
  }
  return spared;
}
