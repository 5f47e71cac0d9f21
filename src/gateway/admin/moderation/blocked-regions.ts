/**
 * Where blocked items lie inside chain transactions: their bytes can also be had as a part of the bundle, by range
 * or by chunk. Places are learnt from the index, for ids as soon as their bundle is read and of pruned records too, for
 * hashes by walking the records once and the new ones from then on; of items that the index does not have, from whoever
 * else knows. What was learnt is kept.
 */

import type { Span } from '../../../kernel/http/byte-ranges.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import { deleteRows, insertRows, selectIn } from '../../chain-index/rows.ts';
import type { SqlGatewayIndex } from '../../chain-index/sql-index.ts';

/** Knows where items lie that this index does not have: a subscribed one. */
export type LocateElsewhere = (id: string) => Promise<Omit<Place, 'id' | 'hash'> | undefined>;

interface Region extends Span {
  readonly id: string;
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

const placed = `SELECT r.id, r.kind, r.hash, root.id AS root_id, r.parent_offset + r.data_offset AS start, r.data_size
  FROM records r LEFT JOIN records root ON root.record = r.root`;

export class BlockedRegions {
  readonly #index: SqlGatewayIndex;
  readonly #byRoot = new Map<string, Map<string, Region>>();
  #ids: ReadonlySet<string> = new Set();
  #hashes: ReadonlySet<string> = new Set();
  /** Blocked ids whose place is not known; chain transactions have none and leave the set. */
  #unplaced = new Set<string>();
  /** Records up to here were compared with the blocked hashes. */
  #walkedTo = 0;
  readonly #store: PlaceStore;
  readonly #locateElsewhere: LocateElsewhere | undefined;
  #isLoaded = true;

  constructor(index: SqlGatewayIndex, locateElsewhere?: LocateElsewhere) {
    this.#index = index;
    this.#store = new PlaceStore(index.sql);
    this.#locateElsewhere = locateElsewhere;
  }

  /** The blocked item of which a byte would leave, other than `except`. */
  overlapping(root: string, content: Span, asked: Span, except?: string): string | undefined {
    for (const region of this.#byRoot.get(root)?.values() ?? []) {
      const isWithin = region.start >= content.start && region.end <= content.end && region.id !== except;
      if (isWithin && region.start < asked.end && region.end > asked.start) return region.id;
    }
    return undefined;
  }

  change(ids: ReadonlySet<string>, hashes: ReadonlySet<string>): void {
    this.#ids = ids;
    this.#hashes = hashes;
    // From the beginning: what was lifted goes, what is new is found. Until then the places known so far hold.
    this.#unplaced = new Set(ids);
    this.#walkedTo = 0;
    this.#isLoaded = false;
  }

  async learn(): Promise<void> {
    if (!this.#isLoaded) {
      const kept = await this.#store.load((place) => this.#isBlocked(place));
      this.#byRoot.clear();
      for (const place of kept) this.#note(place);
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

  async #prunedPlaces(id: string): Promise<Place[]> {
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

  #isBlocked({ id, hash }: Pick<Place, 'id' | 'hash'>): boolean {
    return this.#ids.has(id) || (hash !== null && this.#hashes.has(hash));
  }

  async #learnt(places: readonly Place[]): Promise<void> {
    const blocked = places.filter((place) => this.#isBlocked(place));
    for (const place of blocked) this.#note(place);
    await this.#store.keep(blocked);
  }

  #note({ id, root, start, end }: Place): void {
    const regions = this.#byRoot.get(root) ?? new Map<string, Region>();
    regions.set(id, { id, start, end });
    this.#byRoot.set(root, regions);
  }
}

/** Of items that lie in a bundle and have bytes. */
function placesOf(rows: readonly PlacedRow[]): Place[] {
  return rows.flatMap((row) => {
    if (row.root_id === null || row.start === null || row.data_size === 0) return [];
    const hash = row.hash?.toString('base64url') ?? null;
    const root = row.root_id.toString('base64url');
    return [
      { id: row.id.toString('base64url'), hash, root, start: row.start, end: row.start + row.data_size },
    ];
  });
}

/** Payload of an item in the data of its root; ids and hash in base64url. */
interface Place {
  readonly id: string;
  readonly hash: string | null;
  readonly root: string;
  readonly start: number;
  readonly end: number;
}

/** Places that were learnt, kept in the database: an item pruned from the index still lies in its bundle. */
class PlaceStore {
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
