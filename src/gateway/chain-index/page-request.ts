/** What is asked of the index, and whether a record is part of the answer. */

import { selectIn } from '../../storage/sql/many-rows.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { OrderKey } from './order.ts';
import { postedTerms, type Selected, unpackTerms } from './records.ts';

/** Asked between steps: throws when nobody waits for the answer any more. An `AbortSignal` is one. */
export interface Interruption {
  throwIfAborted(): void;
}

export interface PageRequest {
  readonly criteria: Criteria;
  readonly order: 'height' | 'ingested';
  readonly ascending: boolean;
  /** Strictly after this key; for the order `ingested`, `pos` is the time of indexing. */
  readonly after: OrderKey | undefined;
  readonly limit: number;
  readonly signal: Interruption | undefined;
}

/** Terms of which a record must have at least one of each. */
export type Groups = readonly (readonly number[])[];

export interface Criteria {
  /** Records must have at least one term of every group. An empty group matches nothing. */
  readonly groups: Groups;
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

/** What a record is judged by. */
const judgedColumns = 'record, id, kind, pos, indexed_at, terms';
export type JudgedRecord = Selected<typeof judgedColumns>;

/** Whether a record that was read has what the filters ask for. */
export function passes(row: JudgedRecord, criteria: Criteria): boolean {
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

export function readJudged(sql: SqlExecutor, records: readonly number[]): Promise<JudgedRecord[]> {
  return selectIn(sql, `SELECT ${judgedColumns} FROM records WHERE record IN ({in})`, records);
}
