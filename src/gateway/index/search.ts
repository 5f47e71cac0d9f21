/**
 * Pages of records in answer order. The rarest filter drives: its postings are walked from the cursor on, and
 * each candidate is probed for the other filters in the same tree. Work is done in bounded steps with a turn
 * of the event loop between them, so that a filter which matches almost nothing cannot hold the process.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Sql, SqlValue } from '../../storage/sql/sql.ts';
import { compareKeys, type OrderKey, tieOf } from './order.ts';
import { postedTerms, unpackTerms } from './records.ts';
import { selectIn } from './rows.ts';
import { EVERY_TERM, INGESTED_TERM } from './schema.ts';

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
}

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

/** Postings walked in one statement at most. */
const maxStep = 4_096;
/** Up to here a term's postings are counted, beyond it is simply common. */
const countLimit = 20_000;
/** A term with fewer postings is sorted by time of indexing as a whole; others are found along the way. */
const sortLimit = 4_000;

export class Search {
  readonly #sql: Sql;
  readonly #counts = new LRUCache<number, number>({ max: 20_000, ttl: 60_000 });

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Keys of the page's records, in order. */
  async page(request: PageRequest): Promise<OrderKey[]> {
    const { criteria } = request;
    if (criteria.groups.some((group) => group.length === 0) || criteria.minPos > criteria.maxPos) return [];
    if (criteria.records !== undefined) return this.#among(request, criteria.records);
    const groups = await this.#rarestFirst(criteria.groups);
    return request.order === 'height' ? this.#byHeight(request, groups) : this.#byIngestion(request, groups);
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
    }
  }

  /** Walks the postings of the rarest group, steps growing while few candidates pass. */
  async #byHeight(request: PageRequest, groups: readonly (readonly number[])[]): Promise<OrderKey[]> {
    const driver = groups[0] ?? [EVERY_TERM];
    const filter = filterOf(request.criteria, groups.slice(1), 'c.pos');
    const found: OrderKey[] = [];
    let after = request.after;
    let step = filter === undefined ? request.limit : Math.min(maxStep, request.limit * 2);
    for (;;) {
      request.signal?.throwIfAborted();
      const wanted = request.limit - found.length;
      const walk = walkOf(driver, request, after, step);
      if (filter === undefined) return this.#sql.all<OrderKey>(walk.text, ...walk.values);
      const order = orderBy(request.ascending, 'c');
      found.push(
        ...(await this.#sql.all<OrderKey>(
          `SELECT c.pos, c.tie, c.record FROM (${walk.text}) c ${filter.joins}
           WHERE ${filter.text} ${order} LIMIT ?`,
          ...walk.values,
          ...filter.values,
          wanted,
        )),
      );
      if (found.length >= request.limit) return found;
      after = await this.#sql.get<OrderKey>(`${walk.text} OFFSET ?`, ...walk.values.with(-1, 1), step - 1);
      if (after === undefined) return found;
      step = Math.min(maxStep, step * 2);
      await nextTurn();
    }
  }

  async #byIngestion(request: PageRequest, groups: readonly (readonly number[])[]): Promise<OrderKey[]> {
    const driver = groups[0];
    if (driver !== undefined && (await this.#countOf(driver)) <= sortLimit) {
      return this.#sortedByIngestion(request, driver, groups.slice(1));
    }
    const { criteria, ascending } = request;
    const filter = filterOf({ ...criteria, minIngested: undefined, maxIngested: undefined }, groups, 'r.pos');
    const bounds = {
      ...request,
      criteria: { ...criteria, minPos: criteria.minIngested ?? 0, maxPos: criteria.maxIngested ?? MAX },
    };
    const found: OrderKey[] = [];
    let after = request.after;
    let step = Math.min(maxStep, request.limit * 2);
    for (;;) {
      request.signal?.throwIfAborted();
      const walk = walkOf([INGESTED_TERM], bounds, after, step);
      found.push(
        ...(await this.#sql.all<OrderKey>(
          `SELECT c.pos, c.tie, c.record FROM (${walk.text}) c JOIN records r ON r.record = c.record
           WHERE r.pos >= ? AND r.pos <= ? ${filter === undefined ? '' : `AND ${filter.text}`}
           ${orderBy(ascending, 'c')} LIMIT ?`,
          ...walk.values,
          criteria.minPos,
          criteria.maxPos,
          ...(filter?.values ?? []),
          request.limit - found.length,
        )),
      );
      if (found.length >= request.limit) return found;
      const last = await this.#sql.get<OrderKey>(
        `${walk.text} OFFSET ?`,
        ...walk.values.with(-1, 1),
        step - 1,
      );
      if (last === undefined) return found;
      after = last;
      step = Math.min(maxStep, step * 2);
      await nextTurn();
    }
  }

  /** A rare group: all its records, sorted by time of indexing. */
  async #sortedByIngestion(
    request: PageRequest,
    driver: readonly number[],
    probes: readonly (readonly number[])[],
  ): Promise<OrderKey[]> {
    const { criteria, ascending, after } = request;
    const filter = filterOf({ ...criteria, minIngested: undefined, maxIngested: undefined }, probes, 'c.pos');
    const conditions = ['r.indexed_at >= ?', 'r.indexed_at <= ?'];
    const values: SqlValue[] = [criteria.minIngested ?? 0, criteria.maxIngested ?? MAX];
    if (filter !== undefined) {
      conditions.push(filter.text);
      values.push(...filter.values);
    }
    if (after !== undefined) {
      conditions.push(`(r.indexed_at, c.tie, c.record) ${ascending ? '>' : '<'} (?, ?, ?)`);
      values.push(after.pos, after.tie, after.record);
    }
    const direction = ascending ? 'ASC' : 'DESC';
    const statement = `SELECT r.indexed_at AS pos, c.tie, c.record FROM (
        SELECT DISTINCT pos, tie, record FROM postings
        WHERE term IN (${placeholders(driver.length)}) AND pos >= ? AND pos <= ?
      ) c JOIN records r ON r.record = c.record WHERE ${conditions.join(' AND ')}
      ORDER BY r.indexed_at ${direction}, c.tie ${direction}, c.record ${direction} LIMIT ?`;
    return this.#sql.all<OrderKey>(
      statement,
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
    interface Candidate {
      record: number;
      id: Buffer;
      kind: number;
      pos: number;
      indexed_at: number;
      terms: Buffer;
    }
    const rows = await selectIn<Candidate>(
      this.#sql,
      'SELECT record, id, kind, pos, indexed_at, terms FROM records WHERE record IN ({in})',
      records,
    );
    const sign = ascending ? 1 : -1;
    return rows
      .filter((row) => {
        const terms = new Set(postedTerms(row.kind, unpackTerms(row.terms)));
        return (
          row.pos >= criteria.minPos &&
          row.pos <= criteria.maxPos &&
          row.indexed_at >= (criteria.minIngested ?? 0) &&
          row.indexed_at <= (criteria.maxIngested ?? MAX) &&
          criteria.groups.every((group) => group.some((term) => terms.has(term))) &&
          !criteria.none.some((term) => terms.has(term))
        );
      })
      .map((row) => ({
        pos: order === 'height' ? row.pos : row.indexed_at,
        tie: tieOf(row.id),
        record: row.record,
      }))
      .filter((key) => after === undefined || compareKeys(key, after) * sign > 0)
      .sort((a, b) => compareKeys(a, b) * sign)
      .slice(0, limit);
  }

  async #rarestFirst(groups: readonly (readonly number[])[]): Promise<(readonly number[])[]> {
    if (groups.length < 2) return [...groups];
    const counted: { group: readonly number[]; count: number }[] = [];
    for (const group of groups) counted.push({ group, count: await this.#countOf(group) });
    return counted.sort((a, b) => a.count - b.count).map(({ group }) => group);
  }

  /** About how many postings the terms have; remembered for a while. */
  async #countOf(terms: readonly number[]): Promise<number> {
    let total = 0;
    for (const term of terms) {
      if (total > countLimit) return total;
      let count = this.#counts.get(term);
      if (count === undefined) {
        const row = await this.#sql.get<{ n: number }>(
          'SELECT count(*) AS n FROM (SELECT 1 FROM postings WHERE term = ? LIMIT ?) t',
          term,
          countLimit,
        );
        count = row?.n ?? 0;
        this.#counts.set(term, count);
      }
      total += count;
    }
    return total;
  }
}

