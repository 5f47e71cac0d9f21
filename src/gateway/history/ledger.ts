/**
 * The ledger of batches that are moved to the history, in SQL. It alone decides what was moved: the server is never asked
 * whether it has seen a batch before.
 *
 *     planned ──► verified ──► moved
 *
 * A batch that is *planned* names its records; they are written to the history as often as it takes. It is *verified*
 * when the history was read back and had just these bytes. Only then items are taken out of SQL, in small transactions
 * that say how far they are; the last of them makes the batch *moved*.
 */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { Cursor } from '../chain-index/drop.ts';
import type { OrderKey } from '../chain-index/order.ts';
import { VarintReader, varintSize, writeVarint } from '../chain-index/varint.ts';
import type { MovableItem } from './item-rows.ts';

type BatchState = 'planned' | 'verified' | 'moved';

export interface Batch {
  readonly batch: number;
  readonly state: BatchState;
  readonly items: number;
  /** In the order of the index. */
  readonly records: readonly number[];
  /** SHA-256 of the rows of all tables, once the history was read back. */
  readonly digest: Buffer | null;
  /** So many of the records are out of SQL. */
  readonly pruned: number;
}

type BatchRow = Omit<Batch, 'records'> & { readonly records: Buffer };

/** The batch that is on its way; there is one at a time. */
export async function openBatch(sql: SqlExecutor, lock = ''): Promise<Batch | undefined> {
  const row = await sql.get<BatchRow>(
    `SELECT batch, state, items, records, digest, pruned FROM history_batches WHERE state <> 'moved'
     ORDER BY batch LIMIT 1 ${lock}`,
  );
  return row && { ...row, records: unpackRecords(row.records) };
}

/** Of the newest batch that was ever planned; 0 before the first. */
export async function newestBatch(sql: SqlExecutor): Promise<number> {
  const row = await sql.get<{ newest: number | null }>('SELECT max(batch) AS newest FROM history_batches');
  return row?.newest ?? 0;
}

/** Up to which height something was moved; -1 before the first. No fork may reach it. */
export async function movedHeight(sql: SqlExecutor): Promise<number> {
  const row = await sql.get<{ height: number | null }>(
    'SELECT max(last_height) AS height FROM history_batches',
  );
  return row?.height ?? -1;
}

/** Whether something of these heights, both included, was moved. */
export async function isMovedFrom(sql: SqlExecutor, from: number, to: number): Promise<boolean> {
  const row = await sql.get(
    'SELECT 1 AS one FROM history_batches WHERE last_height >= ? AND first_height <= ? LIMIT 1',
    from,
    to,
  );
  return row !== undefined;
}

export interface Walk {
  readonly after: Cursor;
  /** When the index was begun to be looked through, Unix seconds. */
  readonly from: number;
}

export async function readWalk(sql: SqlExecutor): Promise<Walk> {
  const row = await sql.get<{ pos: number; tie: number; record: number; begun: number }>(
    `SELECT walked_pos AS pos, walked_tie AS tie, walked_record AS record, walked_from AS begun
     FROM history_extent`,
  );
  if (row === undefined) throw new Error('the extent of the history is gone');
  return { after: { pos: row.pos, tie: row.tie, record: row.record }, from: row.begun };
}

export async function noteWalk(tx: SqlExecutor, { after, from }: Walk): Promise<void> {
  await tx.run(
    'UPDATE history_extent SET walked_pos = ?, walked_tie = ?, walked_record = ?, walked_from = ?',
    after.pos,
    after.tie,
    after.record,
    from,
  );
}

/** `items` are in the order of the index and not empty. */
export async function plan(
  tx: SqlExecutor,
  batch: number,
  items: readonly MovableItem[],
  now: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO history_batches (batch, state, items, records, pruned, pruned_pos, pruned_tie,
       first_height, last_height, made_at)
     VALUES (?, 'planned', ?, ?, 0, -1, 0, ?, ?, ?)`,
    batch,
    items.length,
    packRecords(items.map(({ record }) => record)),
    Math.min(...items.map(({ height }) => height)),
    Math.max(...items.map(({ height }) => height)),
    now,
  );
}

/** The history has the batch. From here on readers look for it there, and writers ask anew which items are known. */
export async function noteVerified(
  tx: SqlExecutor,
  batch: number,
  items: readonly MovableItem[],
  digest: Buffer,
): Promise<void> {
  const changed = await tx.run(
    "UPDATE history_batches SET state = 'verified', digest = ? WHERE batch = ? AND state = 'planned'",
    digest,
    batch,
  );
  if (changed === 0) return;
  const positions = items.map(({ pos }) => pos);
  const times = items.map(({ indexed_at }) => indexed_at);
  await tx.run(
    `UPDATE history_extent SET batches = batches + 1, items = items + ?,
       first_pos = CASE WHEN first_pos < ? THEN first_pos ELSE ? END,
       last_pos = CASE WHEN last_pos > ? THEN last_pos ELSE ? END,
       first_ingested = CASE WHEN first_ingested < ? THEN first_ingested ELSE ? END,
       last_ingested = CASE WHEN last_ingested > ? THEN last_ingested ELSE ? END`,
    items.length,
    ...[Math.min(...positions), Math.max(...positions), Math.min(...times), Math.max(...times)].flatMap(
      (bound) => [bound, bound],
    ),
  );
}

/** The records up to this key are out of SQL. */
export async function notePruned(
  tx: SqlExecutor,
  { batch, items }: Batch,
  pruned: number,
  last: Pick<OrderKey, 'pos' | 'tie'> | undefined,
): Promise<void> {
  const isEnd = pruned >= items;
  await tx.run(
    `UPDATE history_batches SET pruned = ?, pruned_pos = ?, pruned_tie = ?, state = ?, records = CASE WHEN ? = 1 THEN ? ELSE records END
     WHERE batch = ?`,
    pruned,
    last?.pos ?? -1,
    last?.tie ?? 0,
    isEnd ? 'moved' : 'verified',
    isEnd ? 1 : 0,
    Buffer.alloc(0),
    batch,
  );
}

export function packRecords(records: readonly number[]): Buffer {
  const packed = Buffer.allocUnsafe(records.reduce((size, record) => size + varintSize(record), 0));
  let at = 0;
  for (const record of records) at = writeVarint(packed, at, record);
  return packed;
}

function unpackRecords(packed: Buffer): number[] {
  const reader = new VarintReader(packed);
  const records: number[] = [];
  while (reader.at < packed.length) records.push(reader.next());
  return records;
}
