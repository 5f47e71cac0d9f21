/**
 * Which waiting items go into the next bundle: the oldest first, as many as fit. A bundle is closed when it is full
 * or when its oldest item has waited long enough; an item larger than a bundle should be has one to itself.
 */
import { randomUUID } from 'node:crypto';
import { bundleCountBytes, bundleEntryBytes } from '../../formats/ans104/bundle-header.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import type { Transactions } from '../../storage/sql/lease.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { isNotHeldBack } from './after-restore.ts';
import { maxBackoffMs } from './bundle-rows.ts';

export interface PlanLimits {
  readonly maxItems: number;
  readonly targetBytes: number;
  readonly maxWaitMs: number;
}

/** The oldest waiting items with their place and running total. Values: of `isDue`, and how many items to consider. */
const waiting = `
  SELECT id, size, received_at,
    ROW_NUMBER() OVER (ORDER BY received_at, id) AS place,
    CAST(SUM(size) OVER (ORDER BY received_at, id) AS BIGINT) AS total
  FROM (SELECT id, size, received_at FROM upload_items
        WHERE state = 'new' AND ${isNotHeldBack} AND (not_before IS NULL OR ${isDue('not_before')})
        ORDER BY received_at, id LIMIT ?) AS oldest`;

/** Closes a bundle if there is one to close; answers its plan. */
export function planBundle(sql: Transactions, limits: PlanLimits, now: number): Promise<string | undefined> {
  return sql.transaction(async (tx) => {
    if (!(await isToClose(tx, limits, now))) return undefined;
    const plan = randomUUID();
    await tx.run(
      `WITH waiting AS (${waiting}),
       taken AS (SELECT id, size, place, total, COUNT(*) OVER () AS items FROM waiting
                 WHERE place = 1 OR total <= ?)
       UPDATE upload_items SET state = 'planned', bundle = ?, position = taken.place - 1,
         bundle_offset = ${bundleCountBytes} + ${bundleEntryBytes} * taken.items + taken.total - taken.size
       FROM taken WHERE upload_items.id = taken.id AND upload_items.state = 'new'`,
      ...dueBounds(now, maxBackoffMs),
      limits.maxItems,
      limits.targetBytes,
      plan,
    );
    const sums = await tx.get<{ items: number; bytes: number }>(
      'SELECT COUNT(*) AS items, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM upload_items WHERE bundle = ?',
      plan,
    );
    if (sums === undefined || sums.items === 0) return undefined;
    await tx.run(
      `INSERT INTO upload_bundles (plan, state, item_count, size, seedings, attempts, due_at, created_at, changed_at)
       VALUES (?, 'planned', ?, ?, 0, 0, ?, ?, ?)`,
      plan,
      sums.items,
      bundleCountBytes + bundleEntryBytes * sums.items + sums.bytes,
      now,
      now,
      now,
    );
    return plan;
  });
}

async function isToClose(tx: SqlExecutor, limits: PlanLimits, now: number): Promise<boolean> {
  const found = await tx.get<{ items: number; oldest: number | null; bytes: number | null }>(
    `SELECT COUNT(*) AS items, MIN(received_at) AS oldest, MAX(total) AS bytes FROM (${waiting}) AS waiting`,
    ...dueBounds(now, maxBackoffMs),
    limits.maxItems + 1,
  );
  if (found === undefined || found.oldest === null) return false;
  const isFull = found.items >= limits.maxItems || (found.bytes ?? 0) >= limits.targetBytes;
  // Taken in further ahead than anything waits: the clock was wrong then.
  return isFull || Math.abs(now - found.oldest) >= limits.maxWaitMs;
}

/** What is on its way to the chain, by the indexes that there are for it: cheap enough to be asked again and again. */
export async function countOnTheWay(sql: SqlExecutor): Promise<{ items: number; bundles: number }> {
  const fresh = await sql.get<{ items: number }>(
    "SELECT COUNT(*) AS items FROM upload_items WHERE state = 'new'",
  );
  const bundled = await sql.get<{ items: number | null; bundles: number }>(
    `SELECT SUM(item_count) AS items, COUNT(*) AS bundles
     FROM upload_bundles WHERE state <> 'permanent' AND state <> 'dropped'`,
  );
  return { items: (fresh?.items ?? 0) + Number(bundled?.items ?? 0), bundles: bundled?.bundles ?? 0 };
}

/** Items that should be permanent by this height and are not. */
export async function countOverdue(sql: SqlExecutor, height: number): Promise<number> {
  const counts = await sql.get<{ items: number }>(
    `SELECT COUNT(*) AS items FROM upload_items WHERE state IN ('new', 'planned') AND deadline_height < ?`,
    height,
  );
  return counts?.items ?? 0;
}
