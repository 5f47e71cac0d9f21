/**
 * One SQL interface over two engines: SQLite (embedded) and PostgreSQL (shared).
 *
 * Statements are written once, with `?` placeholders and the common subset of both dialects
 * (`ON CONFLICT … DO UPDATE`, `RETURNING`, CTEs). Amounts beyond 64 bits are decimal text in SQLite and
 * numeric(40,0) in PostgreSQL and always arrive as strings: compare and add them as bigint, never in SQL.
 * 64-bit integer columns arrive as numbers, and one that does not fit a safe integer is an error, not a
 * rounded value (PostgreSQL's sum() of them is numeric: cast it to bigint). Truth values arrive as 0 and 1,
 * binary columns as Buffer.
 *
 * Open one with `openDatabase` (`open.ts`), test with `forEachEngine` (`testing.ts`).
 */

export type SqlValue = string | number | bigint | Uint8Array | null;
export type Row = Record<string, string | number | Buffer | null>;

/** Reads and writes. On a `Sql`, each call stands alone and reads see only committed rows. */
export interface SqlExecutor {
  readonly engine: 'sqlite' | 'postgres';
  /** Ends a SELECT whose rows the same transaction will change: `FOR UPDATE` where rows are locked, else empty. */
  readonly forUpdate: '' | 'FOR UPDATE';
  all<T = Row>(statement: string, ...values: SqlValue[]): Promise<T[]>;
  get<T = Row>(statement: string, ...values: SqlValue[]): Promise<T | undefined>;
  /** Runs a statement without rows; answers how many rows it changed. */
  run(statement: string, ...values: SqlValue[]): Promise<number>;
}

/** Who only reads: a database, a transaction, or a snapshot of one. */
export type SqlReader = Pick<SqlExecutor, 'engine' | 'all' | 'get'>;

/**
 * What runs in a transaction. One of a queue may say by `letNext` that it has sent all statements whose effect the next of
 * its queue must see, so that this need not wait for the answers to them.
 */
export type Work<T> = (tx: SqlExecutor, letNext?: () => void) => Promise<T>;

export interface Sql extends SqlExecutor {
  /**
   * Runs `work` in one transaction. It is durable when the promise resolves: on SQLite, transactions that
   * wait at the same time share one commit and one sync; a `work` that throws is rolled back alone.
   *
   * `work` may await nothing but its own executor (on SQLite everybody waits for it, and one that waits too
   * long is cut off), and may be run again (PostgreSQL retries serialization failures and deadlocks; either
   * engine, when one beside it failed), so it has no effect outside the database. A statement that fails fails the transaction, even when the work
   * catches the error: write `ON CONFLICT` where a conflict is no failure.
   *
   * Where the answer to a commit is lost, the database is asked what became of it; where that cannot be known,
   * `OutcomeUnknown` is thrown. A single `run` whose connection is lost may have happened as well.
   *
   * SQLite runs transactions one after the other. PostgreSQL runs them side by side at READ COMMITTED: end a
   * SELECT on whose rows a later change depends with `forUpdate`. Those of one `queue` run one after the other there too.
   * Those of any queues may share a commit: for works that lock one row each, by whose name they are queued, and beside it nothing
   * that two of them could lock in different orders.
   */
  transaction<T>(work: Work<T>, queue?: string): Promise<T>;
  /** The rows of a query one at a time, all of one moment, without holding them all in memory. */
  stream<T = Row>(statement: string, ...values: SqlValue[]): AsyncIterable<T>;
  /** Resolves when whoever reads from now on, in whichever process, sees what was committed before: see `read-scope.ts`. */
  visible(): Promise<void>;
  /** Answers what was accepted, then lets go of the database. Later calls throw `DatabaseUnavailable`. */
  close(): Promise<void>;
}

/**
 * One step of a schema. Applied once, in order of the list, each in a transaction of its own; one that makes indexes with
 * `CREATE INDEX CONCURRENTLY` has nothing else in it and runs outside of any.
 */
export interface Migration {
  /** Unique within the database, for example `credits-001-accounts`. */
  readonly id: string;
  /**
   * Statements separated by `;` at line ends. Column types that differ between engines are written as
   * `AMOUNT` (text / numeric(40,0)), `BYTES` (blob / bytea), `BIGINT` (integer / bigint),
   * `REAL` (real / double precision) and `SERIAL_KEY` (a growing 64-bit primary key). `CLUSTERED` after a table's
   * closing bracket asks SQLite to keep the rows in the tree of the primary key (`WITHOUT ROWID`).
   */
  readonly up: string;
  /**
   * The release before this one works on the schema after it: the step adds tables, indexes, or columns that may be left
   * out. Then both releases can run side by side, and one can go back. What takes something away comes a release later.
   */
  readonly expands?: true;
}

/** What storage tells the operator; a pino logger is one. */
export interface StorageLog {
  warn(details: object, message: string): void;
}

/** Thrown for a violated UNIQUE or PRIMARY KEY constraint on either engine. */
export class UniqueViolation extends Error {
  override readonly name = 'UniqueViolation';
}

/** Thrown when the database cannot be reached or is shutting down: the caller may try again later. */
export class DatabaseUnavailable extends Error {
  override readonly name: string = 'DatabaseUnavailable';
}

/** Thrown when a commit may or may not have happened: whoever tries again does so under the same id. */
export class OutcomeUnknown extends DatabaseUnavailable {
  override readonly name: string = 'OutcomeUnknown';
}

/** Text that the engine cannot hold, such as PostgreSQL a NUL: it is nowhere, and cannot be put anywhere. */
export class UnstorableText extends Error {
  override readonly name = 'UnstorableText';
}
