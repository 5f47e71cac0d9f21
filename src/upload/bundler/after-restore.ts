/**
 * What a restore leaves behind in the tables: items that waited when the backup was made may be on the chain by now, in a
 * bundle that the lost machine has posted. Until that was looked for (`look-back.ts`) they are in no other bundle, for that
 * would be paid twice.
 */
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor, SqlReader } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';

export interface Restore {
  /** From when on bundles may be on the chain that are not here; unix milliseconds. */
  readonly since: number;
  readonly restoredAt: number;
  /** What came later than the newest item that was restored is here alone, whatever clocks said. */
  readonly newestAt: number;
  /** Of the chain when it was first looked for them; undefined before. */
  readonly height: number | undefined;
}

/** Of a waiting item: it came after the restore, or the look is over. */
export const isNotHeldBack =
  'received_at > COALESCE((SELECT COALESCE(newest_at, restored_at) FROM upload_restores), -1)';

/**
 * Called by a restore. Bundles without a transaction are dissolved: the lost machine has perhaps made it. A look that was not over
 * when the backup was made begins as early as it did.
 */
export async function noteRestore(
  tx: SqlExecutor,
  { since, restoredAt }: Pick<Restore, 'since' | 'restoredAt'>,
): Promise<void> {
  const newest = await tx.get('SELECT MAX(received_at) AS at FROM upload_items');
  const newestAt = Math.max(restoredAt, newest?.at == null ? 0 : readInteger(newest.at));
  await tx.run(
    `INSERT INTO upload_restores (one, since, restored_at, newest_at, height) VALUES (1, ?, ?, ?, NULL)
     ON CONFLICT (one) DO UPDATE SET restored_at = excluded.restored_at, newest_at = excluded.newest_at, height = NULL,
       since = CASE WHEN upload_restores.since < excluded.since THEN upload_restores.since ELSE excluded.since END`,
    since,
    restoredAt,
    newestAt,
  );
  await tx.run(
    `UPDATE upload_items SET state = 'new', bundle = NULL, position = NULL, bundle_offset = NULL
     WHERE state = 'planned' AND bundle IN (SELECT plan FROM upload_bundles WHERE state = 'planned')`,
  );
  await tx.run(
    `UPDATE upload_bundles SET state = 'dropped', tx_id = NULL, tx = NULL, changed_at = ? WHERE state = 'planned'`,
    restoredAt,
  );
}

/** Undefined where nothing is to be looked for. */
export async function findRestore(sql: SqlReader): Promise<Restore | undefined> {
  const row = await sql.get('SELECT since, restored_at, newest_at, height FROM upload_restores');
  if (row === undefined) return undefined;
  return {
    since: readInteger(row.since),
    restoredAt: readInteger(row.restored_at),
    newestAt: readInteger(row.newest_at ?? row.restored_at),
    height: row.height === null ? undefined : readInteger(row.height),
  };
}

export const noteFirstLook = (tx: SqlExecutor, height: number): Promise<void> =>
  changeOne(tx, 'UPDATE upload_restores SET height = ?', height);

/** From now on everything that waits is bundled. */
export const endRestore = (tx: SqlExecutor): Promise<number> => tx.run('DELETE FROM upload_restores');
