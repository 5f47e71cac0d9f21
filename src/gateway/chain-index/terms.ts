/**
 * Terms: what one can ask for, interned to small integers. A term never changes once it has a key, so both
 * directions are cached without invalidation.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import { insertRows, selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';

/** Kinds of term. The numbers are stored: never reuse one. */
export const termKinds = { tag: 1, owner: 2, recipient: 3, bundle: 4 } as const;

/** Terms of every record, of chain transactions only, and of every record by time of indexing. Interned keys are positive. */
export const EVERY_TERM = -1;
export const CHAIN_TERM = -2;
export const INGESTED_TERM = -3;

export type TermKind = (typeof termKinds)[keyof typeof termKinds];

export interface TermSpec {
  readonly kind: TermKind;
  /** 32 bytes that stand for the term: a digest of the tag pair, an address, an id. */
  readonly hash: Buffer;
  readonly name: Uint8Array | null;
  readonly value: Uint8Array | null;
  /** Under which its key is remembered. */
  readonly cacheKey: string;
}

export interface TagPair {
  readonly term: number;
  readonly name: Buffer;
  readonly value: Buffer;
}

export const tagTerm = (name: Uint8Array, value: Uint8Array): TermSpec => new TagTerm(name, value);

/** Pairs up to this length are remembered as they are. */
const shortPairBytes = 96;

/** Hashed only where its key is not remembered: most pairs come again and again. */
class TagTerm implements TermSpec {
  readonly kind = termKinds.tag;
  readonly name: Uint8Array;
  readonly value: Uint8Array;
  readonly cacheKey: string;
  #hash: Buffer | undefined;

  constructor(name: Uint8Array, value: Uint8Array) {
    this.name = name;
    this.value = value;
    this.cacheKey =
      name.length + value.length <= shortPairBytes
        ? `${name.length}:${latin1(name)}${latin1(value)}`
        : cacheKey(this.kind, this.hash);
  }

  get hash(): Buffer {
    if (this.#hash === undefined) {
      const { name, value } = this;
      const joined = Buffer.allocUnsafe(4 + name.length + value.length);
      joined.writeUInt32BE(name.length);
      joined.set(name, 4);
      joined.set(value, 4 + name.length);
      this.#hash = hash('sha256', joined, 'buffer');
    }
    return this.#hash;
  }
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

/** `key` is the public key where it is known; it is kept with the term, once per owner. */
export const ownerTerm = (address: Buffer, key: Uint8Array | null): TermSpec =>
  plainTerm(termKinds.owner, address, key);
export const recipientTerm = (address: Buffer): TermSpec => plainTerm(termKinds.recipient, address);
export const bundleTerm = (id: Buffer): TermSpec => plainTerm(termKinds.bundle, id);

function plainTerm(kind: TermKind, id: Buffer, value: Uint8Array | null = null): TermSpec {
  return { kind, hash: id, name: null, value, cacheKey: cacheKey(kind, id) };
}

/** PostgreSQL refuses index rows of more than some 2,700 bytes; names of tags can be longer. */
const nameStart = (name: Uint8Array | null): Uint8Array | null => name?.subarray(0, 256) ?? null;

const termTypes = {
  kind: 'BIGINT',
  hash: 'BYTEA',
  name: 'BYTEA',
  value: 'BYTEA',
  name_start: 'BYTEA',
} as const;

/** Of a term by its hash; no pair looks like it, since a pair begins with a number and a colon. */
const cacheKey = (kind: number, hash: Buffer): string => `#${kind}${hash.toString('latin1')}`;

export class Terms {
  readonly #sql: Sql;
  readonly #keys = new LRUCache<string, number>(atMost(200_000));
  readonly #owners = new LRUCache<number, string>(atMost(50_000));
  #made = 0;
  #countedAt = 0;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * The keys of the terms, made where they do not exist. Runs apart from the caller's transaction: a term
   * without postings is harmless, and many writers may meet here.
   */
  async intern(specs: readonly TermSpec[]): Promise<Map<TermSpec, number>> {
    const keys = new Map<TermSpec, number>();
    const unknown = new Map<string, TermSpec[]>();
    for (const spec of specs) {
      const known = this.#keys.get(spec.cacheKey);
      if (known !== undefined) {
        keys.set(spec, known);
      } else {
        const same = unknown.get(spec.cacheKey);
        if (same === undefined) unknown.set(spec.cacheKey, [spec]);
        else same.push(spec);
      }
    }
    if (unknown.size === 0) return keys;

    const fresh = new Map<string, TermSpec>();
    for (const same of unknown.values()) {
      const best = same.find((spec) => spec.value !== null) ?? same[0];
      if (best !== undefined) fresh.set(cacheKey(best.kind, best.hash), best);
    }
    const learn = (rows: readonly { term: number; kind: number; hash: Buffer }[]) => {
      for (const row of rows) {
        const hashed = cacheKey(row.kind, row.hash);
        const spec = fresh.get(hashed);
        fresh.delete(hashed);
        if (spec === undefined) continue;
        this.#keys.set(spec.cacheKey, row.term);
        for (const same of unknown.get(spec.cacheKey) ?? []) keys.set(same, row.term);
      }
    };
    // Nearly all that is not remembered is new. In one order, so that writers that meet wait for each other and not in a ring.
    const missing = [...fresh.values()].sort((a, b) => a.kind - b.kind || Buffer.compare(a.hash, b.hash));
    const made = await this.#sql.transaction((tx) =>
      insertRows<{ term: number; kind: number; hash: Buffer }>(
        tx,
        'terms',
        termTypes,
        missing.map((spec) => [spec.kind, spec.hash, spec.name, spec.value, nameStart(spec.name)]),
        'ON CONFLICT (kind, hash) DO NOTHING RETURNING term, kind, hash',
      ),
    );
    learn(made);
    // Whoever else was inserting the same terms has committed by now.
    if (fresh.size > 0) learn(await this.#select([...fresh.values()]));
    this.#made += made.length;
    await this.#count();
    return keys;
  }

