/** What was read from the fork: notes in a database, content in a folder of blobs. Both are bounded, and may be lost. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { tryParseJson } from '../formats/json.ts';
import { Together } from '../kernel/background/together.ts';
import type { Logger } from '../kernel/log.ts';
import type { BlobCache } from '../storage/blobs/cache/cache.ts';
import { openBlobCache } from '../storage/blobs/open.ts';
import { openSqliteFile } from '../storage/sql/open.ts';
import type { Migration, Sql } from '../storage/sql/sql.ts';
import { ForkUnavailable } from './upstream.ts';

const migrations: readonly Migration[] = [
  {
    id: 'fork-cache-001',
    up: `
CREATE TABLE note (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  written_ms BIGINT NOT NULL
);
CREATE INDEX note_by_age ON note (written_ms);
`,
  },
];

/** A larger note is not kept. */
const maxNoteBytes = 4 * 1024 * 1024;
/** Removed together when there are too many. */
const removedAtOnce = 200;

export interface ForkCacheOptions {
  readonly folder: string;
  readonly maxBytes: number;
  readonly log: Logger;
}

export class ForkCache {
  readonly content: BlobCache;
  readonly #sql: Sql;
  readonly #maxNotesBytes: number;
  readonly #log: Logger;
  readonly #asking = new Together<string, unknown>();
  #bytes: number;

  private constructor(options: ForkCacheOptions, sql: Sql, content: BlobCache, bytes: number) {
    this.#sql = sql;
    this.content = content;
    this.#bytes = bytes;
    this.#maxNotesBytes = Math.floor(options.maxBytes / 4);
    this.#log = options.log;
  }

  static async open(options: ForkCacheOptions): Promise<ForkCache> {
    const sql = await openSqliteFile(join(options.folder, 'notes.db'), migrations);
    try {
      const content = await openBlobCache({
        folder: join(options.folder, 'content'),
        maxBytes: options.maxBytes - Math.floor(options.maxBytes / 4),
      });
      return new ForkCache(options, sql, content, await bytesOf(sql));
    } catch (error) {
      await sql.close();
      throw error;
    }
  }

  /** What was noted under these words, from an address of the fork; undefined where nothing is. */
  async note(of: string, what: string): Promise<unknown> {
    const row = await this.#sql
      .get<{ value: string }>('SELECT value FROM note WHERE key = ?', keyOf(of, what))
      .catch((error: unknown) => this.#failed(error));
    return row && tryParseJson(row.value);
  }

  /** A cache that cannot be written costs nobody the read. */
  async keep(of: string, what: string, value: unknown): Promise<void> {
    const text = JSON.stringify(value);
    if (text.length > Math.min(maxNoteBytes, this.#maxNotesBytes)) return;
    try {
      await this.#sql.run(
        `INSERT INTO note (key, value, bytes, written_ms) VALUES (?, ?, ?, ?)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes,
           written_ms = excluded.written_ms`,
        keyOf(of, what),
        text,
        text.length,
        Date.now(),
      );
      this.#bytes += text.length;
      await this.#trim();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** What never changes: asked for once. `ask` answers undefined for what is absent, which is not kept. */
  async once<T>(of: string, what: string, ask: () => Promise<T | undefined>): Promise<T | undefined> {
    const value = this.#asking.run(`${of} ${what}`, async () => {
      const kept = (await this.note(of, what)) as T | undefined;
      if (kept !== undefined) return kept;
      const value = await ask();
      if (value !== undefined) await this.keep(of, what, value);
      return value;
    });
    return (await value) as T | undefined;
  }

  /** What may change: asked for each time, and what was said last, an absence too, while the fork does not answer. */
  async latest<T>(of: string, what: string, ask: () => Promise<T | undefined>): Promise<T | undefined> {
    const value = this.#asking.run(`${of} ${what}`, async () => {
      try {
        const value = await ask();
        await this.keep(of, what, value ?? null);
        return value;
      } catch (error) {
        if (!(error instanceof ForkUnavailable)) throw error;
        const kept = (await this.note(of, what)) as T | null | undefined;
        if (kept === undefined) throw error;
        return kept ?? undefined;
      }
    });
    return (await value) as T | undefined;
  }

  async close(): Promise<void> {
    await this.content.close();
    await this.#sql.close();
  }

  async #trim(): Promise<void> {
    while (this.#bytes > this.#maxNotesBytes) {
      const removed = await this.#sql.run(
        'DELETE FROM note WHERE key IN (SELECT key FROM note ORDER BY written_ms LIMIT ?)',
        removedAtOnce,
      );
      // Notes that were written again were counted twice.
      this.#bytes = await bytesOf(this.#sql);
      if (removed === 0) return;
    }
  }

  #failed(error: unknown): undefined {
    this.#log.warn({ err: error }, 'the cache of the fork fails: what is read is not kept');
  }
}

async function bytesOf(sql: Sql): Promise<number> {
  const row = await sql.get<{ bytes: number }>('SELECT COALESCE(SUM(bytes), 0) AS bytes FROM note');
  return row?.bytes ?? 0;
}

/** Addresses carry keys: they are not kept. */
function keyOf(of: string, what: string): string {
  return createHash('sha256').update(`${of}\n${what}`).digest('hex');
}
