/**
 * A second cache behind each process's own: copies of content in the store that several gateways share
 * (`BLOB_STORE_URL`), so that what one has fetched no other has to fetch. The database says what is there; a copy
 * is written down before it is made and struck out before it is removed, so that none is ever forgotten. Bounded: the
 * copies that nobody asked for the longest go first.
 *
 * It is only a cache. While the store fails it is left alone for a moment, and reads go to the sources.
 */
import type { Logger } from '../../../kernel/log.ts';
import { type BlobReader, type BlobStore, BlobStoreUnavailable } from '../../../storage/blobs/blobs.ts';
import type { Sql } from '../../../storage/sql/sql.ts';

export interface SharedCopiesOptions {
  readonly sql: Sql;
  /** Nobody else writes there. */
  readonly store: BlobStore;
  readonly maxBytes: number;
  readonly log: Logger;
  /** Called when the store failed. */
  readonly failed: () => void;
  readonly now?: () => number;
}

/** Copies that wait to be made; one more is not made at all. */
const maxWaiting = 256;
/** After a failure the store is not asked for so long. */
const restMs = 10_000;
/** A copy's last use is noted no more often than this. */
const noteEverySeconds = 600;
const trimEveryMs = 60_000;
const removedAtOnce = 100;
/** Trimming makes some room at once, so that it is not needed again at the next copy. */
const lowMark = 0.95;

interface Copy {
  /** Lower-case hex. */
  readonly digest: string;
  readonly size: number;
  /** The process's own copy, open until the shared one is made. */
  open(): Promise<BlobReader | undefined>;
}

export class SharedCopies implements Pick<BlobStore, 'open'> {
  readonly #options: SharedCopiesOptions;
  readonly #now: () => number;
  readonly #waiting: Copy[] = [];
  readonly #timer: NodeJS.Timeout;
  #working: Promise<void> | undefined;
  #trimming: Promise<void> = Promise.resolve();
  #restUntil = 0;
  #closed = false;

  constructor(options: SharedCopiesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#timer = setInterval(() => {
      this.#trimming = this.trim().catch((error: unknown) => this.#fail(error, 'old copies stay'));
    }, trimEveryMs).unref();
  }

  /** The shared copy of a blob; undefined where there is none or the store cannot be asked. */
  async open(digest: string): Promise<BlobReader | undefined> {
    if (this.#restUntil > this.#now()) return undefined;
    const { sql, store } = this.#options;
    const key = Buffer.from(digest, 'hex');
    try {
      const row = await sql.get<{ used_at: number }>(
        'SELECT used_at FROM shared_copies WHERE digest = ?',
        key,
      );
      if (row === undefined) return undefined;
      const reader = await store.open(digest);
      if (reader !== undefined) await this.#noteUse(key, row.used_at);
      return reader;
    } catch (error) {
      this.#fail(error, 'a copy cannot be read');
      return undefined;
    }
  }

  /** Makes a copy in the background, unless there is one. */
  keep(copy: Copy): void {
    const { maxBytes } = this.#options;
    if (this.#closed || this.#waiting.length >= maxWaiting || copy.size > maxBytes / 2) return;
    if (this.#waiting.some(({ digest }) => digest === copy.digest)) return;
    this.#waiting.push(copy);
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  /** Whether copies are being made. */
  get busy(): boolean {
    return this.#working !== undefined;
  }

  async drop(digest: string): Promise<void> {
    const { sql, store } = this.#options;
    await store.delete(digest);
    await sql.run('DELETE FROM shared_copies WHERE digest = ?', Buffer.from(digest, 'hex'));
  }

  /** Removes the copies that were not asked for the longest, until the rest fits. */
  async trim(): Promise<void> {
    const { sql, maxBytes } = this.#options;
    const row = await sql.get<{ bytes: number }>(
      'SELECT CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes FROM shared_copies',
    );
    let bytes = row?.bytes ?? 0;
    if (bytes <= maxBytes) return;
    while (bytes > maxBytes * lowMark && !this.#closed) {
      const oldest = await sql.all<{ digest: Buffer; size: number }>(
        'SELECT digest, size FROM shared_copies ORDER BY used_at, digest LIMIT ?',
        removedAtOnce,
      );
      if (oldest.length === 0) return;
      for (const { digest, size } of oldest) {
        if (bytes <= maxBytes * lowMark) return;
        await this.drop(digest.toString('hex'));
        bytes -= size;
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#waiting.length = 0;
    await Promise.all([this.#working, this.#trimming]);
    await this.#options.store.close();
  }

  async #work(): Promise<void> {
    for (;;) {
      const copy = this.#waiting.shift();
      if (copy === undefined) return;
      if (this.#restUntil > this.#now()) continue;
      await this.#copy(copy).catch((error: unknown) => this.#fail(error, 'content is not shared'));
    }
  }

  async #copy({ digest, size, open }: Copy): Promise<void> {
    const { sql, store } = this.#options;
    const key = Buffer.from(digest, 'hex');
    if ((await sql.get('SELECT 1 AS one FROM shared_copies WHERE digest = ?', key)) !== undefined) {
      // Another gateway was first, or made it and died before it was there.
      if ((await store.size(digest)) === size) return;
    }
    const reader = await open();
    if (reader === undefined) return;
    try {
      await sql.run(
        `INSERT INTO shared_copies (digest, size, used_at) VALUES (?, ?, ?)
         ON CONFLICT (digest) DO UPDATE SET used_at = excluded.used_at`,
        key,
        size,
        this.#seconds(),
      );
      const made = await store.put(reader.stream(), size);
      if (made.digest !== digest) {
        await store.delete(made.digest);
        throw new Error('a cached file changed while it was copied');
      }
    } finally {
      await reader.close();
    }
  }

  async #noteUse(key: Buffer, usedAt: number): Promise<void> {
    const now = this.#seconds();
    if (now - usedAt < noteEverySeconds) return;
    await this.#options.sql.run('UPDATE shared_copies SET used_at = ? WHERE digest = ?', now, key);
  }

  #seconds(): number {
    return Math.floor(this.#now() / 1_000);
  }

  #fail(error: unknown, what: string): void {
    if (this.#closed) return;
    const { log, failed } = this.#options;
    if (error instanceof BlobStoreUnavailable) this.#restUntil = this.#now() + restMs;
    failed();
    log.warn({ err: error }, `the shared store fails: ${what}`);
  }
}
