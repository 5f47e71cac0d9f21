/**
 * Makes segments (`segments.ts`) behind the writers: of what was added behind the last one, anew of those that are stale,
 * and large ones of small ones. Reads in steps with a turn of the event loop between them, and writes what it made in one
 * short transaction. It takes only notes away that it had read before the records: a writer that came between left
 * another one.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { deleteRows, insertRows } from '../../storage/sql/many-rows.ts';
import { type Sql, type SqlExecutor, type SqlValue, UniqueViolation } from '../../storage/sql/sql.ts';
import { compareKeys, type OrderKey, PENDING_POS } from './order.ts';
import { postedTerms, type Selected, unpackTerms } from './records.ts';
import { packMembers, packTermMembers } from './segment-bits.ts';
import {
  chunkPart,
  chunkStarts,
  isThere,
  newChunk,
  nextSegments,
  ownRowMembers,
  packMember,
  packStarts,
  perChunk,
  type Segment,
  segmentsEnd,
  sharedPart,
} from './segments.ts';
import { EVERY_TERM } from './terms.ts';

export interface SegmentSizes {
  /** Records behind the last segment that are worth a new one. */
  readonly small: number;
  readonly large: number;
}

/** A small one is made in 20 ms, a large one in 300; of a large one a term that half of the records have takes 8 KB. */
const usualSizes: SegmentSizes = { small: 4_096, large: 65_536 };
/** So many of the newest stay small: late items are most often theirs. */
const newestKept = 16;
/** Records read by one statement. */
const perRead = 256;
/** Notes that are looked at in one round. */
const notesPerRound = 20_000;
/** Stale segments that are made anew in one round, unless one position has more. */
const stalePerRound = 4;

interface Note {
  readonly change: number;
  readonly pos: number;
}

interface ReadRecord
  extends OrderKey,
    Pick<Selected<'kind, indexed_at, terms'>, 'kind' | 'indexed_at' | 'terms'> {}

/** What is to be put in the place of some segments, or behind the last one. */
interface Stretch {
  readonly begin: OrderKey;
  /** undefined: as far as there are records, but no more than a large segment of them. */
  readonly end: OrderKey | undefined;
  readonly replaced: readonly Segment[];
  /** Notes that are settled then. */
  readonly notes: (end: OrderKey) => readonly Note[];
}

export class SegmentBuilder {
  readonly #sql: Sql;
  readonly #sizes: SegmentSizes;
  /** The notes of a round that found nothing to do. */
  #idleAt: string | undefined;

  constructor(sql: Sql, sizes: SegmentSizes = usualSizes) {
    this.#sql = sql;
    this.#sizes = sizes;
  }

