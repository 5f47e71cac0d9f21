/**
 * What was proven once: which bytes an id stands for. Kept on disk, since it stays true for ever; content that
 * left the cache is then checked against it without asking anybody. Names are kept beside it, so that a router
 * that starts while nobody can be asked still knows them.
 */
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../kernel/log.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import type { Migration, Sql, SqlValue } from '../../storage/sql/sql.ts';
import type { KeptName, NameKeeper } from '../names/resolver.ts';

export type Method = 'signature' | 'quorum' | 'single' | 'none';

export interface Known {
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
];

interface KnownRow {
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

interface Write {
  readonly statement: string;
  readonly values: readonly SqlValue[];
}

const maxInMemory = 100_000;
const maxRows = 2_000_000;
const maxWaiting = 20_000;
const flushMs = 500;

export class KnownStore implements NameKeeper {
  readonly #log: Logger;
  readonly #known = new LRUCache<string, Known>({ max: maxInMemory });
  #sql: Sql | undefined;
  #waiting: Write[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  problem: string | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Without the file the router works on; it only forgets with the process. */
  async start(folder: string): Promise<void> {
    try {
      this.#sql = await openSqliteFile(join(folder, 'known.db'), migrations);
      await this.#sql.run(
        'DELETE FROM known_content WHERE verified_at < (SELECT verified_at FROM known_content ORDER BY verified_at DESC LIMIT 1 OFFSET ?)',
        maxRows,
      );
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

  /** Without waiting, for the hottest path. */
  peek(id: string): Known | undefined {
    return this.#known.get(id);
  }

  async get(id: string): Promise<Known | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined || this.#sql === undefined) return known;
    try {
      const row = await this.#sql.get<KnownRow>('SELECT * FROM known_content WHERE id = ?', id);
      if (row === undefined) return undefined;
      const read: Known = {
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

  set(id: string, known: Known): void {
    this.#known.set(id, known);
    this.#write(
      `INSERT INTO known_content VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
        digest = excluded.digest, size = excluded.size, content_type = excluded.content_type,
        content_encoding = excluded.content_encoding, method = excluded.method,
        verified_by = excluded.verified_by, verified_at = excluded.verified_at`,
      id,
      known.digest,
      known.size,
      known.contentType,
      known.contentEncoding ?? null,
      known.method,
      known.by.join(' '),
      known.verifiedAt,
    );
  }

  forget(id: string): void {
    this.#known.delete(id);
    this.#write('DELETE FROM known_content WHERE id = ?', id);
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
    this.#write(
      `INSERT INTO known_names VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (label) DO UPDATE SET
        target = excluded.target, ant_id = excluded.ant_id, ttl_seconds = excluded.ttl_seconds,
        verified_by = excluded.verified_by, resolved_at = excluded.resolved_at`,
      label,
      kept.id,
      kept.antId ?? null,
      kept.ttlSeconds,
      kept.by.join(' '),
      kept.resolvedAt,
    );
  }

  remove(label: string): void {
    this.#write('DELETE FROM known_names WHERE label = ?', label);
  }

  #write(statement: string, ...values: SqlValue[]): void {
    if (this.#sql === undefined || this.#waiting.length >= maxWaiting) return;
    this.#waiting.push({ statement, values });
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
        await sql.transaction(async (tx) => {
          for (const { statement, values } of writes) await tx.run(statement, ...values);
        });
        this.problem = undefined;
      } catch (error) {
        this.#failed(error);
      }
    });
  }

  #failed(error: unknown): void {
    if (this.problem === undefined) {
      this.#log.warn({ err: error }, 'what was proven is only remembered until the router stops');
    }
    this.problem = error instanceof Error ? error.message : String(error);
  }
}

function methodOf(text: string): Method {
  return text === 'signature' || text === 'quorum' || text === 'single' ? text : 'none';
}

function originsOf(text: string): string[] {
  return text === '' ? [] : text.split(' ');
}