const MAX = Number.MAX_SAFE_INTEGER;

interface SqlPart {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

const placeholders = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

function orderBy(ascending: boolean, table: string): string {
  const direction = ascending ? 'ASC' : 'DESC';
  return `ORDER BY ${table}.pos ${direction}, ${table}.tie ${direction}, ${table}.record ${direction}`;
}

/**
 * The next `limit` postings of any of the terms in order, each record once: as many limited branches as there
 * are terms, united. The last bound value is always the limit.
 */
function walkOf(
  terms: readonly number[],
  request: PageRequest,
  after: OrderKey | undefined,
  limit: number,
): SqlPart {
  const { minPos, maxPos } = request.criteria;
  const { ascending } = request;
  const beyond = after === undefined ? '' : `AND (t.pos, t.tie, t.record) ${ascending ? '>' : '<'} (?, ?, ?)`;
  const branch = `SELECT t.pos, t.tie, t.record FROM postings t
    WHERE t.term = ? AND t.pos >= ? AND t.pos <= ? ${beyond} ${orderBy(ascending, 't')} LIMIT ?`;
  // The cursor bounds the position as well, which every planner turns into a range of the tree.
  const low = ascending && after !== undefined ? Math.max(minPos, after.pos) : minPos;
  const high = !ascending && after !== undefined ? Math.min(maxPos, after.pos) : maxPos;
  const bind = (term: number): SqlValue[] => [
    term,
    low,
    high,
    ...(after === undefined ? [] : [after.pos, after.tie, after.record]),
    limit,
  ];
  const only = terms[0];
  if (terms.length === 1 && only !== undefined) return { text: branch, values: bind(only) };
  const union = terms.map((_, index) => `SELECT * FROM (${branch}) b${index}`).join(' UNION ');
  return {
    text: `SELECT u.pos, u.tie, u.record FROM (${union}) u ${orderBy(ascending, 'u')} LIMIT ?`,
    values: [...terms.flatMap(bind), limit],
  };
}

/** The conditions that a candidate `c` must pass besides the driver's; undefined when there are none. */
function filterOf(
  criteria: Criteria,
  probes: readonly (readonly number[])[],
  pos: 'c.pos' | 'r.pos',
): (SqlPart & { readonly joins: string }) | undefined {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const probe = (terms: readonly number[]) => {
    values.push(...terms);
    return `EXISTS (SELECT 1 FROM postings p WHERE p.term IN (${placeholders(terms.length)})
      AND p.pos = ${pos} AND p.tie = c.tie AND p.record = c.record)`;
  };
  for (const group of probes) conditions.push(probe(group));
  if (criteria.none.length > 0) conditions.push(`NOT ${probe(criteria.none)}`);
  let joins = '';
  if (criteria.minIngested !== undefined || criteria.maxIngested !== undefined) {
    joins = 'JOIN records r ON r.record = c.record';
    conditions.push('r.indexed_at >= ? AND r.indexed_at <= ?');
    values.push(criteria.minIngested ?? 0, criteria.maxIngested ?? MAX);
  }
  return conditions.length === 0 ? undefined : { text: conditions.join(' AND '), values, joins };
}
