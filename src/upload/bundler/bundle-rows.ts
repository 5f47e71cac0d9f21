/** Bundles as rows: planned, prepared, posted, seeded, permanent; or dropped by the chain. */
import { type Static, Type } from 'typebox';
import { type dueBounds, isDue } from '../../storage/sql/due.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { integerOrNull, rowReader, textOrNull } from '../../storage/sql/typed-rows.ts';

export const bundleStates = ['planned', 'prepared', 'posted', 'seeded', 'permanent', 'dropped'] as const;

const storedBundle = Type.Object({
  plan: Type.String(),
  state: Type.Enum(bundleStates),
  item_count: Type.Integer(),
  /** Of the whole bundle, header and items. */
  size: Type.Integer(),
  tx_id: textOrNull,
  /** The signed transaction's header as the node's JSON. */
  tx: textOrNull,
  /** Height at which its anchor was fetched. */
  anchor_height: integerOrNull,
  posted_at: integerOrNull,
  seeded_at: integerOrNull,
  /** How often all its chunks were given to the network. */
  seedings: Type.Integer(),
  block_height: integerOrNull,
  /** Tries that failed, for whatever reason, since its state last changed: they lengthen the pause, nothing else. */
  attempts: Type.Integer(),
  /** Checks in a row that found it mined and could not read its chunks. */
  unreadable: Type.Integer(),
  /** When the first of them was, by the database's clock. */
  unreadable_since: integerOrNull,
  due_at: Type.Integer(),
  created_at: Type.Integer(),
  changed_at: Type.Integer(),
  /** What went wrong last, also when it went well since. */
  last_error: textOrNull,
  last_error_at: integerOrNull,
  /** As the chain last said; null while no block has it. */
  confirmations: integerOrNull,
  /** When it is looked at again; null while it is not permanent, and after the time to watch it. */
  look_at: integerOrNull,
  looks: Type.Integer(),
  looked_at: integerOrNull,
  /** What the last look missed; null where nothing. */
  damage: textOrNull,
  damaged_at: integerOrNull,
  /** Tries in a row that did not mend it. */
  mend_tries: Type.Integer(),
  /** Chunks that were given to the network again since it is permanent. */
  chunks_mended: Type.Integer(),
  /** Of one that was found on the chain after a restore, its items that are not here; null where it was made here. */
  others: integerOrNull,
});
export type BundleRow = Readonly<Static<typeof storedBundle>>;
export const readBundle = rowReader('a bundle', storedBundle);

export async function findBundle(sql: SqlExecutor, plan: string): Promise<BundleRow | undefined> {
  const row = await sql.get('SELECT * FROM upload_bundles WHERE plan = ?', plan);
  return row && readBundle(row);
}

/** The longest that a bundle, or an item whose bytes were not found, waits for another try after failures. */
export const maxBackoffMs = 5 * 60 * 1_000;

/** Values: see `dueBounds`. */
export const isDueBundle = isDue('due_at');

/** Bundles that a step is due for, the longest overdue first. `isFree`: a condition on whose they are. */
export function dueBundles(
  sql: SqlExecutor,
  isFree: string,
  due: ReturnType<typeof dueBounds>,
): Promise<{ plan: string }[]> {
  return sql.all<{ plan: string }>(
    `SELECT plan FROM upload_bundles WHERE state <> 'permanent' AND state <> 'dropped' AND ${isDueBundle}
       AND ${isFree} ORDER BY due_at LIMIT 100`,
    ...due,
  );
}

/** The permanent bundle that is to be looked at first. */
export async function nextToLookAt(sql: SqlExecutor): Promise<BundleRow | undefined> {
  const row = await sql.get(
    'SELECT * FROM upload_bundles WHERE look_at IS NOT NULL ORDER BY look_at, plan LIMIT 1',
  );
  return row && readBundle(row);
}

/** The transaction of a bundle that the chain was given, by its plan. */
export async function postedBundle(
  sql: SqlExecutor,
  plan: string | null,
): Promise<{ readonly txId: string } | undefined> {
  if (plan === null) return undefined;
  const row = await findBundle(sql, plan);
  const posted = row?.state === 'posted' || row?.state === 'seeded' || row?.state === 'permanent';
  return posted && row.tx_id !== null ? { txId: row.tx_id } : undefined;
}
