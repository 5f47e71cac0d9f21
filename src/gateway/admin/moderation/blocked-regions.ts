/**
 * Where blocked items lie inside chain transactions: their bytes can also be had as a part of the bundle, by range
 * or by chunk. Places are learnt from the index, for ids as soon as their bundle is read and of pruned records too, for
 * hashes by walking the records once and the new ones from then on; of items that the index does not have, from whoever
 * else knows. What was learnt is kept.
 */

import { LRUCache } from 'lru-cache';
import type { BlockedPlaces, Place } from '../../../delivery/moderation/block-set.ts';
import { listedPlaces } from '../../../delivery/moderation/bundle-list.ts';
import { bundleCountBytes, isTaggedBundle } from '../../../formats/ans104/bundle-header.ts';
import { atMost } from '../../../kernel/at-most.ts';
import { Together } from '../../../kernel/background/together.ts';
import type { Span } from '../../../kernel/http/byte-ranges.ts';
import { deleteRows, insertRows, selectIn } from '../../../storage/sql/many-rows.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import type { Located } from '../../chain-index/gateway-index.ts';
import type { SqlGatewayIndex } from '../../chain-index/sql-index.ts';

/** Knows where items lie that this index does not have: a subscribed one. */
export type LocateElsewhere = (id: string) => Promise<Omit<Place, 'id'> | undefined>;

/** Reads a part of content, and says how much there is in all; undefined where nobody has it. */
export type ReadPartOf = (
  id: string,
  part: Span,
) => Promise<{ readonly bytes: Buffer; readonly size: number } | undefined>;

export interface BlockedRegionsOptions {
  readonly index: SqlGatewayIndex;
  /** Where what is learnt is asked for. */
  readonly places: BlockedPlaces;
  readonly locateElsewhere?: LocateElsewhere | undefined;
  readonly readPart?: ReadPartOf | undefined;
}

/** Ids and hash in base64url. */
interface HashedPlace extends Place {
  readonly hash: string | null;
}

interface PlacedRow {
  readonly id: Buffer;
  readonly kind: number;
  readonly hash: Buffer | null;
  readonly root_id: Buffer | null;
  readonly start: number | null;
  readonly data_size: number;
}

/** Records of one step of a walk: a few milliseconds of SQLite. */
const walkStep = 5_000;
/** Steps of one call; the next call goes on. */
const stepsPerCall = 40;
const idsPerCall = 500;
const maxLookedInto = 10_000;

const placed = `SELECT r.id, r.kind, r.hash, root.id AS root_id, r.parent_offset + r.data_offset AS start, r.data_size
  FROM records r LEFT JOIN records root ON root.record = r.root`;

export class BlockedRegions {
  readonly #index: SqlGatewayIndex;
  readonly #places: BlockedPlaces;
  #ids: ReadonlySet<string> = new Set();
  #hashes: ReadonlySet<string> = new Set();
  /** Blocked ids whose place is not known; chain transactions have none and leave the set. */
  #unplaced = new Set<string>();
  /** Records up to here were compared with the blocked hashes. */
  #walkedTo = 0;
  readonly #store: PlaceStore;
  readonly #locateElsewhere: LocateElsewhere | undefined;
  readonly #readPart: ReadPartOf | undefined;
  #isLoaded = true;
  /** Bundles whose list of items was compared with the blocked ids that have no place yet. */
  readonly #lookedInto = new LRUCache<string, true>(atMost(maxLookedInto));
  readonly #looking = new Together<string, void>();

  constructor({ index, places, locateElsewhere, readPart }: BlockedRegionsOptions) {
    this.#index = index;
    this.#places = places;
    this.#store = new PlaceStore(index.sql);
    this.#locateElsewhere = locateElsewhere;
    this.#readPart = readPart;
  }

  change(ids: ReadonlySet<string>, hashes: ReadonlySet<string>): void {
    this.#ids = ids;
    this.#hashes = hashes;
    // From the beginning: what was lifted goes, what is new is found. Until then the places known so far hold.
    this.#unplaced = new Set(ids);
    this.#walkedTo = 0;
    this.#isLoaded = false;
    this.#lookedInto.clear();
    this.#looking.forget(() => true);
  }

  /**
   * A bundle that was not unbundled yet tells by its own list, and the bundles in it by theirs, which items it holds: a block that was made before holds
   * for it from its first byte on.
   */
  lookInto(id: string, located: Located | undefined): Promise<void> | undefined {
    if (this.#unplaced.size === 0 || this.#readPart === undefined || this.#lookedInto.has(id)) {
      return undefined;
    }
    // What the index does not have may be a bundle as well.
    if (located !== undefined && !isTaggedBundle(located.tags)) return undefined;
    const readPart = this.#readPart;
    // Many may ask at once for a bundle that is new.
    return this.#looking.run(id, () => this.#readList(id, located, readPart));
  }

