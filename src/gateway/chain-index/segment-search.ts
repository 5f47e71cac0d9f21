/**
 * Pages by way of the segments (`segments.ts`): bits of many records at once say which of them the filters have in
 * common. What is behind the last segment, and what is stale, is left to a walk through the postings.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { batches, selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { compareKeys, type OrderKey, tieOf } from './order.ts';
import {
  type Criteria,
  type Groups,
  type JudgedRecord,
  type PageRequest,
  passes,
  readJudged,
} from './page-request.ts';
import { type ScanRange, scanOf } from './scan.ts';
import {
  addMembers,
  addTermMembers,
  allBits,
  type Bits,
  countBits,
  hasBits,
  keepCommon,
  membersOf,
  noBits,
  removeBits,
} from './segment-bits.ts';
import {
  chunkPart,
  chunkStarts,
  chunksBefore,
  isThere,
  type Member,
  memberAt,
  nextSegments,
  orderStart,
  perChunk,
  type Segment,
  segmentsEnd,
  sharedPart,
} from './segments.ts';
import { EVERY_TERM } from './terms.ts';

/** The next matches of a stretch, found by way of its postings. */
type Walk = (range: ScanRange, after: OrderKey | undefined, limit: number) => Promise<OrderKey[]>;

/** Segments whose bits are read at once, growing while little is found. */
const firstBatch = 2;
const largestBatch = 64;
/** Matches whose records are read at once. */
const judgedAtOnce = 256;
/** A filter of more values is left to the records where a segment has few matches without it. */
const manyTerms = 16;
const fewMatches = 256;
/** A page during which segments were made anew is begun again so often; then all of it is walked. */
const maxTries = 5;
const listedAtOnce = 512;
const walkedAtOnce = 4_096;
/** Records outside of the segments that are worth to be looked through for an order that they are not in. */
const maxWalked = 20_000;
const MAX = Number.MAX_SAFE_INTEGER;

/** A segment was replaced while it was read. */
class SegmentReplaced extends Error {}

interface Matching {
  readonly segment: Segment;
  readonly bits: Bits;
}

interface FoundMember extends Member {
  readonly segment: Segment;
}

interface PartRow {
  readonly segment: number;
  readonly part: number;
  readonly packed: Buffer;
}

export class SegmentSearch {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async byHeight(request: PageRequest, groups: Groups, walk: Walk): Promise<OrderKey[]> {
    const { criteria, ascending, limit } = request;
    const { minPos, maxPos } = criteria;
    const range = { ascending, minPos, maxPos };
    const found: OrderKey[] = [];
    let after = request.after;
    const end = await segmentsEnd(this.#sql);
    if (!ascending && maxPos >= end.pos && (after === undefined || compareKeys(after, end) > 0)) {
      found.push(...(await walk({ ...range, from: end }, after, limit)));
      after = end;
    }
    // Segments are read from here on: in growing order those that end behind it, else those that begin before it.
    const edge = ascending ? { pos: minPos, tie: -1, record: -1 } : { pos: maxPos, tie: MAX, record: MAX };
    let place = farther(after, edge, ascending);
    let tries = 0;
    for (let batch = firstBatch; found.length < limit; batch = Math.min(largestBatch, batch * 2)) {
      request.signal?.throwIfAborted();
      const listed = await nextSegments(this.#sql, ascending, place, batch);
      const inside = listed.filter(({ begin, end: behind }) => begin.pos <= maxPos && behind.pos >= minPos);
      try {
        for (const run of runsOf(inside)) {
          const [first, last = first] = [run[0], run.at(-1)];
          if (first === undefined || last === undefined || found.length >= limit) break;
          if (first.isStale || tries >= maxTries) {
            const [from, to] = ascending ? [first.begin, last.end] : [last.begin, first.end];
            found.push(...(await walk({ ...range, from, to }, after, limit - found.length)));
          } else {
            found.push(...(await this.#inRun(run, request, groups, after, limit - found.length)));
          }
          after = ascending ? { ...last.end, record: last.end.record - 1 } : last.begin;
          place = ascending ? last.end : last.begin;
        }
      } catch (error) {
        if (!(error instanceof SegmentReplaced)) throw error;
        tries += 1;
        continue;
      }
      if (inside.length < listed.length || listed.length < batch) break;
      await nextTurn();
    }
    if (ascending && found.length < limit && maxPos >= place.pos) {
      found.push(...(await walk({ ...range, from: place }, after, limit - found.length)));
    }
    return found;
  }

  /** How many match, up to the limit; undefined beyond it. */
  async count(request: PageRequest, groups: Groups, walk: Walk): Promise<number | undefined> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#count(request, groups, walk, tries <= maxTries);
      } catch (error) {
        if (!(error instanceof SegmentReplaced)) throw error;
      }
    }
  }

