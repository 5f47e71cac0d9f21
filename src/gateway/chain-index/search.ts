/**
 * Pages of records in answer order. The rarest filter drives: its postings are scanned from the cursor on, and
 * each candidate is probed for the other filters in the same tree. Work is done in bounded steps with a turn
 * of the event loop between them, so that a filter which matches almost nothing cannot hold the process.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import type { Sql, SqlValue } from '../../storage/sql/sql.ts';
import { compareKeys, type OrderKey, tieOf } from './order.ts';
import { postedTerms, type Selected, unpackTerms } from './records.ts';
import { selectIn } from './rows.ts';
import { farthestNext, MergedScan, orderBy, type ScanRange, type SqlPart, scanOf } from './scan.ts';
import { EVERY_TERM, INGESTED_TERM } from './terms.ts';

/** Asked between steps: throws when nobody waits for the answer any more. An `AbortSignal` is one. */
export interface Interruption {
  throwIfAborted(): void;
}

export type SearchOrder = 'height' | 'ingested';

export interface PageRequest {
  readonly criteria: Criteria;
  readonly order: SearchOrder;
  readonly ascending: boolean;
  /** Strictly after this key; for the order `ingested`, `pos` is the time of indexing. */
  readonly after: OrderKey | undefined;
  readonly limit: number;
  readonly signal: Interruption | undefined;
}

type Groups = readonly (readonly number[])[];

/** Postings scanned by one statement at most, and look-ups into the tree that it may cost. */
const maxStep = 4_096;
const maxLookups = 32_768;
/** Candidates judged at once where several terms are merged. */
const judgedAtOnce = 256;
/** Up to here a term's postings are counted, beyond it is simply common. */
const countLimit = 20_000;
/** Postings over which the density of a common term is measured. */
const densitySample = 2_000;
/** A term with fewer postings is sorted by time of indexing as a whole; others are found along the way. */
const sortLimit = 4_000;
const MAX = Number.MAX_SAFE_INTEGER;

export class Search {
  readonly #sql: Sql;
  readonly #counts = new LRUCache<number, number>({ ...atMost(20_000), ttl: 60_000 });

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Keys of the page's records, in order. */
  async page(request: PageRequest): Promise<OrderKey[]> {
    const { criteria } = request;
    if (criteria.groups.some((group) => group.length === 0) || criteria.minPos > criteria.maxPos) return [];
    if (criteria.records !== undefined) return this.#among(request, criteria.records);
    const groups = await this.#rarestFirst(criteria.groups);
    if (request.order === 'ingested') return this.#byIngestion(request, groups);
    const driver = groups[0] ?? [EVERY_TERM];
    const [term] = driver;
    if (driver.length > 1 || term === undefined) return this.#byMerging(request, driver, groups.length);
    const range = { ascending: request.ascending, minPos: criteria.minPos, maxPos: criteria.maxPos };
    const others = groups.slice(1);
    return this.#along(request, term, range, probeOf(criteria, others, 'c.pos'), others);
  }

  /** How many records match, counted up to a limit; undefined beyond it. */
  async count(criteria: Criteria, limit: number, signal?: Interruption): Promise<number | undefined> {
    const base = { criteria, order: 'height', ascending: true, signal, limit: maxStep } as const;
    if (criteria.records !== undefined) {
      return (await this.page({ ...base, after: undefined, limit: criteria.records.length })).length;
    }
    let counted = 0;
    for (let after: OrderKey | undefined; ; ) {
      const found: OrderKey[] = await this.page({ ...base, after });
      counted += found.length;
      after = found.at(-1);
      if (found.length < maxStep || after === undefined) return counted;
      if (counted > limit) return undefined;
      signal?.throwIfAborted();
      await nextTurn();
    }
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
  ): Promise<OrderKey[]> {
    if (probe === undefined) {
      const scan = scanOf(term, range, request.after, request.limit);
      return this.#sql.all<OrderKey>(scan.text, ...scan.values);
    }
    const found: OrderKey[] = [];
    const largest = Math.max(64, Math.min(maxStep, Math.floor(maxLookups / probe.cost)));
    let step = Math.min(largest, request.limit * 2);
    for (let after = request.after; ; ) {
      request.signal?.throwIfAborted();
      const scan = scanOf(term, range, after, step);
      const matching = await this.#sql.all<OrderKey>(
        `SELECT c.pos, c.tie, c.record FROM (${scan.text}) c ${probe.joins} WHERE ${probe.text}
         ${orderBy(request.ascending, 'c')} LIMIT ?`,
        ...scan.values,
        ...probe.values,
        request.limit - found.length,
      );
      found.push(...matching);
      if (found.length >= request.limit) return found;
      after = await this.#sql.get<OrderKey>(`${scan.text} OFFSET ?`, ...scan.values.with(-1, 1), step - 1);
      if (after === undefined) return found;
      if (matching.length === 0) after = await farthestNext(this.#sql, others, range, after);
      if (after === undefined) return found;
      step = Math.min(largest, step * 2);
      await nextTurn();
    }
  }

