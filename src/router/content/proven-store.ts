/**
 * What was proven once: which bytes an id stands for. Kept in a database, since it stays true for ever; content that
 * left the cache is then checked against it without asking anybody. Names are kept beside it, so that a router
 * that starts while nobody can be asked still knows them.
 *
 * Both tables are bounded: else requests for ever new content would fill the disk. The rows that were proven
 * longest ago leave in the transaction that brings new ones. How many there are is kept beside them, since several
 * processes may add to them.
 */
import { LRUCache } from 'lru-cache';
import { atMost } from '../../kernel/at-most.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import { assignments, type Columns } from '../../storage/sql/columns.ts';
import { insertRows } from '../../storage/sql/many-rows.ts';
import type { Migration, Sql, SqlExecutor } from '../../storage/sql/sql.ts';
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

export const provenMigrations: readonly Migration[] = [
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
  {
    id: 'router-known-003-counts',
    up: `
CREATE TABLE known_counts (
  table_name TEXT PRIMARY KEY,
  row_count BIGINT NOT NULL
);`,
  },
];

interface ContentRow extends Columns {
  readonly digest: string;
  readonly size: number;
  readonly content_type: string;
  readonly content_encoding: string | null;
  readonly method: string;
  readonly verified_by: string;
  readonly verified_at: number;
}

interface NameRow extends Columns {
  readonly target: string;
  readonly ant_id: string | null;
  readonly ttl_seconds: number;
  readonly verified_by: string;
  readonly resolved_at: number;
}

interface Table {
  readonly name: string;
  readonly key: string;
  /** The column by which the oldest rows leave. */
  readonly age: string;
}

const contentTable: Table = { name: 'known_content', key: 'id', age: 'verified_at' };
const nameTable: Table = { name: 'known_names', key: 'label', age: 'resolved_at' };

const trim = ({ name, key, age }: Table): string =>
  `DELETE FROM ${name} WHERE ${key} IN (SELECT ${key} FROM ${name} ORDER BY ${age} LIMIT ?)`;

interface Write {
  readonly table: Table;
  readonly key: string;
  /** undefined: the row is removed. */
  readonly row: Columns | undefined;
}

const byTableAndKey = (one: Write, other: Write): number =>
  compare(one.table.name, other.table.name) || compare(one.key, other.key);
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

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
  readonly #open: () => Promise<Sql>;
  readonly #log: Logger;
  readonly #known = new LRUCache<string, ProvenContent>(atMost(maxInMemory));
  readonly #limits: ReadonlyMap<Table, number>;
  #sql: Sql | undefined;
  #waiting: Write[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  problem: string | undefined;

  constructor(open: () => Promise<Sql>, log: Logger, limits: ProvenLimits = defaultLimits) {
    this.#open = open;
    this.#log = log;
    this.#limits = new Map([
      [contentTable, limits.content],
      [nameTable, limits.names],
    ]);
  }

  /** Without the database the router works on; it only forgets with the process. */
  async start(): Promise<void> {
    try {
      const sql = await this.#open();
      this.#sql = sql;
      for (const [table, limit] of this.#limits) await trimAtStart(sql, table, limit);
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

  /** An id that was asked for lately and stands for these bytes. */
  idOf(digest: string): string | undefined {
    for (const [id, proven] of this.#known.entries()) if (proven.digest === digest) return id;
    return undefined;
  }

  async get(id: string): Promise<ProvenContent | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined || this.#sql === undefined) return known;
    try {
      const row = await this.#sql.get<ContentRow>('SELECT * FROM known_content WHERE id = ?', id);
      if (row === undefined) return undefined;
      const { digest, size, content_type: contentType, verified_at: verifiedAt } = row;
      const contentEncoding = row.content_encoding ?? undefined;
      const proof = { method: methodOf(row.method), by: originsOf(row.verified_by), verifiedAt };
      const read: ProvenContent = { digest, size, contentType, contentEncoding, ...proof };
      this.#known.set(id, read);
      return read;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  set(id: string, known: ProvenContent): void {
    this.#known.set(id, known);
    const { digest, size, contentType, contentEncoding = null, method, by, verifiedAt } = known;
    const row: ContentRow = {
      digest,
      size,
      content_type: contentType,
      content_encoding: contentEncoding,
      method,
      verified_by: by.join(' '),
      verified_at: verifiedAt,
    };
    this.#write(contentTable, id, row);
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
    const row: NameRow = {
      target: kept.id,
      ant_id: kept.antId ?? null,
      ttl_seconds: kept.ttlSeconds,
      verified_by: kept.by.join(' '),
      resolved_at: kept.resolvedAt,
    };
    this.#write(nameTable, label, row);
  }

  remove(label: string): void {
    this.#write(nameTable, label, undefined);
  }

  #write(table: Table, key: string, row: Columns | undefined): void {
    if (this.#sql === undefined || this.#waiting.length >= maxWaiting) return;
    this.#waiting.push({ table, key, row });
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
        await sql.transaction((tx) => this.#apply(tx, writes));
        this.problem = undefined;
      } catch (error) {
        this.#failed(error);
      }
    });
  }

  async #apply(tx: SqlExecutor, writes: readonly Write[]): Promise<void> {
    const added = new Map<Table, number>();
    const add = (table: Table, difference: number) => added.set(table, (added.get(table) ?? 0) + difference);
    // Always in one order, so that two processes never wait for each other.
    for (const run of runsOf(writes.toSorted(byTableAndKey))) {
      const [{ table, key, row }] = run;
      if (row !== undefined) add(table, await put(tx, table, run));
      else add(table, -(await tx.run(`DELETE FROM ${table.name} WHERE ${table.key} = ?`, key)));
    }
    for (const [table, limit] of this.#limits) {
      const difference = added.get(table) ?? 0;
      if (difference === 0) continue;
      const excess = (await changeCount(tx, table, difference)) - limit;
      if (excess > 0) await changeCount(tx, table, -(await tx.run(trim(table), excess)));
    }
  }

  #failed(error: unknown): void {
    if (this.problem === undefined) {
      this.#log.warn({ err: error }, 'what was proven is only remembered until the router stops');
    }
    this.problem = messageOf(error);
  }
}

