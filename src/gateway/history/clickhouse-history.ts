/**
 * The history in ClickHouse, as the index asks it.
 *
 * Old servers sort everything that the conditions leave, so a walk in order never asks for all of a term: it asks for a
 * closed window of positions, at first one that holds a few thousand items, and for one eight times as wide while it
 * yields too little. A common term is answered by the first window, a rare one by few rows in wide ones; the cost follows
 * the page, not the size of the history.
 */
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { History, HistoryRow } from '../chain-index/history.ts';
import { compareKeys, type FoundKey, type OrderKey, type PlaceKey, tieOf } from '../chain-index/order.ts';
import type { Criteria, PageRequest } from '../chain-index/page-request.ts';
import { type ClickHouse, isTooMuch } from './clickhouse.ts';
import {
  amongKeys,
  type Dialect,
  dialectOf,
  fromKey,
  matching,
  tieText,
  type Window,
  withTerms,
} from './conditions.ts';
import { type Extent, type OpenBatch, openBatches, readExtent } from './extent.ts';
import { readColumns, readItem } from './item-rows.ts';
import { RowReader } from './row-binary.ts';
import { tableOf } from './tables.ts';

/** Items that the first window is meant to hold, and how much wider each next one is. */
const firstItems = 16_384;
const widening = 8;
/** Keys of one statement: 50 bytes each, of the mebibyte that a statement may have. */
const keysAtOnce = 4_096;
/** Positions that are listed in a statement; more are found by a subquery. */
const listedPositions = 2_000;
const keptRowBytes = 16 * 1024 * 1024;

interface HistoryOptions {
  readonly sql: Sql;
  readonly server: ClickHouse;
  readonly cluster: string | undefined;
}

type Groups = readonly (readonly number[])[];

