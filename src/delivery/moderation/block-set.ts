/** A blocklist in memory, and where the blocked items lie. */
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isArnsName, isUndername } from '../../formats/solana/name-rules.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import type { Blocklist } from './blocklist.ts';

/** Bytes of a blocked item in the data of the chain transaction `root`. */
export interface Place extends Span {
  readonly id: string;
  readonly root: string;
}

/** What a blocklist is made of: ids and hashes in base64url, names in lower case. */
export interface Blocked {
  readonly ids: Iterable<string>;
  readonly hashes: Iterable<string>;
  readonly names: Iterable<string>;
}

export class BlockSet implements Blocklist {
  #ids: ReadonlySet<string> = new Set();
  #hashes: ReadonlySet<string> = new Set();
  #names: ReadonlySet<string> = new Set();
  readonly places = new BlockedPlaces();
  #replaced = 0;

  get revision(): number {
    return this.#replaced + this.places.changes;
  }

  get ids(): ReadonlySet<string> {
    return this.#ids;
  }

  get hashes(): ReadonlySet<string> {
    return this.#hashes;
  }

  get names(): ReadonlySet<string> {
    return this.#names;
  }

  /** In place of what was blocked before. Places stay until they are replaced too. */
  replace({ ids, hashes, names }: Blocked): void {
    this.#ids = new Set(ids);
    this.#hashes = new Set(hashes);
    this.#names = new Set(names);
    this.#replaced += 1;
  }

  get isEmpty(): boolean {
    return this.#ids.size + this.#hashes.size + this.#names.size === 0;
  }

  blocksId(id: string): boolean {
    return this.#ids.has(id);
  }

  blocksHash(hash: string): boolean {
    return this.#hashes.has(hash);
  }

  blocksName(label: string): boolean {
    if (this.#names.size === 0) return false;
    return labelAndName(asciiLowerCase(label)).some((name) => this.#names.has(name));
  }

  get wantsHashes(): boolean {
    return this.#hashes.size > 0;
  }

  get hasPlaces(): boolean {
    return this.places.size > 0;
  }

  blockedPart(root: string, content: Span, asked: Span, except?: string): string | undefined {
    return this.places.overlapping(root, content, asked, except);
  }
}

/** Where blocked items lie: their bytes can also be had as a part of the bundle, by range or by chunk. */
export class BlockedPlaces {
  /** By root, then by id: an item may lie in several bundles of one root. */
  readonly #byRoot = new Map<string, Map<string, Place[]>>();
  #size = 0;
  /** How often anything was changed. */
  changes = 0;

  get size(): number {
    return this.#size;
  }

  *[Symbol.iterator](): Generator<Place> {
    for (const byId of this.#byRoot.values()) for (const places of byId.values()) yield* places;
  }

  /** Whether it is known, perhaps more exactly. */
  has(place: Place): boolean {
    return (
      this.#byRoot
        .get(place.root)
        ?.get(place.id)
        ?.some((known) => overlap(known, place)) === true
    );
  }

  /** In place of what was known of the same bytes. */
  add(place: Place): void {
    const byId = this.#byRoot.get(place.root) ?? new Map<string, Place[]>();
    const places = byId.get(place.id) ?? [];
    if (places.some(({ start, end }) => start === place.start && end === place.end)) return;
    const others = places.filter((known) => !overlap(known, place));
    byId.set(place.id, [...others, place]);
    this.#byRoot.set(place.root, byId);
    this.#size += others.length + 1 - places.length;
    this.changes += 1;
  }

  replace(places: Iterable<Place>): void {
    this.#byRoot.clear();
    this.#size = 0;
    this.changes += 1;
    for (const place of places) this.add(place);
  }

  /** The blocked item of which a byte would leave, other than `except`. */
  overlapping(root: string, content: Span, asked: Span, except?: string): string | undefined {
    for (const [id, places] of this.#byRoot.get(root) ?? []) {
      if (id === except) continue;
      for (const place of places) {
        const isWithin = place.start >= content.start && place.end <= content.end;
        if (isWithin && overlap(place, asked)) return id;
      }
    }
    return undefined;
  }
}

const overlap = (one: Span, other: Span): boolean => one.start < other.end && one.end > other.start;

/** The names whose blocking blocks a label too: itself, and the name that an undername belongs to. */
function labelAndName(label: string): readonly string[] {
  const split = label.lastIndexOf('_');
  return split <= 0 ? [label] : [label, label.slice(split + 1)];
}

/** Whether a label in lower case can be a name or an undername of one. */
export function canBeName(label: string): boolean {
  const split = label.lastIndexOf('_');
  return isArnsName(label.slice(split + 1)) && (split === -1 || isUndername(label.slice(0, split)));
}