/** Writes that one statement makes: rows of one table, or one that is removed. */
function* runsOf(writes: readonly Write[]): Generator<readonly [Write, ...Write[]]> {
  let run: [Write, ...Write[]] | undefined;
  for (const write of writes) {
    const isAlike = run?.[0].table === write.table && run[0].row !== undefined && write.row !== undefined;
    if (isAlike) run?.push(write);
    else {
      if (run !== undefined) yield run;
      run = [write];
    }
  }
  if (run !== undefined) yield run;
}

/** Inserts or replaces rows; answers how many are new, so that rows are counted without looking. */
async function put(tx: SqlExecutor, { name, key: column }: Table, writes: readonly Write[]): Promise<number> {
  const columns = [column, ...Object.keys(writes[0]?.row ?? {})];
  const rows = writes.map(({ key, row = {} }) => [key, ...Object.values(row)]);
  const suffix = `ON CONFLICT (${column}) DO NOTHING RETURNING ${column} AS key`;
  const inserted = await insertRows<{ key: string }>(tx, name, columns, rows, suffix);
  const added = new Set(inserted.map(({ key }) => key));
  for (const { key, row = {} } of writes) {
    if (added.delete(key)) continue;
    await tx.run(`UPDATE ${name} SET ${assignments(row)} WHERE ${column} = ?`, ...Object.values(row), key);
  }
  return inserted.length;
}

/** Answers how many rows there are then. */
async function changeCount(tx: SqlExecutor, { name }: Table, difference: number): Promise<number> {
  const row = await tx.get<{ row_count: number }>(
    'UPDATE known_counts SET row_count = row_count + ? WHERE table_name = ? RETURNING row_count',
    difference,
    name,
  );
  return row?.row_count ?? 0;
}

/** A database may hold more than today's limit, and an earlier release did not count. */
async function trimAtStart(sql: Sql, table: Table, limit: number): Promise<void> {
  let rows = Number(
    (await sql.get<{ rows: number }>(`SELECT COUNT(*) AS rows FROM ${table.name}`))?.rows ?? 0,
  );
  while (rows > limit) rows -= await sql.run(trim(table), Math.min(trimStep, rows - limit));
  await sql.run(
    `INSERT INTO known_counts (table_name, row_count) VALUES (?, ?)
     ON CONFLICT (table_name) DO UPDATE SET row_count = excluded.row_count`,
    table.name,
    rows,
  );
}

function methodOf(text: string): Method {
  return text === 'signature' || text === 'quorum' || text === 'single' ? text : 'none';
}

function originsOf(text: string): string[] {
  return text === '' ? [] : text.split(' ');
}
