/**
 * What was proven once: which bytes an id stands for. Kept on disk, since it stays true for ever; content that
 * left the cache is then checked against it without asking anybody. Names are kept beside it, so that a router
 * that starts while nobody can be asked still knows them.
 *
 * Both tables are bounded: else requests for ever new content would fill the disk. The rows that were proven
 * longest ago leave in the transaction that brings new ones.
 */
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import type { Migration, Sql, SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';
import type { KeptName, NameKeeper } from '../names/resolver.ts';

export type Method = 'signature' | 'quorum' | 'single' | 'none';

export interface ProvenContent {
  /** SHA-256 of the bytes, hex. */
  readonly digest: string;
  readonly size: number;
  readonly contentType: string;
  readonly contentEncoding: string | undefined;
  readonly method: Method;
  /** Origins whose answers the proof was made from. */
  readonly by: readonly string[];
  /** Unix milliseconds. */
  readonly verifiedAt: number;
}

const migrations: readonly Migration[] = [
  {
    id: 'router-known-001',
    up: `
CREATE TABLE known_content (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL,
  size BIGINT NOT NULL,
  content_type TEXT NOT NULL,
  content_encoding TEXT,
  method TEXT NOT NULL,
  verified_by TEXT NOT NULL,
  verified_at BIGINT NOT NULL
) CLUSTERED;
CREATE INDEX known_content_age ON known_content (verified_at);
CREATE TABLE known_names (
  label TEXT PRIMARY KEY,
  target TEXT NOT NULL,
  ant_id TEXT,
  ttl_seconds BIGINT NOT NULL,
  verified_by TEXT NOT NULL,
  resolved_at BIGINT NOT NULL
) CLUSTERED;
`,
  },
  { id: 'router-known-002-age-of-names', up: 'CREATE INDEX known_names_age ON known_names (resolved_at);' },
];

interface ContentRow {
  digest: string;
  size: number;
  content_type: string;
  content_encoding: string | null;
  method: string;
  verified_by: string;
  verified_at: number;
}

interface NameRow {
  target: string;
  ant_id: string | null;
  ttl_seconds: number;
  verified_by: string;
  resolved_at: number;
}

/** A table with its statements. An insert says whether the row is new, so that rows are counted without looking. */
interface Table {
  readonly insert: string;
  readonly update: string;
  readonly remove: string;
  readonly trim: string;
  readonly count: string;
}

function table(name: string, key: string, age: string, columns: readonly string[]): Table {
  const marks = ['?', ...columns.map(() => '?')].join(', ');
  return {
    insert: `INSERT INTO ${name} (${[key, ...columns].join(', ')}) VALUES (${marks}) ON CONFLICT (${key}) DO NOTHING`,
    update: `UPDATE ${name} SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE ${key} = ?`,
    remove: `DELETE FROM ${name} WHERE ${key} = ?`,
    trim: `DELETE FROM ${name} WHERE ${key} IN (SELECT ${key} FROM ${name} ORDER BY ${age} LIMIT ?)`,
    count: `SELECT COUNT(*) AS rows FROM ${name}`,
  };
}

const contentTable = table('known_content', 'id', 'verified_at', [
  'digest',
  'size',
  'content_type',
  'content_encoding',
  'method',
  'verified_by',
  'verified_at',
]);
const nameTable = table('known_names', 'label', 'resolved_at', [
  'target',
  'ant_id',
  'ttl_seconds',
  'verified_by',
  'resolved_at',
]);

interface Write {
  readonly table: Table;
  readonly key: string;
  /** What the row holds beside its key; undefined: it is removed. */
  readonly values: readonly SqlValue[] | undefined;
}

/** Rows that are kept at most. */
export interface ProvenLimits {
  readonly content: number;
  readonly names: number;
}

const defaultLimits: ProvenLimits = { content: 2_000_000, names: 500_000 };
const maxInMemory = 100_000;
const maxWaiting = 20_000;
const flushMs = 500;
/** Rows that a start removes at a time, from a file that has too many. */
const trimStep = 10_000;

export class ProvenStore implements NameKeeper, Part {
  readonly name = 'proven content';
  readonly #folder: string;
  readonly #log: Logger;
  readonly #known = new LRUCache<string, ProvenContent>({ max: maxInMemory });
  readonly #limits: ReadonlyMap<Table, number>;
  /** Rows of each table. */
  #rows: ReadonlyMap<Table, number> = new Map();
  #sql: Sql | undefined;
  #waiting: Write[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  problem: string | undefined;

  constructor(folder: string, log: Logger, limits: ProvenLimits = defaultLimits) {
    this.#folder = folder;
    this.#log = log;
    this.#limits = new Map([
      [contentTable, limits.content],
      [nameTable, limits.names],
    ]);
  }

  /** Without the file the router works on; it only forgets with the process. */
  async start(): Promise<void> {
    try {
      const sql = await openSqliteFile(join(this.#folder, 'known.db'), migrations);
      this.#sql = sql;
      const rows = new Map<Table, number>();
      for (const [table, limit] of this.#limits) rows.set(table, await trimAtStart(sql, table, limit));
      this.#rows = rows;
    } catch (error) {
      this.#failed(error);
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#flush();
    await this.#writing;
    await this.#sql?.close().catch(() => {});
    this.#sql = undefined;
  }

  problems(): readonly string[] {
    return this.problem === undefined ? [] : [`content index: ${this.problem}`];
  }

  /** Without waiting, for the hottest path. */
  peek(id: string): ProvenContent | undefined {
    return this.#known.get(id);
  }

  async get(id: string): Promise<ProvenContent | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined || this.#sql === undefined) return known;
    try {
      const row = await this.#sql.get<ContentRow>('SELECT * FROM known_content WHERE id = ?', id);
      if (row === undefined) return undefined;
      const read: ProvenContent = {
        digest: row.digest,
        size: row.size,
        contentType: row.content_type,
        contentEncoding: row.content_encoding ?? undefined,
        method: methodOf(row.method),
        by: originsOf(row.verified_by),
        verifiedAt: row.verified_at,
      };
      this.#known.set(id, read);
      return read;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  set(id: string, known: ProvenContent): void {
    this.#known.set(id, known);
    this.#write(contentTable, id, [
      known.digest,
      known.size,
      known.contentType,
      known.contentEncoding ?? null,
      known.method,
      known.by.join(' '),
      known.verifiedAt,
    ]);
  }

  forget(id: string): void {
    this.#known.delete(id);
    this.#write(contentTable, id, undefined);
  }

  async load(label: string): Promise<KeptName | undefined> {
    const row = await this.#sql?.get<NameRow>('SELECT * FROM known_names WHERE label = ?', label);
    if (row === undefined) return undefined;
    return {
      id: row.target,
      antId: row.ant_id ?? undefined,
      ttlSeconds: row.ttl_seconds,
      resolvedAt: row.resolved_at,
      by: originsOf(row.verified_by),
    };
  }

  save(label: string, kept: KeptName): void {
    this.#write(nameTable, label, [
      kept.id,
      kept.antId ?? null,
      kept.ttlSeconds,
      kept.by.join(' '),
      kept.resolvedAt,
    ]);
  }

  remove(label: string): void {
    this.#write(nameTable, label, undefined);
  }

  #write(table: Table, key: string, values: readonly SqlValue[] | undefined): void {
    if (this.#sql === undefined || this.#waiting.length >= maxWaiting) return;
    this.#waiting.push({ table, key, values });
    this.#timer ??= setTimeout(() => this.#flush(), flushMs).unref();
  }

  #flush(): void {
    this.#timer = undefined;
    const sql = this.#sql;
    const writes = this.#waiting;
    this.#waiting = [];
    if (sql === undefined || writes.length === 0) return;
    this.#writing = this.#writing.then(async () => {
      try {
        this.#rows = await sql.transaction((tx) => this.#apply(tx, writes));
        this.problem = undefined;
      } catch (error) {
        this.#failed(error);
      }
    });
  }

  /** Answers how many rows each table has then. */
  async #apply(tx: SqlExecutor, writes: readonly Write[]): Promise<ReadonlyMap<Table, number>> {
    const rows = new Map(this.#rows);
    const add = (table: Table, difference: number) => rows.set(table, (rows.get(table) ?? 0) + difference);
    for (const { table, key, values } of writes) {
      if (values === undefined) {
        add(table, -(await tx.run(table.remove, key)));
        continue;
      }
      const added = await tx.run(table.insert, key, ...values);
      if (added === 0) await tx.run(table.update, ...values, key);
      else add(table, added);
    }
    for (const [table, limit] of this.#limits) {
      const excess = (rows.get(table) ?? 0) - limit;
      if (excess > 0) add(table, -(await tx.run(table.trim, excess)));
    }
    return rows;
  }

  #failed(error: unknown): void {
    if (this.problem === undefined) {
      this.#log.warn({ err: error }, 'what was proven is only remembered until the router stops');
    }
    this.problem = error instanceof Error ? error.message : String(error);
  }
}

/** A file may hold more than today's limit. Answers how many rows are left. */
async function trimAtStart(sql: Sql, { count, trim }: Table, limit: number): Promise<number> {
  let rows = Number((await sql.get<{ rows: number }>(count))?.rows ?? 0);
  while (rows > limit) rows -= await sql.run(trim, Math.min(trimStep, rows - limit));
  return rows;
}

function methodOf(text: string): Method {
  return text === 'signature' || text === 'quorum' || text === 'single' ? text : 'none';
}

function originsOf(text: string): string[] {
  return text === '' ? [] : text.split(' ');
}
