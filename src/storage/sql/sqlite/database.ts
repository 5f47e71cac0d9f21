/**
 * SQLite as a `Sql`: one connection writes, one reads, one more per open stream.
 *
 * Reads run at once on the reader's connection, which sees committed rows only; when a commit is not yet on
 * disk, the answer waits for it (see `wal-sync.ts`). Writes go through the group commit. Several processes
 * may share the file: each waits for the write lock without blocking its thread.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseUnavailable, type Sql, type SqlExecutor, type SqlValue, type StorageLog } from '../sql.ts';
import { Checkpoints } from './checkpoints.ts';
import { SqliteConnection } from './connection.ts';
import { defaultLimits, GroupCommit, type GroupCommitLimits } from './group-commit.ts';
import { logBytes, unwatchLog, watchLog } from './log-size.ts';
import { isQuery } from './statement.ts';
import { type Datasync, WalSync } from './wal-sync.ts';

const readBusyTimeoutMs = 2_000;
const maxStreams = 32;
/** A stream lets the event loop turn after so many rows. */
const rowsPerTurn = 256;
const defaultMaxLogBytes = 8 * 1024 ** 3;

export interface SqliteOptions {
  readonly limits?: Partial<GroupCommitLimits>;
  /** The log is copied into the database whenever it has grown by so many pages. */
  readonly checkpointFrames?: number;
  /** A stream that kept the log from being begun anew until it was longer than this ends with an error. */
  readonly maxLogBytes?: number;
  readonly datasync?: Datasync;
  readonly log?: StorageLog;
}

export class SqliteDatabase implements Sql {
  readonly engine = 'sqlite';
  readonly forUpdate = '';
  readonly #path: string;
  readonly #maxLogBytes: number;
  readonly #writer: SqliteConnection;
  readonly #reader: SqliteConnection;
  readonly #sync: WalSync;
  readonly #commits: GroupCommit;
  readonly #checkpoints: Checkpoints;
  readonly #streams = new Set<SqliteConnection>();
  #closing: Promise<void> | undefined;

  /** Takes over `writer`, which has migrated the file. */
  constructor(path: string, writer: SqliteConnection, options: SqliteOptions = {}) {
    const { limits, checkpointFrames: framesBetween = 4_000, datasync, log } = options;
    this.#path = path;
    this.#maxLogBytes = options.maxLogBytes ?? defaultMaxLogBytes;
    this.#writer = writer;
    this.#reader = new SqliteConnection(path, { readOnly: true, busyTimeoutMs: readBusyTimeoutMs });
    this.#sync = new WalSync(path, datasync);
    this.#commits = new GroupCommit(writer, this.#sync, { ...defaultLimits, ...limits });
    this.#checkpoints = new Checkpoints(path, writer, this.#commits, { framesBetween, log });
    this.#commits.afterCommit = () => this.#checkpoints.batchCommitted();
    watchLog(path);
  }

  async all<T>(text: string, ...values: SqlValue[]): Promise<T[]> {
    if (!isQuery(text)) return this.#commits.submit((tx) => tx.all<T>(text, ...values), true);
    this.#assertOpen();
    const rows = this.#reader.all<T>(text, values);
    if (this.#sync.pending) await this.#sync.flushed();
    return rows;
  }

  async get<T>(text: string, ...values: SqlValue[]): Promise<T | undefined> {
    if (!isQuery(text)) return this.#commits.submit((tx) => tx.get<T>(text, ...values), true);
    this.#assertOpen();
    const row = this.#reader.get<T>(text, values);
    if (this.#sync.pending) await this.#sync.flushed();
    return row;
  }

  async run(text: string, ...values: SqlValue[]): Promise<number> {
    return this.#commits.submit((tx) => tx.run(text, ...values), true);
  }

  async transaction<T>(work: (tx: SqlExecutor) => Promise<T>): Promise<T> {
    return this.#commits.submit(work);
  }

  async *stream<T>(text: string, ...values: SqlValue[]): AsyncGenerator<T> {
    this.#assertOpen();
    if (!isQuery(text)) throw new Error('only a query can be streamed');
    if (this.#streams.size >= maxStreams) throw new DatabaseUnavailable('too many open streams');
    // A connection of its own: the snapshot it holds open must not age the reads of others.
    const connection = new SqliteConnection(this.#path, { readOnly: true, busyTimeoutMs: readBusyTimeoutMs });
    this.#streams.add(connection);
    try {
      let count = 0;
      for (const row of connection.iterate<T>(text, values)) {
        if (this.#sync.pending) await this.#sync.flushed();
        yield row;
        count += 1;
        if (count % rowsPerTurn === 0) {
          await nextTurn();
          this.#assertShortLog();
        }
        this.#assertOpen();
      }
    } finally {
      if (this.#streams.delete(connection)) connection.close();
    }
  }

  async visible(): Promise<void> {
    // Whoever reads the file sees what was committed.
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#commits.close();
    await this.#checkpoints.close();
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
    this.#reader.close();
    this.#sync.close();
    this.#writer.close();
    unwatchLog(this.#path);
  }

  /** The snapshot of a stream keeps all that is written meanwhile in the log. */
  #assertShortLog(): void {
    const bytes = logBytes(this.#path);
    if (bytes <= this.#maxLogBytes) return;
    throw new DatabaseUnavailable(
      `a stream took too long: the write-ahead log has grown to ${Math.round(bytes / 2 ** 20)} MiB meanwhile`,
    );
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new DatabaseUnavailable('the database is closed');
  }
}