  /** One round; answers whether there was something to do. */
  async round(): Promise<boolean> {
    const newest = await this.#sql.get<{ change: number | null; count: number }>(
      'SELECT max(change) AS change, count(*) AS count FROM segment_changes',
    );
    const state = `${newest?.change} ${newest?.count}`;
    if (state === this.#idleAt) return false;
    const notes = await this.#sql.all<Note>(
      'SELECT change, pos FROM segment_changes ORDER BY change LIMIT ?',
      notesPerRound,
    );
    const end = await segmentsEnd(this.#sql);
    const stretch =
      (await this.#stale(notes, end)) ?? (await this.#unmade(notes, end)) ?? (await this.#mergeable());
    if (stretch === undefined) {
      this.#idleAt = state;
      return false;
    }
    try {
      await this.#make(stretch);
    } catch (error) {
      // Another process made one there first.
      if (!(error instanceof UniqueViolation || error instanceof SegmentsChanged)) throw error;
    }
    return true;
  }

  /** The first stale segments that lie together. */
  async #stale(notes: readonly Note[], end: OrderKey): Promise<Stretch | undefined> {
    let first = Number.POSITIVE_INFINITY;
    for (const { pos } of notes) first = Math.min(first, pos);
    if (notes.length === 0 || first > end.pos) return undefined;
    const stale: Segment[] = [];
    let isWhole = false;
    for (let after: OrderKey = { pos: first, tie: -1, record: -1 }; ; ) {
      const next = await nextSegments(this.#sql, true, after, stalePerRound);
      const fresh = next.findIndex(({ isStale }) => !isStale);
      stale.push(...(fresh === -1 ? next : next.slice(0, fresh)));
      isWhole = fresh !== -1 || next.length < stalePerRound;
      const newest = stale.at(-1);
      // Notes of one position are settled when all of its segments are made anew.
      if (isWhole || newest === undefined || newest.end.pos > first) break;
      after = newest.end;
    }
    const [oldest, newest] = [stale[0], stale.at(-1)];
    if (oldest === undefined || newest === undefined) return undefined;
    const last = isWhole ? newest.end.pos : newest.end.pos - 1;
    return {
      begin: oldest.begin,
      end: newest.end,
      replaced: stale,
      notes: () => notes.filter(({ pos }) => pos >= oldest.begin.pos && pos <= last),
    };
  }

  /** What is behind the last segment, where it is enough for one. */
  async #unmade(notes: readonly Note[], begin: OrderKey): Promise<Stretch | undefined> {
    const row = await this.#sql.get<{ record: number }>(
      `SELECT record FROM postings WHERE term = ? AND pos >= ? AND pos < ?
         AND (pos, tie, record) >= (CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))
       ORDER BY pos, tie, record LIMIT 1 OFFSET ?`,
      ...[EVERY_TERM, begin.pos, PENDING_POS, begin.pos, begin.tie, begin.record, this.#sizes.small - 1],
    );
    if (row === undefined) return undefined;
    const settled = (end: OrderKey) => notes.filter(({ pos }) => pos >= begin.pos && pos <= end.pos);
    return { begin, end: undefined, replaced: [], notes: settled };
  }

  /** Small ones behind the newest that lie together and make a large one. */
  async #mergeable(): Promise<Stretch | undefined> {
    const { small, large } = this.#sizes;
    const newest = await nextSegments(this.#sql, false, undefined, newestKept + Math.ceil(large / small) + 1);
    const run: Segment[] = [];
    let members = 0;
    for (const segment of newest.slice(newestKept)) {
      if (segment.isStale || segment.members > large / 2) break;
      if (members + segment.members > large) break;
      run.unshift(segment);
      members += segment.members;
    }
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined || first === last || members < 0.75 * large)
      return undefined;
    return { begin: first.begin, end: last.end, replaced: run, notes: () => [] };
  }

  async #make({ begin, end, replaced, notes }: Stretch): Promise<void> {
    const made: Draft[] = [];
    let draft = new Draft(begin);
    for (let after: OrderKey | undefined; ; ) {
      const rows = await this.#read(begin, end, after);
      for (const row of rows) {
        if (draft.members === this.#sizes.large) {
          made.push(draft.seal(row));
          draft = new Draft(row);
        }
        draft.add(row);
      }
      after = rows.at(-1);
      if (rows.length < perRead || (end === undefined && draft.members === this.#sizes.large)) break;
      await nextTurn();
    }
    const last = end ?? draft.afterLast();
    made.push(draft.seal(last));
    const settled = notes(last);
    await this.#sql.transaction(async (tx) => {
      for (const { segment } of replaced) {
        if ((await tx.run('DELETE FROM segments WHERE segment = ?', segment)) !== 1)
          throw new SegmentsChanged();
        await tx.run('DELETE FROM segment_parts WHERE segment = ?', segment);
      }
      for (const one of made) await one.write(tx);
      await deleteRows(
        tx,
        'segment_changes',
        ['change'],
        settled.map(({ change }) => [change]),
      );
    });
  }

  #read(begin: OrderKey, end: OrderKey | undefined, after: OrderKey | undefined): Promise<ReadRecord[]> {
    const from = after ?? begin;
    const until =
      end === undefined
        ? ''
        : 'AND (t.pos, t.tie, t.record) < (CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))';
    return this.#sql.all<ReadRecord>(
      `SELECT t.pos, t.tie, t.record, r.kind, r.indexed_at, r.terms FROM (
         SELECT t.pos, t.tie, t.record FROM postings t WHERE t.term = ? AND t.pos >= ? AND t.pos < ?
           AND (t.pos, t.tie, t.record) ${after === undefined ? '>=' : '>'} (CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))
           ${until}
         ORDER BY t.pos, t.tie, t.record LIMIT ?
       ) t JOIN records r ON r.record = t.record ORDER BY t.pos, t.tie, t.record`,
      ...[EVERY_TERM, from.pos, PENDING_POS, from.pos, from.tie, from.record],
      ...(end === undefined ? [] : [end.pos, end.tie, end.record]),
      perRead,
    );
  }
}

