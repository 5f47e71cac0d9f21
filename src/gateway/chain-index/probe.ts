/** Whether a candidate has what the other filters ask for: as SQL beside a scan, or judged from its record. */
import type { SqlValue } from '../../storage/sql/sql.ts';
import { postedTerms, unpackTerms } from './records.ts';
import type { SqlPart } from './scan.ts';

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

export const placeholders = (count: number): string => Array.from({ length: count }, () => '?').join(', ');

export interface Probe extends SqlPart {
  readonly joins: string;
  /** Look-ups that one candidate may cost. */
  readonly cost: number;
}

/** The conditions that a candidate `c` must pass besides the driver's; undefined when there are none. */
export function probeOf(
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
export interface JudgedRecord {
  readonly record: number;
  readonly kind: number;
  readonly pos: number;
  readonly indexed_at: number;
  readonly terms: Buffer;
}

export const judgedColumns = 'record, kind, pos, indexed_at, terms';

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
