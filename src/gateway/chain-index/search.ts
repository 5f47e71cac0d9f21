/**
 * Pages of records in answer order. The rarest filter drives: its postings are scanned from the cursor on, and
 * each candidate is probed for the other filters in the same tree. Where filters seldom meet, that would walk through
 * all of them: after some hundred candidates the segments say where to look (`segments.ts`). Work is done in bounded
 * steps with a turn of the event loop between them, so that nothing can hold the process.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import type { Sql, SqlValue } from '../../storage/sql/sql.ts';
import { compareKeys, type OrderKey, tieOf } from './order.ts';
import {
  type Criteria,
  type Groups,
  type Interruption,
  type PageRequest,
  passes,
  readJudged,
} from './page-request.ts';
import { farthestNext, MergedScan, orderBy, type ScanRange, type SqlPart, scanOf } from './scan.ts';
import { SegmentSearch } from './segment-search.ts';
import { EVERY_TERM, INGESTED_TERM } from './terms.ts';

/** Postings scanned by one statement at most, and look-ups into the tree that it may cost. */
const maxStep = 4_096;
const maxLookups = 32_768;
/** Candidates judged at once where several terms are merged. */
const judgedAtOnce = 256;
/** Candidates that are looked at one by one before the segments are asked, beside one for each row of the page. */
const usuallyWalked = 400;
/** Up to here a term's postings are counted, beyond it is simply common. */
const countLimit = 5_000;
/** Postings over which the density of a common term is measured. */
const densitySample = 2_000;
/** A term with fewer postings is sorted by time of indexing as a whole; others are found along the way. */
const sortLimit = 4_000;
const MAX = Number.MAX_SAFE_INTEGER;

/** Keys that a walk found, and where it stopped; at its end nothing is left. */
interface Walked {
  readonly found: OrderKey[];
  readonly stopped?: OrderKey | undefined;
}

export class Search {
  readonly #sql: Sql;
  readonly #segments: SegmentSearch;
  readonly #walkedFirst: number;
  readonly #counts = new LRUCache<number, number>({ ...atMost(20_000), ttl: 60_000 });

  constructor(sql: Sql, walkedFirst = usuallyWalked) {
    this.#sql = sql;
    this.#walkedFirst = walkedFirst;
    this.#segments = new SegmentSearch(sql);
  }

