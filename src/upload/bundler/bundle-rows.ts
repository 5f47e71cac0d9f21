/** Bundles as rows: planned, prepared, posted, seeded, permanent; or dropped by the chain. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';

export type BundleState = 'planned' | 'prepared' | 'posted' | 'seeded' | 'permanent' | 'dropped';

export interface BundleRow {
  readonly plan: string;
  readonly state: BundleState;
  readonly item_count: number;
  /** Of the whole bundle, header and items. */
  readonly size: number;
  readonly tx_id: string | null;
  /** The signed transaction's header as the node's JSON. */
  readonly tx: string | null;
  /** Height at which its anchor was fetched. */
  readonly anchor_height: number | null;
  readonly posted_at: number | null;
  readonly seeded_at: number | null;
  /** How often all its chunks were given to the network. */
  readonly seedings: number;
  readonly block_height: number | null;
  /** Tries that failed, for whatever reason, since it last came further: they lengthen the pause, nothing else. */
  readonly attempts: number;
  /** Looks in a row that found it mined and could not read its chunks. */
  readonly unreadable: number;
  readonly due_at: number;
  readonly created_at: number;
}

export async function findBundle(sql: SqlExecutor, plan: string): Promise<BundleRow | undefined> {
  return sql.get<BundleRow>('SELECT * FROM upload_bundles WHERE plan = ?', plan);
}

/** The transaction of a bundle that the chain was given, by its plan. */
export async function postedBundle(
  sql: SqlExecutor,
  plan: string | undefined,
): Promise<{ readonly txId: string } | undefined> {
  if (plan === undefined) return undefined;
  const row = await findBundle(sql, plan);
  const posted = row?.state === 'posted' || row?.state === 'seeded' || row?.state === 'permanent';
  return posted && row.tx_id !== null ? { txId: row.tx_id } : undefined;
}
