/** Records that change their place in the order: which postings go and which come. */

import { deleteRows, insertRows } from '../../storage/sql/many-rows.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { tieOf } from './order.ts';
import { postedTerms, type Selected } from './records.ts';
import { noteChanged } from './segments.ts';

export const postingTypes = { term: 'BIGINT', pos: 'BIGINT', tie: 'BIGINT', record: 'BIGINT' } as const;
export const postingColumns = Object.keys(postingTypes);

/** Records per transaction: about ten milliseconds of SQLite. */
export const WRITE_BATCH = 128;

export const storedColumns = 'record, id, kind, height, block_index, pos, indexed_at, root, terms';
export type StoredRecord = Selected<typeof storedColumns>;

/** The cells of `postingColumns`. */
export type Posting = [term: number, pos: number, tie: number, record: number];

export interface PostingChanges {
  readonly removed: Posting[];
  readonly added: Posting[];
}

export function collectChange(
  changes: PostingChanges,
  known: StoredRecord,
  before: readonly number[],
  pos: number,
  after: readonly number[],
): void {
  const tie = tieOf(known.id);
  for (const term of postedTerms(known.kind, before))
    changes.removed.push([term, known.pos, tie, known.record]);
  for (const term of postedTerms(known.kind, after)) changes.added.push([term, pos, tie, known.record]);
}

export async function applyChanges(tx: SqlExecutor, changes: PostingChanges): Promise<void> {
  await deleteRows(tx, 'postings', postingColumns, changes.removed);
  await insertRows(tx, 'postings', postingTypes, inTreeOrder(changes.added), 'ON CONFLICT DO NOTHING');
  await noteChanged(
    tx,
    [...changes.removed, ...changes.added].map(([_term, pos = 0]) => pos),
  );
}

/** The items of a bundle are to be brought where it is now. After the bundle itself was moved, never before. */
export async function noteReposition(tx: SqlExecutor, root: number): Promise<void> {
  await tx.run(
    `INSERT INTO repositions (root) SELECT root FROM records WHERE root = ? LIMIT 1
     ON CONFLICT (root) DO NOTHING`,
    root,
  );
}

/** Neighbours in the tree are inserted one after the other: fewer pages are touched. */
export function inTreeOrder(postings: Posting[]): Posting[] {
  return postings.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3]);
}