export class ClickHouseHistory implements History {
  readonly #sql: Sql;
  readonly #server: ClickHouse;
  readonly #dialect: Dialect;
  /** Of what is read for a page, which is wanted again when the page is written. */
  readonly #rows = new LRUCache<string, HistoryRow>({
    maxSize: keptRowBytes,
    sizeCalculation: (row) => 600 + row.tags.length,
  });
  /** How wide the last window was that was enough for these terms. */
  readonly #widths = new LRUCache<string, number>(atMost(10_000));

  constructor({ sql, server, cluster }: HistoryOptions) {
    this.#sql = sql;
    this.#server = server;
    this.#dialect = dialectOf(cluster);
  }

  async batches(): Promise<number> {
    return (await readExtent(this.#sql)).batches;
  }

  async progress(): Promise<string> {
    const { batches } = await readExtent(this.#sql);
    return JSON.stringify([batches, await openBatches(this.#sql)]);
  }

  async page(request: PageRequest, until: OrderKey | undefined): Promise<FoundKey[]> {
    const { criteria } = request;
    const extent = await readExtent(this.#sql);
    const groups = groupsHere(criteria);
    if (groups === undefined || extent.items === 0) return [];
    if (criteria.ids !== undefined) return this.#among(request, criteria.ids, groups);
    return request.order === 'height'
      ? this.#byHeight(request, groups, extent, until)
      : this.#byIngestion(request, groups, extent, until);
  }

  async count(criteria: Criteria, limit: number): Promise<number | undefined> {
    const extent = await readExtent(this.#sql);
    const groups = groupsHere(criteria);
    if (groups === undefined || extent.items === 0) return 0;
    const open = await openBatches(this.#sql);
    const window = windowOf(criteria, extent);
    if (window.from > window.to) return 0;
    if (criteria.ids !== undefined) {
      const request = { criteria, order: 'height', ascending: true, limit: criteria.ids.length } as const;
      const keys = await this.#among(
        { ...request, after: undefined, signal: undefined },
        criteria.ids,
        groups,
        open,
      );
      return keys.length;
    }
    const stillInSql = open.map(outOfSql).join('');
    const source = matching(criteria, groups, window, this.#dialect);
    try {
      const answer = await this.#server.select(
        `SELECT count() FROM (SELECT DISTINCT pos, tie ${source}${stillInSql} LIMIT ${limit + 1})`,
      );
      const counted = new RowReader(answer).uint64();
      return counted > limit ? undefined : counted;
    } catch (error) {
      if (isTooMuch(error)) return undefined;
      throw error;
    }
  }

  async rowsAt(keys: readonly PlaceKey[]): Promise<HistoryRow[]> {
    const found: HistoryRow[] = [];
    const unknown: PlaceKey[] = [];
    for (const key of keys) {
      const kept = this.#rows.get(nameOf(key));
      if (kept === undefined) unknown.push(key);
      else found.push(kept);
    }
    for (let at = 0; at < unknown.length; at += keysAtOnce) {
      found.push(...(await this.#read(unknown.slice(at, at + keysAtOnce))));
    }
    return found;
  }

  async byIds(ids: readonly Buffer[]): Promise<HistoryRow[]> {
    // Before anything was moved there is no table either.
    if (ids.length === 0 || (await readExtent(this.#sql)).items === 0) return [];
    const wanted = new Set(ids.map((id) => id.toString('latin1')));
    const keys: PlaceKey[] = [];
    const ties = [...new Set(ids.map(tieOf))];
    for (let at = 0; at < ties.length; at += keysAtOnce) {
      const list = ties.slice(at, at + keysAtOnce).map(tieText);
      const rows = new RowReader(
        await this.#server.select(
          `SELECT DISTINCT tie, pos FROM ${tableOf('ids')} WHERE tie IN (${list.join(', ')})`,
        ),
      );
      while (!rows.isAtEnd) keys.push({ tie: rows.uint48(), pos: rows.uint64() });
    }
    return (await this.rowsAt(keys)).filter(({ id }) => wanted.has(id.toString('latin1')));
  }

  async signatures(keys: readonly PlaceKey[]): Promise<ReadonlyMap<number, Buffer>> {
    const found = new Map<number, Buffer>();
    if (keys.length === 0) return found;
    const rows = new RowReader(
      await this.#server.select(
        `SELECT record, signature FROM ${tableOf('records')} WHERE ${amongKeys(keys)}`,
      ),
    );
    while (!rows.isAtEnd) {
      const record = rows.uint64();
      const signature = Buffer.from(rows.string());
      if (signature.length > 0) found.set(record, signature);
    }
    return found;
  }

  async #read(keys: readonly PlaceKey[]): Promise<HistoryRow[]> {
    const rows = new RowReader(
      await this.#server.select(`SELECT ${readColumns} FROM ${tableOf('records')} WHERE ${amongKeys(keys)}`),
    );
    const found = new Map<string, HistoryRow>();
    while (!rows.isAtEnd) {
      const row = readItem(rows);
      found.set(nameOf(keyOf(row)), row);
    }
    for (const [name, row] of found) this.#rows.set(name, row);
    return [...found.values()];
  }

  /** Windows from the cursor on, until there is enough or nothing is left. */
  async #byHeight(
    request: PageRequest,
    groups: Groups,
    extent: Extent,
    until: OrderKey | undefined,
  ): Promise<FoundKey[]> {
    const { criteria, ascending, after, limit } = request;
    const range = cut(windowOf(criteria, extent), request, until);
    // An item in SQL may share the place of the cursor: the record key decides, which is not among the postings.
    const beyond = after === undefined ? '' : ` AND ${fromKey(after, ascending)}`;
    const wanted = after === undefined ? limit : limit + 1;
    const direction = ascending ? 'ASC' : 'DESC';
    const places: PlaceKey[] = [];
    const perPosition = density(extent.items, extent.first_pos, extent.last_pos);
    await this.#widen(request, groups, range, perPosition, async (window) => {
      const rows = new RowReader(
        await this.#server.select(
          `SELECT DISTINCT pos, tie ${matching(criteria, groups, window, this.#dialect)}${beyond}
           ORDER BY pos ${direction}, tie ${direction} LIMIT ${wanted - places.length}`,
        ),
      );
      while (!rows.isAtEnd) places.push({ pos: rows.uint64(), tie: rows.uint48() });
      return places.length >= wanted;
    });
    const sign = ascending ? 1 : -1;
    return (await this.rowsAt(places))
      .map((row) => ({ ...keyOf(row), minedAt: row.pos }))
      .filter((key) => after === undefined || compareKeys(key, after) * sign > 0)
      .sort((a, b) => compareKeys(a, b) * sign)
      .slice(0, limit);
  }

  /** The same over times of indexing: the seconds of a window name the positions to look at. */
  async #byIngestion(
    request: PageRequest,
    groups: Groups,
    extent: Extent,
    until: OrderKey | undefined,
  ): Promise<FoundKey[]> {
    const { criteria, ascending, after, limit } = request;
    const { minIngested = 0, maxIngested = Number.MAX_SAFE_INTEGER } = criteria;
    const { first_ingested, last_ingested } = extent;
    const seconds = { from: Math.max(minIngested, first_ingested), to: Math.min(maxIngested, last_ingested) };
    const range = cut(seconds, request, until);
    const heights = windowOf(criteria, extent);
    const direction = ascending ? 'ASC' : 'DESC';
    const sign = ascending ? '>' : '<';
    const beyond =
      after === undefined
        ? ''
        : ` AND (indexed_at ${sign} ${after.pos} OR (indexed_at = ${after.pos} AND (tie ${sign} ${tieText(after.tie)} OR (tie = ${tieText(after.tie)} AND record ${sign} ${after.record}))))`;
    const keys: FoundKey[] = [];
    const perSecond = density(extent.items, extent.first_ingested, extent.last_ingested);
    await this.#widen(request, groups, range, perSecond, async (seconds) => {
      const positions = await this.#positionsIn(seconds, heights);
      if (positions === undefined) return false;
      const inPositions = positions;
      const conditions = groups.map(
        (group) => `(pos, tie) ${this.#dialect.in} (${withTerms(group, inPositions)})`,
      );
      if (criteria.none.length > 0) {
        conditions.push(`(pos, tie) ${this.#dialect.notIn} (${withTerms(criteria.none, inPositions)})`);
      }
      const rows = new RowReader(
        await this.#server.select(
          `SELECT DISTINCT indexed_at, tie, record, pos FROM ${tableOf('records')}
           WHERE ${[inPositions, `indexed_at >= ${seconds.from}`, `indexed_at <= ${seconds.to}`, ...conditions].join(' AND ')}${beyond}
           ORDER BY indexed_at ${direction}, tie ${direction}, record ${direction} LIMIT ${limit - keys.length}`,
        ),
      );
      while (!rows.isAtEnd) {
        const [pos, tie, record] = [rows.uint64(), rows.uint48(), rows.uint64()];
        keys.push({ pos, tie, record, minedAt: rows.uint64() });
      }
      return keys.length >= limit;
    });
    return keys;
  }

  /** Where something was indexed in these seconds; undefined where nothing was. */
  async #positionsIn(seconds: Window, heights: Window): Promise<string | undefined> {
    const where = `FROM ${tableOf('ingested')} WHERE indexed_at >= ${seconds.from} AND indexed_at <= ${seconds.to}
      AND pos >= ${heights.from} AND pos <= ${heights.to}`;
    const rows = new RowReader(
      await this.#server.select(`SELECT DISTINCT pos ${where} LIMIT ${listedPositions + 1}`),
    );
    const positions: number[] = [];
    while (!rows.isAtEnd) positions.push(rows.uint64());
    if (positions.length === 0) return undefined;
    if (positions.length <= listedPositions) return `pos IN (${positions.join(', ')})`;
    const bounds = `pos >= ${heights.from} AND pos <= ${heights.to}`;
    return `${bounds} AND pos ${this.#dialect.in} (SELECT pos ${where})`;
  }

  /** Looks into windows of a range, from its beginning in answer order, until one was enough. */
  async #widen(
    { criteria, order, ascending, signal }: PageRequest,
    groups: Groups,
    range: Window,
    perPosition: number,
    look: (window: Window) => Promise<boolean>,
  ): Promise<void> {
    const name = JSON.stringify([order, groups, criteria.none]);
    const first = Math.max(1, Math.ceil(firstItems / perPosition));
    let width = this.#widths.get(name) ?? first;
    for (let { from, to } = range, covered = 0; from <= to; width *= widening) {
      signal?.throwIfAborted();
      const window = ascending
        ? { from, to: Math.min(to, from + width - 1) }
        : { from: Math.max(from, to - width + 1), to };
      covered += window.to - window.from + 1;
      if (await look(window)) {
        // A little less: elsewhere the terms may lie closer together.
        this.#widths.set(name, Math.max(first, Math.ceil(covered / widening)));
        return;
      }
      if (ascending) from = window.to + 1;
      else to = window.from - 1;
    }
  }

  /** A page among listed ids: they are few, so they are read, and judged by their postings. */
  async #among(
    request: PageRequest,
    ids: readonly Buffer[],
    groups: Groups,
    open: readonly OpenBatch[] = [],
  ): Promise<FoundKey[]> {
    const { criteria, order, ascending, after, limit } = request;
    const { minIngested = 0, maxIngested = Number.MAX_SAFE_INTEGER } = criteria;
    let rows = (await this.byIds(ids)).filter(
      ({ pos, indexed_at }) =>
        pos >= criteria.minPos &&
        pos <= criteria.maxPos &&
        indexed_at >= minIngested &&
        indexed_at <= maxIngested,
    );
    for (const group of groups) {
      const having = await this.#having(rows, group);
      rows = rows.filter((row) => having.has(nameOf(keyOf(row))));
    }
    if (criteria.none.length > 0) {
      const having = await this.#having(rows, criteria.none);
      rows = rows.filter((row) => !having.has(nameOf(keyOf(row))));
    }
    if (open.length > 0) rows = await this.#onlyOutOfSql(rows, open);
    const sign = ascending ? 1 : -1;
    return rows
      .map((row) => ({
        ...keyOf(row),
        pos: order === 'height' ? row.pos : row.indexed_at,
        minedAt: row.pos,
      }))
      .filter((key) => after === undefined || compareKeys(key, after) * sign > 0)
      .sort((a, b) => compareKeys(a, b) * sign)
      .slice(0, limit);
  }

  async #having(rows: readonly HistoryRow[], terms: readonly number[]): Promise<ReadonlySet<string>> {
    const having = new Set<string>();
    if (rows.length === 0) return having;
    const found = new RowReader(await this.#server.select(withTerms(terms, amongKeys(rows.map(keyOf)))));
    while (!found.isAtEnd) having.add(nameOf({ pos: found.uint64(), tie: found.uint48() }));
    return having;
  }

  async #onlyOutOfSql(rows: readonly HistoryRow[], open: readonly OpenBatch[]): Promise<HistoryRow[]> {
    if (rows.length === 0) return [];
    const found = new RowReader(
      await this.#server.select(
        `SELECT pos, tie FROM ${tableOf('records')} WHERE ${amongKeys(rows.map(keyOf))}${open.map(outOfSql).join('')}`,
      ),
    );
    const out = new Set<string>();
    while (!found.isAtEnd) out.add(nameOf({ pos: found.uint64(), tie: found.uint48() }));
    return rows.filter((row) => out.has(nameOf(keyOf(row))));
  }
}