  /** Keys of the page's records, in order. */
  async page(request: PageRequest): Promise<OrderKey[]> {
    const { criteria } = request;
    if (criteria.groups.some((group) => group.length === 0) || criteria.minPos > criteria.maxPos) return [];
    if (criteria.records !== undefined) return this.#among(request, criteria.records);
    const groups = await this.#rarestFirst(criteria.groups);
    if (request.order === 'ingested') return this.#byIngestion(request, groups);
    const { ascending, limit } = request;
    const range = { ascending, minPos: criteria.minPos, maxPos: criteria.maxPos };
    const { found, stopped } = await this.#walk(request, groups, range, this.#walkedFirst + limit);
    if (stopped === undefined) return found;
    const rest = { ...request, after: stopped, limit: limit - found.length };
    found.push(...(await this.#segments.byHeight(rest, groups, this.#walkerOf(request, groups))));
    return found;
  }

  /** Whoever leaves a stretch of the order to be walked through. */
  #walkerOf(request: PageRequest, groups: Groups) {
    return async (range: ScanRange, after: OrderKey | undefined, limit: number): Promise<OrderKey[]> =>
      (await this.#walk({ ...request, after, limit }, groups, range)).found;
  }

  /** Looks at the candidates of the first group one by one, at so many at most. */
  #walk(request: PageRequest, groups: Groups, range: ScanRange, maxWalked?: number): Promise<Walked> {
    const driver = groups[0] ?? [EVERY_TERM];
    const [term] = driver;
    if (driver.length > 1 || term === undefined) {
      return this.#byMerging(request, driver, groups.length, range, maxWalked);
    }
    const others = groups.slice(1);
    return this.#along(request, term, range, probeOf(request.criteria, others, 'c.pos'), others, maxWalked);
  }

  /** How many records match, counted up to a limit; undefined beyond it. */
  async count(criteria: Criteria, limit: number, signal?: Interruption): Promise<number | undefined> {
    const request = { criteria, order: 'height', ascending: true, after: undefined, signal, limit } as const;
    if (criteria.groups.some((group) => group.length === 0) || criteria.minPos > criteria.maxPos) return 0;
    if (criteria.records !== undefined) {
      return (await this.#among({ ...request, limit: criteria.records.length }, criteria.records)).length;
    }
    const groups = await this.#rarestFirst(criteria.groups);
    return this.#segments.count(request, groups, this.#walkerOf(request, groups));
  }

  /**
   * Walks the postings of one term, steps growing while few candidates pass the probe. A step without a match is
   * followed by a leap to where the others go on: terms that lie in different stretches of the chain meet at once.
   */
  async #along(
    request: PageRequest,
    term: number,
    range: ScanRange,
    probe: Probe | undefined,
    others: Groups = [],
    maxWalked = Number.POSITIVE_INFINITY,
  ): Promise<Walked> {
    if (probe === undefined) {
      const scan = scanOf(term, range, request.after, request.limit);
      return { found: await this.#sql.all<OrderKey>(scan.text, ...scan.values) };
    }
    const found: OrderKey[] = [];
    const largest = Math.max(64, Math.min(maxStep, Math.floor(maxLookups / probe.cost)));
    let step = Math.min(largest, request.limit * 2);
    let walked = 0;
    for (let after = request.after; ; ) {
      request.signal?.throwIfAborted();
      const scan = scanOf(term, range, after, step);
      const matching = await this.#sql.all<OrderKey>(
        `SELECT c.pos, c.tie, c.record FROM (${scan.text}) c ${probe.joins} WHERE ${probe.text}
         ${orderBy(range.ascending, 'c')} LIMIT ?`,
        ...scan.values,
        ...probe.values,
        request.limit - found.length,
      );
      found.push(...matching);
      if (found.length >= request.limit) return { found };
      after = await this.#sql.get<OrderKey>(`${scan.text} OFFSET ?`, ...scan.values.with(-1, 1), step - 1);
      if (after === undefined) return { found };
      if (matching.length === 0) after = await farthestNext(this.#sql, others, range, after);
      if (after === undefined) return { found };
      walked += step;
      if (walked >= maxWalked) return { found, stopped: after };
      step = Math.min(largest, step * 2);
      await nextTurn();
    }
  }

  /** Several terms drive: their postings are merged, and candidates judged by their records. */
  async #byMerging(
    request: PageRequest,
    driver: readonly number[],
    groups: number,
    range: ScanRange,
    maxWalked = Number.POSITIVE_INFINITY,
  ): Promise<Walked> {
    const { criteria, limit } = request;
    const { none, minIngested, maxIngested } = criteria;
    const scan = new MergedScan(this.#sql, driver, range, request.after);
    if (groups === 1 && none.length === 0 && minIngested === undefined && maxIngested === undefined) {
      return { found: await scan.take(limit) };
    }
    const found: OrderKey[] = [];
    for (let walked = judgedAtOnce; ; walked += judgedAtOnce) {
      request.signal?.throwIfAborted();
      const candidates = await scan.take(judgedAtOnce);
      const rows = await readJudged(
        this.#sql,
        candidates.map(({ record }) => record),
      );
      const good = new Set(rows.filter((row) => passes(row, criteria)).map(({ record }) => record));
      for (const key of candidates) {
        if (good.has(key.record)) found.push(key);
        if (found.length === limit) return { found };
      }
      if (candidates.length < judgedAtOnce) return { found };
      // To read a record costs twice as much as to look a posting up.
      if (2 * walked >= maxWalked) return { found, stopped: candidates.at(-1) };
      await nextTurn();
    }
  }

  async #byIngestion(request: PageRequest, groups: Groups): Promise<OrderKey[]> {
    const { criteria, ascending } = request;
    const [driver] = groups;
    if (driver !== undefined && (await this.#countOf(driver)) <= sortLimit) {
      return this.#sortedByIngestion(request, driver, groups.slice(1));
    }
    const { minPos, maxPos, none } = criteria;
    const range = { ascending, minPos: criteria.minIngested ?? 0, maxPos: criteria.maxIngested ?? MAX };
    const everywhere = minPos === 0 && maxPos === MAX;
    if (groups.length === 0 && none.length === 0 && everywhere) {
      return (await this.#along(request, INGESTED_TERM, range, undefined)).found;
    }
    const others = probeOf({ none, minIngested: undefined, maxIngested: undefined }, groups, 'r.pos');
    const probe: Probe = {
      joins: 'JOIN records r ON r.record = c.record',
      text: `r.pos >= ? AND r.pos <= ?${others === undefined ? '' : ` AND ${others.text}`}`,
      values: [minPos, maxPos, ...(others?.values ?? [])],
      cost: 1 + (others?.cost ?? 0),
    };
    const tried = this.#walkedFirst + request.limit;
    const { found, stopped } = await this.#along(request, INGESTED_TERM, range, probe, [], tried);
    if (stopped === undefined) return found;
    const rest = { ...request, after: stopped, limit: request.limit - found.length };
    const further =
      (await this.#segments.byIngestion(rest, groups, this.#walkerOf(request, groups))) ??
      (await this.#along(rest, INGESTED_TERM, range, probe)).found;
    return [...found, ...further];
  }

  /** A rare group: all its records, sorted by time of indexing. */
  async #sortedByIngestion(
    request: PageRequest,
    driver: readonly number[],
    groups: Groups,
  ): Promise<OrderKey[]> {
    const { criteria, ascending, after } = request;
    const probe = probeOf({ ...criteria, minIngested: undefined, maxIngested: undefined }, groups, 'c.pos');
    const conditions = ['r.indexed_at >= ?', 'r.indexed_at <= ?'];
    const values: SqlValue[] = [criteria.minIngested ?? 0, criteria.maxIngested ?? MAX];
    if (probe !== undefined) {
      conditions.push(probe.text);
      values.push(...probe.values);
    }
    if (after !== undefined) {
      conditions.push(`(r.indexed_at, c.tie, c.record) ${ascending ? '>' : '<'} (?, ?, ?)`);
      values.push(after.pos, after.tie, after.record);
    }
    const direction = ascending ? 'ASC' : 'DESC';
    return this.#sql.all<OrderKey>(
      `SELECT r.indexed_at AS pos, c.tie, c.record FROM (
         SELECT DISTINCT pos, tie, record FROM postings
         WHERE term IN (${placeholders(driver.length)}) AND pos >= ? AND pos <= ?
       ) c JOIN records r ON r.record = c.record WHERE ${conditions.join(' AND ')}
       ORDER BY r.indexed_at ${direction}, c.tie ${direction}, c.record ${direction} LIMIT ?`,
      ...driver,
      criteria.minPos,
      criteria.maxPos,
      ...values,
      request.limit,
    );
  }

  /** A page among listed records: they are few, so they are read and judged one by one. */
  async #among(request: PageRequest, records: readonly number[]): Promise<OrderKey[]> {
    const { criteria, order, ascending, after, limit } = request;
    const rows = await readJudged(this.#sql, records);
    const sign = ascending ? 1 : -1;
    return rows
      .filter((row) => passes(row, criteria))
      .map((row) => ({
        pos: order === 'height' ? row.pos : row.indexed_at,
        tie: tieOf(row.id),
        record: row.record,
      }))
      .filter((key) => after === undefined || compareKeys(key, after) * sign > 0)
      .sort((a, b) => compareKeys(a, b) * sign)
      .slice(0, limit);
  }

  async #rarestFirst(groups: Groups): Promise<Groups> {
    if (groups.length < 2) return groups;
    const counted: { group: readonly number[]; count: number }[] = [];
    for (const group of groups) counted.push({ group, count: await this.#countOf(group) });
    return counted.sort((a, b) => a.count - b.count).map(({ group }) => group);
  }

  /** About how many postings the terms have; remembered for a while. */
  async #countOf(terms: readonly number[]): Promise<number> {
    let total = 0;
    for (const term of terms) {
      let count = this.#counts.get(term);
      if (count === undefined) {
        count = await this.#estimate(term);
        this.#counts.set(term, count);
      }
      total += count;
    }
    return total;
  }

  /** Exact for rare terms. Common ones are compared by how densely they lie in the newest part of the order. */
  async #estimate(term: number): Promise<number> {
    const row = await this.#sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM (SELECT 1 FROM postings WHERE term = ? LIMIT ?) t',
      term,
      countLimit,
    );
    if (row === undefined || row.n < countLimit) return row?.n ?? 0;
    const [newest, older] = await this.#sql.all<{ pos: number }>(
      `SELECT max(pos) AS pos FROM postings WHERE term = ? UNION ALL
       SELECT pos FROM (SELECT pos FROM postings WHERE term = ? ORDER BY pos DESC LIMIT 1 OFFSET ?) t`,
      term,
      term,
      densitySample,
    );
    const span = 1 + (newest?.pos ?? 0) - (older?.pos ?? 0);
    return countLimit + densitySample * (MAX / 2 ** 20 / span);
  }
}