  async #count(
    { criteria, limit, signal }: PageRequest,
    groups: Groups,
    walk: Walk,
    usesSegments: boolean,
  ): Promise<number | undefined> {
    const { minPos, maxPos, minIngested = 0, maxIngested = MAX } = criteria;
    const range = { ascending: true, minPos, maxPos };
    const { segments, stretches } = usesSegments
      ? await this.#listed(criteria)
      : { segments: [], stretches: [range] };
    const whole: Segment[] = [];
    for (const segment of segments) {
      const { begin, end, firstIngested, lastIngested } = segment;
      const isWhole =
        begin.pos >= minPos &&
        end.pos <= maxPos &&
        firstIngested >= minIngested &&
        lastIngested <= maxIngested;
      if (isWhole) whole.push(segment);
      else stretches.push({ ...range, from: begin, to: end });
    }
    let counted = 0;
    for (let at = 0; at < whole.length && counted <= limit; at += largestBatch) {
      signal?.throwIfAborted();
      for (const { bits } of await this.#matching(whole.slice(at, at + largestBatch), criteria, groups, 0)) {
        counted += countBits(bits);
      }
      await nextTurn();
    }
    for (const stretch of stretches) {
      for (let last: OrderKey | undefined; counted <= limit; ) {
        signal?.throwIfAborted();
        const keys: OrderKey[] = await walk(stretch, last, walkedAtOnce);
        counted += keys.length;
        last = keys.at(-1);
        if (keys.length < walkedAtOnce) break;
        await nextTurn();
      }
    }
    return counted > limit ? undefined : counted;
  }

  /**
   * In order of the time of indexing, which the order of the segments says nothing about: each says its times. undefined
   * where too much is in none, or they are replaced too fast.
   */
  async byIngestion(request: PageRequest, groups: Groups, walk: Walk): Promise<OrderKey[] | undefined> {
    for (let tries = 1; tries <= maxTries; tries += 1) {
      try {
        return await this.#byIngestion(request, groups, walk);
      } catch (error) {
        if (!(error instanceof SegmentReplaced)) throw error;
      }
    }
    return undefined;
  }