/** The groups of terms; undefined where no item of the history can have one of each. */
function groupsHere({ groups, minPos, maxPos }: Criteria): Groups | undefined {
  if (minPos > maxPos) return undefined;
  // Terms of every record are below zero; that of chain transactions is no item's.
  const here = groups.map((group) => group.filter((term) => term > 0));
  return here.some((group) => group.length === 0) ? undefined : here;
}

const windowOf = ({ minPos, maxPos }: Criteria, { first_pos, last_pos }: Extent): Window => ({
  from: Math.max(minPos, first_pos),
  to: Math.min(maxPos, last_pos),
});

/** What lies between the cursor and the last key that is wanted. */
function cut({ from, to }: Window, request: PageRequest, until: OrderKey | undefined): Window {
  const [low, high] = request.ascending ? [request.after, until] : [until, request.after];
  return { from: Math.max(from, low?.pos ?? from), to: Math.min(to, high?.pos ?? to) };
}

const density = (items: number, first: number, last: number): number => items / Math.max(1, last - first + 1);

/** Leaves out what a batch has written and SQL still has. */
const outOfSql = ({ batch, pruned_pos, pruned_tie }: OpenBatch): string =>
  pruned_pos < 0
    ? ` AND batch != ${batch}`
    : ` AND (batch != ${batch} OR pos < ${pruned_pos} OR (pos = ${pruned_pos} AND tie <= ${tieText(pruned_tie)}))`;

const keyOf = ({ pos, id, record }: HistoryRow): OrderKey => ({ pos, tie: tieOf(id), record });
const nameOf = ({ pos, tie }: PlaceKey): string => `${pos}/${tie}`;