/** Another process has replaced the same segments. */
class SegmentsChanged extends Error {}

/** A segment that is being made. */
class Draft {
  readonly #begin: OrderKey;
  #end: OrderKey | undefined;
  #last: OrderKey | undefined;
  #firstIngested = Number.MAX_SAFE_INTEGER;
  #lastIngested = -1;
  readonly #starts: OrderKey[] = [];
  readonly #records: { readonly record: number; readonly indexedAt: number }[] = [];
  readonly #terms = new Map<number, number[]>();
  #parts: SqlValue[][] = [];

  constructor({ pos, tie, record }: OrderKey) {
    this.#begin = { pos, tie, record };
  }

  get members(): number {
    return this.#records.length;
  }

  add({ pos, tie, record, kind, indexed_at: indexedAt, terms }: ReadRecord): void {
    const member = this.#records.length;
    if (member % perChunk === 0) this.#starts.push({ pos, tie, record });
    this.#records.push({ record, indexedAt });
    this.#last = { pos, tie, record };
    this.#firstIngested = Math.min(this.#firstIngested, indexedAt);
    this.#lastIngested = Math.max(this.#lastIngested, indexedAt);
    for (const term of postedTerms(kind, unpackTerms(terms))) {
      if (term === EVERY_TERM) continue;
      const members = this.#terms.get(term);
      if (members === undefined) this.#terms.set(term, [member]);
      else members.push(member);
    }
  }

  /** Just behind the last member. */
  afterLast(): OrderKey {
    const last = this.#last ?? this.#begin;
    return { ...last, record: last.record + 1 };
  }

  /** Packs it, up to where the next one begins. */
  seal({ pos, tie, record }: OrderKey): this {
    if (compareKeys({ pos, tie, record }, this.#begin) < 0)
      throw new Error('a segment ends before it begins');
    this.#end = { pos, tie, record };
    this.#parts.push([isThere, Buffer.alloc(0)], [chunkStarts, packStarts(this.#starts)]);
    for (let from = 0; from < this.#records.length; from += perChunk) {
      const chunk = this.#records.slice(from, from + perChunk);
      const packed = newChunk(chunk.length);
      for (const [index, member] of chunk.entries()) packMember(packed, index, member);
      this.#parts.push([chunkPart(from / perChunk), packed]);
    }
    const shared = new Map<number, [number, number[]][]>();
    for (const [term, members] of [...this.#terms].sort(([a], [b]) => a - b)) {
      if (term < 0 || members.length >= ownRowMembers) {
        this.#parts.push([term, packMembers(members, this.#records.length)]);
        continue;
      }
      const part = sharedPart(term);
      const together = shared.get(part);
      if (together === undefined) shared.set(part, [[term, members]]);
      else together.push([term, members]);
    }
    for (const [part, together] of shared) this.#parts.push([part, packTermMembers(together)]);
    this.#terms.clear();
    return this;
  }

  async write(tx: SqlExecutor): Promise<void> {
    const end = this.#end ?? this.afterLast();
    const row = await tx.get<{ segment: number }>(
      `INSERT INTO segments (begin_pos, begin_tie, begin_record, end_pos, end_tie, end_record, members,
         first_ingested, last_ingested) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING segment`,
      ...[this.#begin.pos, this.#begin.tie, this.#begin.record, end.pos, end.tie, end.record],
      ...[this.members, this.#firstIngested, this.#lastIngested],
    );
    if (row === undefined) throw new Error('a segment got no key');
    await insertRows(
      tx,
      'segment_parts',
      ['segment', 'part', 'packed'],
      this.#parts.map((part) => [row.segment, ...part]),
    );
  }
}
