/**
 * Scans of postings in answer order: of one term by a statement, of several by merging. Merging holds a small buffer
 * per term and refills only the one that is empty, so its cost follows what is taken and the number of terms.
 */
import type { Sql, SqlValue } from '../../storage/sql/sql.ts';
import { compareKeys, type OrderKey } from './order.ts';

export interface SqlPart {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** Which part of the order, and in which direction. */
export interface ScanRange {
  readonly ascending: boolean;
  /** Inclusive positions. */
  readonly minPos: number;
  readonly maxPos: number;
  /** Only keys from this one on, and only those before that one. */
  readonly from?: OrderKey | undefined;
  readonly to?: OrderKey | undefined;
}

export function orderBy(ascending: boolean, table: string): string {
  const direction = ascending ? 'ASC' : 'DESC';
  return `ORDER BY ${table}.pos ${direction}, ${table}.tie ${direction}, ${table}.record ${direction}`;
}

/** The next postings of a term strictly after a key. The last bound value is the limit. */
export function scanOf(term: number, range: ScanRange, after: OrderKey | undefined, limit: number): SqlPart {
  const { ascending, minPos, maxPos, from, to } = range;
  const bounds: [sign: string, key: OrderKey][] = [];
  if (after !== undefined) bounds.push([ascending ? '>' : '<', after]);
  if (from !== undefined) bounds.push(['>=', from]);
  if (to !== undefined) bounds.push(['<', to]);
  // The keys bound the position as well, which every planner turns into a range of the tree.
  const low = Math.max(minPos, from?.pos ?? 0, ascending ? (after?.pos ?? 0) : 0);
  const high = Math.min(maxPos, to?.pos ?? maxPos, ascending ? maxPos : (after?.pos ?? maxPos));
  const beyond = bounds.map(([sign]) => `AND (t.pos, t.tie, t.record) ${sign} (?, ?, ?)`).join(' ');
  return {
    text: `SELECT t.pos, t.tie, t.record FROM postings t WHERE t.term = ? AND t.pos >= ? AND t.pos <= ? ${beyond}
      ${orderBy(ascending, 't')} LIMIT ?`,
    values: [term, low, high, ...bounds.flatMap(([_sign, key]) => [key.pos, key.tie, key.record]), limit],
  };
}

interface Branch {
  readonly term: number;
  keys: OrderKey[];
  at: number;
  /** Nothing follows what is in the buffer. */
  ended: boolean;
  size: number;
}

const firstBuffer = 16;
const largestBuffer = 512;
/** Branches filled by one statement at first. */
const filledTogether = 64;

/** The postings of any of several terms, each record once. */
export class MergedScan {
  readonly #sql: Sql;
  readonly #range: ScanRange;
  readonly #after: OrderKey | undefined;
  readonly #branches: Branch[];
  readonly #sign: number;
  #filled = false;
  #last: OrderKey | undefined;

  constructor(sql: Sql, terms: readonly number[], range: ScanRange, after: OrderKey | undefined) {
    this.#sql = sql;
    this.#range = range;
    this.#after = after;
    this.#sign = range.ascending ? 1 : -1;
    this.#branches = terms.map((term) => ({ term, keys: [], at: 0, ended: false, size: firstBuffer }));
  }

  /** The next keys, fewer than asked for only at the end. */
  async take(count: number): Promise<OrderKey[]> {
    if (!this.#filled) await this.#fill();
    const taken: OrderKey[] = [];
    while (taken.length < count) {
      const branch = this.#first();
      const key = branch?.keys[branch.at];
      if (branch === undefined || key === undefined) break;
      branch.at += 1;
      // A record with two of the terms is met twice in a row.
      if (this.#last?.record !== key.record) taken.push(key);
      this.#last = key;
      if (branch.at === branch.keys.length && !branch.ended) await this.#refill(branch, key);
    }
    return taken;
  }

  #first(): Branch | undefined {
    let best: Branch | undefined;
    let bestKey: OrderKey | undefined;
    for (const branch of this.#branches) {
      const key = branch.keys[branch.at];
      if (key === undefined) continue;
      if (bestKey === undefined || compareKeys(key, bestKey) * this.#sign < 0) {
        best = branch;
        bestKey = key;
      }
    }
    return best;
  }

  async #fill(): Promise<void> {
    this.#filled = true;
    for (let at = 0; at < this.#branches.length; at += filledTogether) {
      const some = this.#branches.slice(at, at + filledTogether);
      const scans = some.map(({ term, size }) => scanOf(term, this.#range, this.#after, size));
      const rows = await this.#sql.all<OrderKey & { branch: number }>(
        scans
          .map((scan, index) => `SELECT ${index} AS branch, b${index}.* FROM (${scan.text}) b${index}`)
          .join(' UNION ALL '),
        ...scans.flatMap((scan) => scan.values),
      );
      for (const { branch, pos, tie, record } of rows) some[branch]?.keys.push({ pos, tie, record });
      for (const branch of some) {
        branch.keys.sort((a, b) => compareKeys(a, b) * this.#sign);
        branch.ended = branch.keys.length < branch.size;
      }
    }
  }

  async #refill(branch: Branch, after: OrderKey): Promise<void> {
    branch.size = Math.min(largestBuffer, branch.size * 2);
    const scan = scanOf(branch.term, this.#range, after, branch.size);
    branch.keys = await this.#sql.all<OrderKey>(scan.text, ...scan.values);
    branch.at = 0;
    branch.ended = branch.keys.length < branch.size;
  }
}

/** A group of more terms is not asked where it goes on: that would cost more than it saves. */
const maxAsked = 8;

/**
 * Where a record must have a term of every group: the key after which the scan goes on, which is `after` itself, or just
 * before the place where the last of the groups has its next posting. undefined: one of them has none left, so that
 * there is no match any more.
 */
export async function farthestNext(
  sql: Sql,
  groups: readonly (readonly number[])[],
  range: ScanRange,
  after: OrderKey,
): Promise<OrderKey | undefined> {
  const sign = range.ascending ? 1 : -1;
  let farthest = after;
  for (const group of groups) {
    if (group.length > maxAsked) continue;
    let nearest: OrderKey | undefined;
    for (const term of group) {
      const scan = scanOf(term, range, farthest, 1);
      const next = await sql.get<OrderKey>(scan.text, ...scan.values);
      if (next !== undefined && (nearest === undefined || compareKeys(next, nearest) * sign < 0))
        nearest = next;
    }
    if (nearest === undefined) return undefined;
    farthest = { pos: nearest.pos, tie: nearest.tie, record: nearest.record - sign };
  }
  return farthest;
}