  /**
   * PostgreSQL takes a new table for a small one until it looks at it, after a minute or more, and until then reads
   * all terms of a kind to find a few: so it is told to look, each time that ten times as many were made.
   */
  async #count(): Promise<void> {
    if (this.#sql.engine !== 'postgres' || this.#made < Math.max(1_000, this.#countedAt * 10)) return;
    this.#countedAt = this.#made;
    await this.#sql.run('ANALYZE terms');
  }

  /** The keys of those terms that exist. */
  async findAll(kind: TermKind, hashes: readonly Buffer[]): Promise<number[]> {
    const found: number[] = [];
    const unknown: Buffer[] = [];
    for (const hash of hashes) {
      const known = this.#keys.get(cacheKey(kind, hash));
      if (known === undefined) unknown.push(hash);
      else found.push(known);
    }
    if (unknown.length > 0) {
      for (const row of await this.#byHash(kind, unknown)) {
        this.#keys.set(cacheKey(row.kind, row.hash), row.term);
        found.push(row.term);
      }
    }
    return [...new Set(found)];
  }

  /** Tag pairs of a name, in order of their keys after `after`: for searches that look into values. */
  async pairsOf(name: Buffer, after: number, limit: number): Promise<TagPair[]> {
    return this.#sql.all<TagPair>(
      `SELECT term, name, value FROM terms WHERE name_start = ? AND term > ? AND name = ?
       ORDER BY term LIMIT ?`,
      nameStart(name),
      after,
      name,
      limit,
    );
  }

  /** The next name of a tag in byte order, cut to its first bytes; undefined at the end. */
  async nextName(after: Buffer): Promise<Buffer | undefined> {
    const row = await this.#sql.get<{ name_start: Buffer }>(
      `SELECT name_start FROM terms WHERE name_start > ? AND name_start IS NOT NULL
       ORDER BY name_start LIMIT 1`,
      after,
    );
    return row?.name_start;
  }

  /** Addresses of owners by their term. */
  async ownerAddresses(owners: Iterable<number>): Promise<ReadonlyMap<number, string>> {
    const addresses = new Map<number, string>();
    const unknown: number[] = [];
    for (const owner of new Set(owners)) {
      const known = this.#owners.get(owner);
      if (known === undefined) unknown.push(owner);
      else addresses.set(owner, known);
    }
    if (unknown.length > 0) {
      const rows = await selectIn<{ term: number; hash: Buffer }>(
        this.#sql,
        'SELECT term, hash FROM terms WHERE term IN ({in})',
        unknown,
      );
      for (const row of rows) {
        const address = row.hash.toString('base64url');
        this.#owners.set(row.term, address);
        addresses.set(row.term, address);
      }
    }
    return addresses;
  }

  /** Public keys of owners by their term, base64url; owners whose key was never seen are left out. */
  async ownerKeys(owners: Iterable<number>): Promise<ReadonlyMap<number, string>> {
    const rows = await selectIn<{ term: number; value: Buffer | null }>(
      this.#sql,
      'SELECT term, value FROM terms WHERE term IN ({in})',
      [...new Set(owners)],
    );
    const keys = new Map<number, string>();
    for (const row of rows) if (row.value !== null) keys.set(row.term, row.value.toString('base64url'));
    return keys;
  }

  /** Keeps the public key of an owner that was first met without one. */
  async learnOwnerKey(tx: SqlExecutor, owner: number, key: Uint8Array): Promise<void> {
    await tx.run('UPDATE terms SET value = ? WHERE term = ? AND value IS NULL', key, owner);
  }

  #byHash(kind: number, hashes: readonly Buffer[]) {
    return selectIn<{ term: number; kind: number; hash: Buffer }>(
      this.#sql,
      'SELECT term, kind, hash FROM terms WHERE kind = ? AND hash IN ({in})',
      hashes,
      kind,
    );
  }

  async #select(specs: readonly TermSpec[]) {
    const rows: { term: number; kind: number; hash: Buffer }[] = [];
    for (const kind of Object.values(termKinds)) {
      const hashes = specs.filter((spec) => spec.kind === kind).map((spec) => spec.hash);
      if (hashes.length > 0) rows.push(...(await this.#byHash(kind, hashes)));
    }
    return rows;
  }
}