  async #byIngestion(request: PageRequest, groups: Groups, walk: Walk): Promise<OrderKey[] | undefined> {
    const { criteria, ascending, after, limit } = request;
    const sign = ascending ? 1 : -1;
    const { segments, stretches } = await this.#listed(criteria);
    if (await this.#isLong(stretches)) return undefined;
    const found: OrderKey[] = [];
    const keep = (rows: readonly JudgedRecord[]) => {
      for (const row of rows) {
        const key = { pos: row.indexed_at, tie: tieOf(row.id), record: row.record };
        const isNext = after === undefined || compareKeys(key, after) * sign > 0;
        if (isNext && passes(row, criteria)) found.push(key);
      }
      found.sort((a, b) => compareKeys(a, b) * sign).splice(limit);
    };
    for (const range of stretches) {
      for (let last: OrderKey | undefined; ; ) {
        request.signal?.throwIfAborted();
        const keys: OrderKey[] = await walk(range, last, walkedAtOnce);
        keep(
          await readJudged(
            this.#sql,
            keys.map(({ record }) => record),
          ),
        );
        last = keys.at(-1);
        if (keys.length < walkedAtOnce) break;
      }
    }
    /** The first time in order that a member of the segment may have. */
    const soonest = (segment: Segment) => (ascending ? segment.firstIngested : segment.lastIngested);
    const inOrder = segments.sort((a, b) => (soonest(a) - soonest(b)) * sign);
    for (let at = 0, batch = firstBatch; at < inOrder.length; batch = Math.min(largestBatch, batch * 2)) {
      request.signal?.throwIfAborted();
      const run = inOrder.slice(at, at + batch);
      at += batch;
      const worst = found.length < limit ? undefined : found.at(-1)?.pos;
      const isOver = (time: number) => worst !== undefined && (time - worst) * sign > 0;
      const [first] = run;
      if (first === undefined || isOver(soonest(first))) break;
      const members: FoundMember[] = [];
      for (const matching of await this.#matching(run, criteria, groups)) {
        for (const member of await this.#members(
          [...membersOf(matching.bits, true, 0, matching.segment.members)].map((one) => [
            matching.segment,
            one,
          ]),
        )) {
          const isBefore = after !== undefined && (member.indexedAt - after.pos) * sign < 0;
          if (!isBefore && !isOver(member.indexedAt)) members.push(member);
        }
      }
      members.sort((a, b) => (a.indexedAt - b.indexedAt) * sign);
      for (let from = 0; from < members.length; from += judgedAtOnce) {
        const some = members.slice(from, from + judgedAtOnce);
        const last = found.length < limit ? undefined : found.at(-1)?.pos;
        const [next] = some;
        if (last !== undefined && next !== undefined && (next.indexedAt - last) * sign > 0) break;
        keep(
          await readJudged(
            this.#sql,
            some.map(({ record }) => record),
          ),
        );
        await nextTurn();
      }
    }
    return found;
  }

  /** Segments that may have matches, and the stretches that have to be walked through. */
  async #listed({ minPos, maxPos, minIngested = 0, maxIngested = MAX }: Criteria) {
    const range = { ascending: true, minPos, maxPos };
    const segments: Segment[] = [];
    const stretches: ScanRange[] = [];
    let place: OrderKey = orderStart;
    for (;;) {
      const listed: Segment[] = await nextSegments(this.#sql, true, place, listedAtOnce);
      for (const segment of listed) {
        const { begin, end, firstIngested, lastIngested, isStale } = segment;
        if (begin.pos > maxPos || end.pos < minPos) continue;
        if (isStale) stretches.push({ ...range, from: begin, to: end });
        else if (firstIngested <= maxIngested && lastIngested >= minIngested) segments.push(segment);
      }
      place = listed.at(-1)?.end ?? place;
      if (listed.length < listedAtOnce) break;
    }
    if (maxPos >= place.pos) stretches.push({ ...range, from: place });
    return { segments, stretches };
  }

  /** Whether stretches have too many records together to be looked through. */
  async #isLong(stretches: readonly ScanRange[]): Promise<boolean> {
    let left = maxWalked;
    for (const stretch of stretches) {
      const scan = scanOf(EVERY_TERM, stretch, undefined, left);
      const row = await this.#sql.get<{ n: number }>(
        `SELECT count(*) AS n FROM (${scan.text}) s`,
        ...scan.values,
      );
      left -= row?.n ?? 0;
      if (left <= 0) return true;
    }
    return false;
  }

  /** The next matches in segments that lie together and are not stale. */
  async #inRun(
    run: readonly Segment[],
    { criteria, ascending, signal }: PageRequest,
    groups: Groups,
    after: OrderKey | undefined,
    limit: number,
  ): Promise<OrderKey[]> {
    const sign = ascending ? 1 : -1;
    const found: OrderKey[] = [];
    const wanted: [Segment, number][] = [];
    const judge = async (): Promise<void> => {
      const members = await this.#members(wanted.splice(0));
      const segments = new Map(members.map(({ record, segment }) => [record, segment]));
      const rows = await readJudged(this.#sql, [...segments.keys()]);
      const keys = rows.flatMap((row) => {
        const key = { pos: row.pos, tie: tieOf(row.id), record: row.record };
        const segment = segments.get(row.record);
        // A record that has moved since is found where it is now.
        const isHere =
          segment !== undefined && compareKeys(key, segment.begin) >= 0 && compareKeys(key, segment.end) < 0;
        const isNext = after === undefined || compareKeys(key, after) * sign > 0;
        return isHere && isNext && passes(row, criteria) ? [key] : [];
      });
      found.push(...keys.sort((a, b) => compareKeys(a, b) * sign));
    };
    for (const { segment, bits } of await this.#matching(run, criteria, groups)) {
      const [from, to] = await this.#bounds(segment, after, ascending);
      for (const member of membersOf(bits, ascending, from, to)) {
        wanted.push([segment, member]);
        if (wanted.length < Math.min(judgedAtOnce, limit - found.length)) continue;
        await judge();
        if (found.length >= limit) return found;
        signal?.throwIfAborted();
      }
    }
    if (wanted.length > 0) await judge();
    return found.slice(0, limit);
  }

  /** The members of a segment that may lie after a key, to within a chunk. */
  async #bounds(
    { segment, begin, end, members }: Segment,
    after: OrderKey | undefined,
    ascending: boolean,
  ): Promise<[from: number, to: number]> {
    if (after === undefined || compareKeys(after, begin) < 0 || compareKeys(after, end) >= 0)
      return [0, members];
    const rows = await this.#parts([segment], [chunkStarts]);
    const starts = rows.find(({ part }) => part === chunkStarts)?.packed;
    if (starts === undefined) throw new SegmentReplaced();
    if (!ascending) return [0, Math.min(members, chunksBefore(starts, after, true) * perChunk)];
    return [Math.max(0, chunksBefore(starts, after, false) - 1) * perChunk, members];
  }

  /** Of the segments, those with members that have what the filters ask for, in the same order. */
  async #matching(
    run: readonly Segment[],
    { none, minIngested = 0, maxIngested = MAX }: Criteria,
    groups: Groups,
    few = fewMatches,
  ): Promise<Matching[]> {
    let left: Matching[] = run
      .filter((one) => one.members > 0 && one.firstIngested <= maxIngested && one.lastIngested >= minIngested)
      .map((segment) => ({ segment, bits: allBits(segment.members) }));
    for (const group of [...groups].sort((a, b) => a.length - b.length)) {
      for (const { bits, own } of await this.#bitsOf(left, group, few)) keepCommon(own, bits);
      left = left.filter(({ bits }) => hasBits(bits));
    }
    for (const { bits, own } of await this.#bitsOf(left, none, few)) removeBits(own, bits);
    return left.filter(({ bits }) => hasBits(bits));
  }

  /** The members with any of the terms; segments that have few matches left are left out where there are many terms. */
  async #bitsOf(left: readonly Matching[], terms: readonly number[], few: number) {
    if (terms.length === 0) return [];
    const asked = terms.length <= manyTerms ? left : left.filter(({ bits }) => countBits(bits) > few);
    const answers = new Map(
      asked.map(({ segment, bits }) => [
        segment.segment,
        { own: bits, bits: noBits(segment.members), shared: new Set(terms) },
      ]),
    );
    for (const { segment, part, packed } of await this.#parts([...answers.keys()], terms)) {
      const answer = answers.get(segment);
      if (answer?.shared.delete(part) === true) addMembers(answer.bits, packed);
    }
    const rest = [...answers].filter(([, { shared }]) => shared.size > 0);
    const parts = new Set(rest.flatMap(([, { shared }]) => [...shared].map(sharedPart)));
    const segments = rest.map(([segment]) => segment);
    for (const { segment, part, packed } of await this.#parts(segments, [...parts])) {
      const answer = answers.get(segment);
      if (answer !== undefined && part !== isThere) addTermMembers(answer.bits, packed, answer.shared);
    }
    return [...answers.values()];
  }

  /** Those parts of the segments that there are; throws where one of them was replaced. */
  async #parts(segments: readonly number[], parts: readonly number[]): Promise<PartRow[]> {
    if (segments.length === 0 || parts.length === 0) return [];
    const wanted = padded([isThere, ...parts]);
    const rows = await selectIn<PartRow>(
      this.#sql,
      `SELECT segment, part, packed FROM segment_parts
       WHERE part IN (${wanted.map(() => '?').join(', ')}) AND segment IN ({in})`,
      segments,
      ...wanted,
    );
    const there = rows.filter(({ part }) => part === isThere).length;
    if (there < new Set(segments).size) throw new SegmentReplaced();
    return rows;
  }

  /** Members by their number in their segment. */
  async #members(wanted: readonly (readonly [Segment, number])[]): Promise<FoundMember[]> {
    const keys = new Map<string, [segment: number, part: number]>();
    const keyOf = (segment: number, part: number) => `${segment} ${part}`;
    const partOf = (member: number) => chunkPart(Math.floor(member / perChunk));
    for (const [{ segment }, member] of wanted) {
      keys.set(keyOf(segment, partOf(member)), [segment, partOf(member)]);
    }
    const chunks = new Map<string, Buffer>();
    for (const batch of batches([...keys.values()], 2)) {
      const rows = await this.#sql.all<PartRow>(
        `SELECT p.segment, p.part, p.packed FROM (
           ${batch.map(() => 'SELECT CAST(? AS BIGINT) AS segment, CAST(? AS BIGINT) AS part').join(' UNION ALL ')}
         ) w JOIN segment_parts p ON p.segment = w.segment AND p.part = w.part`,
        ...batch.flat(),
      );
      for (const { segment, part, packed } of rows) chunks.set(keyOf(segment, part), packed);
    }
    return wanted.map(([segment, member]) => {
      const chunk = chunks.get(keyOf(segment.segment, partOf(member)));
      if (chunk === undefined) throw new SegmentReplaced();
      return { segment, ...memberAt(chunk, member % perChunk) };
    });
  }
}

/** Neighbours of one kind together, in their order. */
function runsOf(segments: readonly Segment[]): Segment[][] {
  const runs: Segment[][] = [];
  for (const segment of segments) {
    const run = runs.at(-1);
    if (run?.[0]?.isStale === segment.isStale) run.push(segment);
    else runs.push([segment]);
  }
  return runs;
}

/** The one that is farther along. */
function farther(a: OrderKey | undefined, b: OrderKey, ascending: boolean): OrderKey {
  return a === undefined || compareKeys(a, b) > 0 !== ascending ? b : a;
}

/** Filled up to one of few lengths, so that statements are met again. */
function padded(values: readonly number[]): number[] {
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...Array.from({ length: length - values.length }, () => values[0] ?? 0)];
}
