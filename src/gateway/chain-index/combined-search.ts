/** Pages of the whole index: what is in SQL and what was moved to the history, in one order. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../storage/sql/sql.ts';
import type { History } from './history.ts';
import { compareKeys, type FoundKey } from './order.ts';
import type { Criteria, Interruption, PageRequest } from './page-request.ts';
import { Search } from './search.ts';

/** Counts while items move are begun anew so often, with this pause. */
const maxCounts = 20;
const pauseMs = 25;

export class CombinedSearch {
  readonly #inSql: Search;
  readonly #history: History | undefined;

  constructor(sql: Sql, history: History | undefined, walkedFirst?: number) {
    this.#inSql = new Search(sql, walkedFirst);
    this.#history = history;
  }

  /** Keys of the page's records, in order. */
  async page(request: PageRequest): Promise<FoundKey[]> {
    // SQL first: what moves between the two questions is found by both.
    const inSql = await this.#inSql.page(request);
    if (this.#history === undefined) return inSql;
    const moved = await this.#history.page(request, inSql.length < request.limit ? undefined : inSql.at(-1));
    return merge(inSql, moved, request);
  }

  /** How many records match, counted up to a limit; undefined beyond it. */
  async count(criteria: Criteria, limit: number, signal?: Interruption): Promise<number | undefined> {
    const history = this.#history;
    if (history === undefined) return this.#inSql.count(criteria, limit, signal);
    for (let tries = 1; ; tries += 1) {
      const before = await history.progress();
      const inSql = await this.#inSql.count(criteria, limit, signal);
      const moved = inSql === undefined ? undefined : await history.count(criteria, limit);
      if (inSql === undefined || moved === undefined) return undefined;
      // Nothing left SQL in between, so nothing was counted twice or not at all.
      if (tries === maxCounts || before === (await history.progress())) {
        return inSql + moved > limit ? undefined : inSql + moved;
      }
      signal?.throwIfAborted();
      await pause(pauseMs);
    }
  }
}

function merge(
  inSql: readonly FoundKey[],
  moved: readonly FoundKey[],
  { ascending, limit }: PageRequest,
): FoundKey[] {
  if (moved.length === 0) return [...inSql];
  const sign = ascending ? 1 : -1;
  const merged: FoundKey[] = [];
  let [atSql, atMoved] = [0, 0];
  while (merged.length < limit) {
    const here = inSql[atSql];
    const there = moved[atMoved];
    if (here === undefined && there === undefined) break;
    const order = here === undefined ? 1 : there === undefined ? -1 : compareKeys(here, there) * sign;
    const next = order <= 0 ? here : there;
    if (order <= 0) atSql += 1;
    if (order >= 0) atMoved += 1;
    if (next !== undefined) merged.push(next);
  }
  return merged;
}