  async #readList(bundle: string, located: Located | undefined, readPart: ReadPartOf): Promise<void> {
    const unplaced = this.#unplaced;
    const count = { start: 0, end: bundleCountBytes };
    const size = located?.size ?? (await readPart(bundle, count))?.size ?? 0;
    const { root, dataOffsetInRoot: start } = located?.placement ?? { root: bundle, dataOffsetInRoot: 0 };
    const places = await listedPlaces(
      { root, start, size },
      async (part) => (await readPart(bundle, part))?.bytes,
      (id) => unplaced.has(id),
    );
    // Not kept: the exact places come with the index, for which the ids go on waiting.
    for (const place of places) if (!this.#places.has(place)) this.#places.add(place);
    // A change meanwhile starts anew.
    if (unplaced === this.#unplaced) this.#lookedInto.set(bundle, true);
  }

  async learn(): Promise<void> {
    if (!this.#isLoaded) {
      const kept = await this.#store.load((place) => this.#isBlocked(place));
      this.#places.replace(kept.map(plain));
      this.#isLoaded = true;
    }
    const wanted = [...this.#unplaced].slice(0, idsPerCall);
    if (wanted.length > 0) {
      const rows = await selectIn<PlacedRow>(
        this.#index.sql,
        `${placed} WHERE r.id IN ({in})`,
        wanted.map((id) => Buffer.from(id, 'base64url')),
      );
      const places = placesOf(rows);
      for (const id of wanted) places.push(...(await this.#prunedPlaces(id)));
      const found = new Set(places.map(({ id }) => id));
      const missing = wanted.filter((id) => !this.#isPlaced(id, rows) && !found.has(id));
      for (const id of missing) {
        const place = await this.#locateElsewhere?.(id);
        if (place !== undefined) places.push({ ...place, id, hash: null });
      }
      await this.#learnt(places);
      // Those that stay come last next time, so that every one has its turn.
      for (const id of wanted) this.#unplaced.delete(id);
      const placedElsewhere = new Set(places.map(({ id }) => id));
      for (const id of missing) if (!placedElsewhere.has(id)) this.#unplaced.add(id);
    }
    if (this.#hashes.size > 0) await this.#walk();
  }

  async #prunedPlaces(id: string): Promise<HashedPlace[]> {
    return (await this.#index.locatePruned(id)).flatMap(({ placement, size }) => {
      if (placement === undefined || size === 0) return [];
      const start = placement.dataOffsetInRoot;
      return [{ id, hash: null, root: placement.root, start, end: start + size }];
    });
  }

  #isPlaced(id: string, rows: readonly PlacedRow[]): boolean {
    const row = rows.find((one) => one.id.toString('base64url') === id);
    return row !== undefined && (row.kind === 0 || row.root_id !== null);
  }

  async #walk(): Promise<void> {
    const { sql } = this.#index;
    const hashes = this.#hashes;
    for (let step = 0; step < stepsPerCall; step += 1) {
      const newest = await sql.get<{ newest: number | null }>('SELECT max(record) AS newest FROM records');
      const end = Math.min(newest?.newest ?? 0, this.#walkedTo + walkStep);
      if (end <= this.#walkedTo) return;
      const rows = await sql.all<{ record: number; hash: Buffer }>(
        `SELECT record, hash FROM records
         WHERE record > ? AND record <= ? AND root IS NOT NULL AND hash IS NOT NULL`,
        this.#walkedTo,
        end,
      );
      const found = rows.filter(({ hash }) => hashes.has(hash.toString('base64url')));
      const places = await selectIn<PlacedRow>(
        sql,
        `${placed} WHERE r.record IN ({in})`,
        found.map(({ record }) => record),
      );
      if (hashes !== this.#hashes) return;
      await this.#learnt(placesOf(places));
      this.#walkedTo = end;
    }
  }

  #isBlocked({ id, hash }: Pick<HashedPlace, 'id' | 'hash'>): boolean {
    return this.#ids.has(id) || (hash !== null && this.#hashes.has(hash));
  }

  async #learnt(places: readonly HashedPlace[]): Promise<void> {
    const blocked = places.filter((place) => this.#isBlocked(place));
    for (const place of blocked) this.#places.add(plain(place));
    await this.#store.keep(blocked);
  }
}

/** Without what only the store needs. */
const plain = ({ id, root, start, end }: HashedPlace): Place => ({ id, root, start, end });

/** Of items that lie in a bundle and have bytes. */
function placesOf(rows: readonly PlacedRow[]): HashedPlace[] {
  return rows.flatMap((row) => {
    if (row.root_id === null || row.start === null || row.data_size === 0) return [];
    const hash = row.hash?.toString('base64url') ?? null;
    const root = row.root_id.toString('base64url');
    return [
      { id: row.id.toString('base64url'), hash, root, start: row.start, end: row.start + row.data_size },
    ];
  });
}

/** Places that were learnt, kept in the database: an item pruned from the index still lies in its bundle. */
class PlaceStore {
  readonly #sql: Sql;
  #known = new Set<string>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Those that `isWanted`; the others are forgotten, since their block was lifted. */
  async load(isWanted: (place: HashedPlace) => boolean): Promise<HashedPlace[]> {
    const rows = await this.#sql.all<HashedPlace & { place: number }>(
      'SELECT place, id, hash, root, start_at AS "start", end_at AS "end" FROM blocked_places',
    );
    const wanted = rows.filter(isWanted);
    const lifted = rows.filter((row) => !isWanted(row)).map(({ place }) => [place]);
    if (lifted.length > 0) await deleteRows(this.#sql, 'blocked_places', ['place'], lifted);
    this.#known = new Set(wanted.map(({ id, root }) => `${id} ${root}`));
    return wanted;
  }

  async keep(places: readonly HashedPlace[]): Promise<void> {
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
