/** Parts of statements: every value is a number or hexadecimal, so nothing a client sends is ever part of a text. */
import type { PlaceKey } from '../chain-index/order.ts';
import type { Criteria } from '../chain-index/page-request.ts';
import { tableOf } from './tables.ts';

export interface Window {
  /** Inclusive positions. */
  readonly from: number;
  readonly to: number;
}

/** A literal: an expression of each of a thousand keys costs an old server more than the rows. */
export const tieText = (tie: number): string =>
  `'${tie.toString(16).padStart(12, '0').replace(/../g, '\\x$&')}'`;
const keyText = ({ pos, tie }: PlaceKey): string => `(${pos}, ${tieText(tie)})`;

/** On a cluster the rows of a subquery are those of all shards. */
export interface Dialect {
  readonly in: 'IN' | 'GLOBAL IN';
  readonly notIn: 'NOT IN' | 'GLOBAL NOT IN';
}

export const dialectOf = (cluster: string | undefined): Dialect =>
  cluster === undefined ? { in: 'IN', notIn: 'NOT IN' } : { in: 'GLOBAL IN', notIn: 'GLOBAL NOT IN' };

const between = ({ from, to }: Window): string => `pos >= ${from} AND pos <= ${to}`;

const ingestedBetween = ({ minIngested, maxIngested }: Criteria): string =>
  [
    ...(minIngested === undefined ? [] : [`indexed_at >= ${Math.max(0, minIngested)}`]),
    ...(maxIngested === undefined ? [] : [`indexed_at <= ${Math.max(0, maxIngested)}`]),
  ].join(' AND ');

/** Keys of a set, with bounds that the index of the table understands on every version. */
export function amongKeys(keys: readonly PlaceKey[]): string {
  const positions = keys.map(({ pos }) => pos);
  const window = { from: Math.min(...positions), to: Math.max(...positions) };
  return `${between(window)} AND (pos, tie) IN (${keys.map(keyText).join(', ')})`;
}

/** Items that have one of the terms. */
export const withTerms = (terms: readonly number[], where: string): string =>
  `SELECT pos, tie FROM ${tableOf('postings')} WHERE term IN (${terms.join(', ')}) AND ${where}`;

/** `FROM … WHERE …` of the items in a window that match; the table is `records` or `postings`. */
export function matching(
  criteria: Criteria,
  groups: readonly (readonly number[])[],
  window: Window,
  dialect: Dialect,
): string {
  const where = between(window);
  const [driver, ...others] = groups;
  const conditions = [where];
  for (const group of others) conditions.push(`(pos, tie) ${dialect.in} (${withTerms(group, where)})`);
  if (criteria.none.length > 0) {
    conditions.push(`(pos, tie) ${dialect.notIn} (${withTerms(criteria.none, where)})`);
  }
  const ingested = ingestedBetween(criteria);
  if (driver === undefined) {
    const all = ingested === '' ? conditions : [...conditions, ingested];
    return `FROM ${tableOf('records')} WHERE ${all.join(' AND ')}`;
  }
  if (ingested !== '') {
    conditions.push(
      `(pos, tie) ${dialect.in} (SELECT pos, tie FROM ${tableOf('records')} WHERE ${where} AND ${ingested})`,
    );
  }
  return `FROM ${tableOf('postings')} WHERE term IN (${driver.join(', ')}) AND ${conditions.join(' AND ')}`;
}

/** A key and what comes after it in order of height. */
export function fromKey({ pos, tie }: PlaceKey, ascending: boolean): string {
  const sign = ascending ? '>' : '<';
  return `(pos ${sign} ${pos} OR (pos = ${pos} AND tie ${sign}= ${tieText(tie)}))`;
}
