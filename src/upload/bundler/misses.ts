/**
 * Items whose bytes are not there, or not those that were uploaded, when their bundle is read. Each try that misses the same of
 * their blobs is counted (`missing-blobs.ts`). Nothing else counts here: what a node, the wallet or the network did says nothing
 * about the bytes.
 */
import type { Credits } from '../../credits/credits.ts';
import { bundleCountBytes, bundleEntryBytes } from '../../formats/ans104/bundle-header.ts';
import { type Backoff, backoffMs } from '../../kernel/background/backoff.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import type { Transactions } from '../../storage/sql/lease.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { countMissOf } from '../items/missing-blobs.ts';
import { failItem, markDropped } from './endings.ts';

/** An item, and which of its blobs was missed. */
export interface Miss {
  readonly id: string;
  readonly blob: string;
}

/** A bundle without the items that were left out of it. */
export interface Remainder {
  /** Of those, the ones that were not found for the last time: they failed, and were paid back. */
  readonly lost: readonly string[];
  /** How many items are left; the bundle of none is dropped. */
  readonly items: number;
}

/**
 * Leaves items out of a bundle that is not signed yet, so that the others can go on at once. They wait for another bundle,
 * longer after each miss.
 */
export function leaveOut(
  sql: Transactions,
  credits: Credits,
  plan: string,
  missed: readonly Miss[],
  pause: Backoff,
  now: number,
): Promise<Remainder> {
  return sql.transaction(async (tx) => {
    const lost: string[] = [];
    for (const { id, blob } of missed) {
      const counted = await countMissOf(tx, blob, {
        table: 'upload_items',
        set: "state = 'new', bundle = NULL, position = NULL, bundle_offset = NULL,",
        where: "id = ? AND bundle = ? AND state = 'planned'",
        values: [id, plan],
      });
      if (counted === undefined) throw new Error(`${id} is not in bundle ${plan}`);
      const { misses, isLost } = counted;
      if (isLost) {
        await failItem(tx, credits, id, 'missing_from_object_store', now);
        lost.push(id);
      } else {
        const notBefore = Math.ceil(now + backoffMs(pause, misses));
        await changeOne(tx, 'UPDATE upload_items SET not_before = ? WHERE id = ?', notBefore, id);
      }
    }
    return { lost, items: await closeRanks(tx, plan, now) };
  });
}

/** Gives the items that are left their new places; answers how many. */
async function closeRanks(tx: SqlExecutor, plan: string, now: number): Promise<number> {
  await tx.run(
    `WITH kept AS (
       SELECT id, ROW_NUMBER() OVER (ORDER BY position) AS place, COUNT(*) OVER () AS items,
         CAST(SUM(size) OVER (ORDER BY position) AS BIGINT) AS total
       FROM upload_items WHERE bundle = ?)
     UPDATE upload_items SET position = kept.place - 1,
       bundle_offset = ${bundleCountBytes} + ${bundleEntryBytes} * kept.items + kept.total - upload_items.size
     FROM kept WHERE upload_items.id = kept.id`,
    plan,
  );
  const kept = await tx.get<{ items: number; bytes: number }>(
    'SELECT COUNT(*) AS items, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM upload_items WHERE bundle = ?',
    plan,
  );
  const { items = 0, bytes = 0 } = kept ?? {};
  if (items === 0) {
    await markDropped(tx, plan, now);
    return 0;
  }
  await changeOne(
    tx,
    "UPDATE upload_bundles SET item_count = ?, size = ?, changed_at = ? WHERE plan = ? AND state = 'planned'",
    items,
    bundleCountBytes + bundleEntryBytes * items + bytes,
    now,
    plan,
  );
  return items;
}

/**
 * Counts that the bytes of an item of a bundle that is signed, and cannot do without it, were not there; answers whether
 * they are lost. What lies before it was read.
 */
export function countMiss(sql: Transactions, plan: string, { id, blob }: Miss): Promise<boolean> {
  return sql.transaction(async (tx) => {
    await tx.run(
      `UPDATE upload_items SET misses = 0 WHERE bundle = ? AND misses > 0
         AND position < (SELECT position FROM upload_items WHERE id = ? AND bundle = ?)`,
      plan,
      id,
      plan,
    );
    const counted = await countMissOf(tx, blob, {
      table: 'upload_items',
      where: 'id = ? AND bundle = ?',
      values: [id, plan],
    });
    return counted?.isLost ?? false;
  });
}

/** All bytes of a bundle were read. */
export function forgetMisses(sql: Transactions, plan: string): Promise<number> {
  return sql.transaction((tx) =>
    tx.run('UPDATE upload_items SET misses = 0 WHERE bundle = ? AND misses > 0', plan),
  );
}
