/** Where a walk may go on when several terms must meet: not before any of the others goes on. */
import type { Sql } from '../../storage/sql/sql.ts';
import { compareKeys, type OrderKey } from './order.ts';
import { type Stretch, walkOf } from './walk.ts';

/** A group of more terms is not asked where it goes on: that would cost more than it saves. */
const maxAsked = 8;

/**
 * The key after which the walk goes on: `after` itself, or just before the place where the last of the groups has its
 * next posting. undefined: one of them has none left, so that there is no match any more.
 */
export async function farthestNext(
  sql: Sql,
  groups: readonly (readonly number[])[],
  stretch: Stretch,
  after: OrderKey,
): Promise<OrderKey | undefined> {
  const sign = stretch.ascending ? 1 : -1;
  let farthest = after;
  for (const group of groups) {
    if (group.length > maxAsked) continue;
    let nearest: OrderKey | undefined;
    for (const term of group) {
      const walk = walkOf(term, stretch, farthest, 1);
      const next = await sql.get<OrderKey>(walk.text, ...walk.values);
      if (next !== undefined && (nearest === undefined || compareKeys(next, nearest) * sign < 0))
        nearest = next;
    }
    if (nearest === undefined) return undefined;
    farthest = { pos: nearest.pos, tie: nearest.tie, record: nearest.record - sign };
  }
  return farthest;
}