const placeholders = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

interface Probe extends SqlPart {
  readonly joins: string;
  /** Look-ups that one candidate may cost. */
  readonly cost: number;
}

/** The conditions that a candidate `c` must pass besides the driver's; undefined when there are none. */
function probeOf(
  criteria: Pick<Criteria, 'none' | 'minIngested' | 'maxIngested'>,
  groups: Groups,
  pos: 'c.pos' | 'r.pos',
): Probe | undefined {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const probe = (terms: readonly number[]) => {
    values.push(...terms);
    return `EXISTS (SELECT 1 FROM postings p WHERE p.term IN (${placeholders(terms.length)})
      AND p.pos = ${pos} AND p.tie = c.tie AND p.record = c.record)`;
  };
  for (const group of groups) conditions.push(probe(group));
  if (criteria.none.length > 0) conditions.push(`NOT ${probe(criteria.none)}`);
  const cost = Math.max(1, values.length);
  let joins = '';
  if (criteria.minIngested !== undefined || criteria.maxIngested !== undefined) {
    joins = 'JOIN records r ON r.record = c.record';
    conditions.push('r.indexed_at >= ? AND r.indexed_at <= ?');
    values.push(criteria.minIngested ?? 0, criteria.maxIngested ?? Number.MAX_SAFE_INTEGER);
  }
  return conditions.length === 0 ? undefined : { text: conditions.join(' AND '), values, joins, cost };
}