  /** Several terms drive: their postings are merged, and candidates judged by their records. */
  async #byMerging(request: PageRequest, driver: readonly number[], groups: number): Promise<OrderKey[]> {
    const { criteria, limit, ascending } = request;
    const { minPos, maxPos, none, minIngested, maxIngested } = criteria;
    const scan = new MergedScan(this.#sql, driver, { ascending, minPos, maxPos }, request.after);
    if (groups === 1 && none.length === 0 && minIngested === undefined && maxIngested === undefined) {
      return scan.take(limit);
    }
    const found: OrderKey[] = [];
    for (;;) {
      request.signal?.throwIfAborted();
      const candidates = await scan.take(judgedAtOnce);
      const rows = await this.#judged(candidates.map(({ record }) => record));
      const good = new Set(rows.filter((row) => passes(row, criteria)).map(({ record }) => record));
      for (const key of candidates) {
        if (good.has(key.record)) found.push(key);
        if (found.length === limit) return found;
      }
      if (candidates.length < judgedAtOnce) return found;
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
      return this.#along(request, INGESTED_TERM, range, undefined);
    }
    const probe = probeOf({ none, minIngested: undefined, maxIngested: undefined }, groups, 'r.pos');
    return this.#along(request, INGESTED_TERM, range, {
      joins: 'JOIN records r ON r.record = c.record',
      text: `r.pos >= ? AND r.pos <= ?${probe === undefined ? '' : ` AND ${probe.text}`}`,
      values: [minPos, maxPos, ...(probe?.values ?? [])],
      cost: 1 + (probe?.cost ?? 0),
    });
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
    const rows = await this.#judged(records);
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

  #judged(records: readonly number[]): Promise<JudgedRecord[]> {
    return selectIn(this.#sql, `SELECT ${judgedColumns} FROM records WHERE record IN ({in})`, records);
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

export interface Criteria {
  /** Records must have at least one term of every group. An empty group matches nothing. */
  readonly groups: readonly (readonly number[])[];
  /** Records must have none of these terms. */
  readonly none: readonly number[];
  /** Inclusive bounds of the position. */
  readonly minPos: number;
  readonly maxPos: number;
  /** Inclusive bounds of the time of indexing, unix seconds. */
  readonly minIngested: number | undefined;
  readonly maxIngested: number | undefined;
  /** Only these records, where given. */
  readonly records: readonly number[] | undefined;
  /** The same for the history, by id. */
  readonly ids?: readonly Buffer[] | undefined;
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
  groups: readonly (readonly number[])[],
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

/** What a record is judged by. */
const judgedColumns = 'record, id, kind, pos, indexed_at, terms';
type JudgedRecord = Selected<typeof judgedColumns>;

/** Whether a record that was read has what the filters ask for. */
function passes(row: JudgedRecord, criteria: Criteria): boolean {
  const terms = new Set(postedTerms(row.kind, unpackTerms(row.terms)));
  return (
    row.pos >= criteria.minPos &&
    row.pos <= criteria.maxPos &&
    row.indexed_at >= (criteria.minIngested ?? 0) &&
    row.indexed_at <= (criteria.maxIngested ?? Number.MAX_SAFE_INTEGER) &&
    criteria.groups.every((group) => group.some((term) => terms.has(term))) &&
    !criteria.none.some((term) => terms.has(term))
  );
}
