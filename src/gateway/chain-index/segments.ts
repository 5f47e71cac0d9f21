/**
 * Segments: the records up to some place in the order, cut into stretches of it, each with a bit for every member and
 * term. Postings say in what order the records of one term come; where several filters have to meet, segments say of many
 * thousand records at once whether any has them all.
 *
 * Segments lie one after the other without gaps, from the beginning of the order to the end of the last one. They are
 * made behind the writers (`segment-builder.ts`). A writer notes the position of whatever it adds or removes, in the same
 * transaction (`segment_changes`): a segment with such a position is *stale*, and its stretch is answered from the postings
 * until it was made anew. Whoever sees the change sees the note too, so nobody has to wait for anybody. Records that are in
 * no block yet are in no segment: they leave that part of the order as they came.
 *
 * A segment that is made anew gets a new key, and all its parts go with the old one. Each has a part that only says so:
 * who finds it knows that what was read beside it is all that there is.
 */

import { insertRows } from '../../storage/sql/many-rows.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { type OrderKey, PENDING_POS, type PlaceKey } from './order.ts';

export interface Segment {
  readonly segment: number;
  /** The first key of the stretch, and the first one after it. */
  readonly begin: OrderKey;
  readonly end: OrderKey;
  readonly members: number;
  /** Times of indexing of its members. */
  readonly firstIngested: number;
  readonly lastIngested: number;
  readonly isStale: boolean;
}

interface SegmentRow {
  readonly segment: number;
  readonly begin_pos: number;
  readonly begin_tie: number;
  readonly begin_record: number;
  readonly end_pos: number;
  readonly end_tie: number;
  readonly end_record: number;
  readonly members: number;
  readonly first_ingested: number;
  readonly last_ingested: number;
  readonly stale: number;
}

/** Before every key of the order. */
export const orderStart: OrderKey = { pos: 0, tie: 0, record: 0 };

/** Members whose keys are kept together. */
export const perChunk = 256;
/** Rows that rare terms share. */
export const sharedRows = 64;
/** A term with as many members has a row of its own. */
export const ownRowMembers = 16;

/** Parts of a segment by number: a term's own, that it is there, where each chunk begins, chunks, what rare terms share. */
export const isThere = -10;
export const chunkStarts = -11;
export const chunkPart = (chunk: number): number => -1_000 - chunk;
export const sharedPart = (term: number): number => -100 - (Math.abs(term) % sharedRows);

const startBytes = 14;
const memberBytes = 11;

/** A member as its chunk has it. */
export interface Member {
  readonly record: number;
  readonly indexedAt: number;
}

export function packMember(target: Buffer, index: number, { record, indexedAt }: Member): void {
  target.writeUIntBE(record, index * memberBytes, 6);
  target.writeUIntBE(indexedAt, index * memberBytes + 6, 5);
}

export const newChunk = (members: number): Buffer => Buffer.allocUnsafe(members * memberBytes);

export const memberAt = (packed: Buffer, index: number): Member => ({
  record: packed.readUIntBE(index * memberBytes, 6),
  indexedAt: packed.readUIntBE(index * memberBytes + 6, 5),
});

export function packStarts(starts: readonly OrderKey[]): Buffer {
  const packed = Buffer.allocUnsafe(starts.length * startBytes);
  starts.forEach(({ pos, tie }, index) => {
    packed.writeDoubleBE(pos, index * startBytes);
    packed.writeUIntBE(tie, index * startBytes + 8, 6);
  });
  return packed;
}

/** How many chunks begin before a place, or at it too. */
export function chunksBefore(packed: Buffer, key: PlaceKey, orAt: boolean): number {
  let low = 0;
  let high = packed.length / startBytes;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const pos = packed.readDoubleBE(middle * startBytes);
    const order = pos - key.pos || packed.readUIntBE(middle * startBytes + 8, 6) - key.tie;
    if (order < 0 || (orAt && order === 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const columns = `s.segment, s.begin_pos, s.begin_tie, s.begin_record, s.end_pos, s.end_tie, s.end_record, s.members,
  s.first_ingested, s.last_ingested, EXISTS (
    SELECT 1 FROM segment_changes c WHERE c.pos >= s.begin_pos AND c.pos <= s.end_pos) AS stale`;

/** The next segments that have keys strictly after one in either direction; without a key from the beginning. */
export async function nextSegments(
  sql: Pick<SqlExecutor, 'all'>,
  ascending: boolean,
  after: OrderKey | undefined,
  limit: number,
): Promise<Segment[]> {
  const [side, sign, direction] = ascending ? ['end', '>', 'ASC'] : ['begin', '<', 'DESC'];
  const from =
    after === undefined
      ? ''
      : `WHERE (s.${side}_pos, s.${side}_tie, s.${side}_record) ${sign} (CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))`;
  const rows = await sql.all<SegmentRow>(
    `SELECT ${columns} FROM segments s ${from}
     ORDER BY s.${side}_pos ${direction}, s.${side}_tie ${direction}, s.${side}_record ${direction} LIMIT ?`,
    ...(after === undefined ? [] : [after.pos, after.tie, after.record]),
    limit,
  );
  return rows.map((row) => ({
    segment: row.segment,
    begin: { pos: row.begin_pos, tie: row.begin_tie, record: row.begin_record },
    end: { pos: row.end_pos, tie: row.end_tie, record: row.end_record },
    members: row.members,
    firstIngested: row.first_ingested,
    lastIngested: row.last_ingested,
    isStale: row.stale === 1,
  }));
}

/** Where the last segment ends. */
export async function segmentsEnd(sql: Pick<SqlExecutor, 'get'>): Promise<OrderKey> {
  const row = await sql.get<OrderKey>(
    `SELECT end_pos AS pos, end_tie AS tie, end_record AS record FROM segments
     ORDER BY end_pos DESC, end_tie DESC, end_record DESC LIMIT 1`,
  );
  return row ?? orderStart;
}

/** To be called with the positions of what is added to the order or removed, in the same transaction. */
export async function noteChanged(tx: SqlExecutor, positions: Iterable<number>): Promise<void> {
  const mined = [...new Set(positions)].filter((pos) => pos < PENDING_POS);
  await insertRows(
    tx,
    'segment_changes',
    ['pos'],
    mined.map((pos) => [pos]),
  );
}
