/**
 * At which height the bundles stand that are not read, or not kept whole. Of those that are read and kept nothing is
 * told: their rows may have an old height. The conditions are those of the partial indexes, word for word.
 */
import type { SqlExecutor } from '../../storage/sql/sql.ts';

/**
 * Waits to be read, or could not be read so far. One whose bytes are no bundle lacks nothing. Written as one term, so
 * that no planner prefers the index of the queue.
 */
export const unreadBundles =
  "CASE state WHEN 'queued' THEN 1 WHEN 'running' THEN 1 WHEN 'failed' THEN 1 - broken ELSE 0 END = 1";
/** The unbundle filter did not let it through, or an operator pruned items of it. */
export const leftOutBundles = "(state = 'skipped' OR pruned_count > 0)";

/** Blocks above a height were taken back: their bundles have no height until they are mined again. */
export async function forgetBundleHeights(tx: SqlExecutor, above: number): Promise<void> {
  await tx.run(`UPDATE bundles SET height = NULL WHERE height > ? AND ${unreadBundles}`, above);
  await tx.run(`UPDATE bundles SET height = NULL WHERE height > ? AND ${leftOutBundles}`, above);
}

/** Brings a bundle of the chain and those in it to the height where it is now. */
export async function moveBundles(tx: SqlExecutor, root: Buffer, height: number | null): Promise<void> {
  await tx.run('UPDATE bundles SET height = ? WHERE id = ?', height, root);
  await tx.run(
    "UPDATE bundles SET height = ? WHERE root = ? AND depth > 0 AND state <> 'unbundled'",
    height,
    root,
  );
}
