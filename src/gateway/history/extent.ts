/** What SQL knows of the history: how far it reaches, and which batch is on its way. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';

export interface Extent {
  /** How many there are that were verified. */
  readonly batches: number;
  /** Items that were moved, and where they are; the ends of an empty history are the wrong way round. */
  readonly items: number;
  readonly first_pos: number;
  readonly last_pos: number;
  readonly first_ingested: number;
  readonly last_ingested: number;
}

const extentColumns = 'batches, items, first_pos, last_pos, first_ingested, last_ingested';

export async function readExtent(sql: SqlExecutor): Promise<Extent> {
  const row = await sql.get<Extent>(`SELECT ${extentColumns} FROM history_extent`);
  if (row === undefined) throw new Error('the extent of the history is gone');
  return row;
}

/** A batch whose items are taken out of SQL: those up to this key are out. */
export interface OpenBatch {
  readonly batch: number;
  readonly pruned_pos: number;
  readonly pruned_tie: number;
}

/** Batches that are not moved to their end. */
export const openBatches = (sql: SqlExecutor): Promise<OpenBatch[]> =>
  sql.all<OpenBatch>(
    `SELECT batch, pruned_pos, pruned_tie FROM history_batches WHERE state <> 'moved' ORDER BY batch`,
  );
