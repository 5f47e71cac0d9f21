/**
 * Places of blocked items, written down once they are known: an item that is pruned from the index afterwards still
 * lies in its bundle, where its bytes can be had.
 */
import type { Sql } from '../../../storage/sql/sql.ts';
import { deleteRows, insertRows } from '../../chain-index/rows.ts';

/** Payload of an item in the data of its root; ids and hash in base64url. */
export interface Place {
  readonly id: string;
  readonly hash: string | null;
  readonly root: string;
  readonly start: number;
  readonly end: number;
}

export class PlaceStore {
  readonly #sql: Sql;
  #known = new Set<string>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Those that `isWanted`; the others are forgotten, since their block was lifted. */
  async load(isWanted: (place: Place) => boolean): Promise<Place[]> {
    const rows = await this.#sql.all<Place & { place: number }>(
      'SELECT place, id, hash, root, start_at AS "start", end_at AS "end" FROM blocked_places',
    );
    const wanted = rows.filter(isWanted);
    const lifted = rows.filter((row) => !isWanted(row)).map(({ place }) => [place]);
    if (lifted.length > 0) await deleteRows(this.#sql, 'blocked_places', ['place'], lifted);
    this.#known = new Set(wanted.map(({ id, root }) => `${id} ${root}`));
    return wanted;
  }

  async keep(places: readonly Place[]): Promise<void> {
    const fresh = places.filter(({ id, root }) => !this.#known.has(`${id} ${root}`));
    await insertRows(
      this.#sql,
      'blocked_places',
      ['id', 'hash', 'root', 'start_at', 'end_at'],
      fresh.map(({ id, hash, root, start, end }) => [id, hash, root, start, end]),
      'ON CONFLICT (id, root) DO NOTHING',
    );
    for (const { id, root } of fresh) this.#known.add(`${id} ${root}`);
  }
}
