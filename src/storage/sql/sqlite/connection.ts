/** One SQLite connection with its prepared statements; every error leaves it as one of ours or as a bug. */
import { DatabaseSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { DatabaseUnavailable, type SqlValue, UniqueViolation } from '../sql.ts';
import { SqliteStatement } from './statement.ts';

const statementsKept = 512;
/** Of a database that is read. */
const mappedBytes = 128 * 1_024 * 1_024;

/** Primary result codes, sqlite.org/rescode.html. */
const code = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notDatabase: 26,
};
const unavailable = new Set<number>(Object.values(code));
/** SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE and _ROWID. */
const uniqueViolations = new Set([1555, 2067, 2579]);

export interface ConnectionOptions {
  readonly readOnly: boolean;
  /** How long a statement may block the thread while another process holds the lock it needs. */
  readonly busyTimeoutMs: number;
}

export class SqliteConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new LRUCache<string, SqliteStatement>({ max: statementsKept });

  constructor(path: string, options: ConnectionOptions) {
    this.#database = attempt(
      () =>
        new DatabaseSync(path, {
          readOnly: options.readOnly,
          timeout: options.busyTimeoutMs,
          enableForeignKeyConstraints: true,
          enableDoubleQuotedStringLiterals: false,
        }),
    );
    // SQLite unmaps the file whenever another process has written, and the pages of a writer are copied in any case.
    const mapped = options.readOnly ? mappedBytes : 0;
    this.execute(`PRAGMA mmap_size = ${mapped}; PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY`);
  }

  /** False after an error that made the engine roll the whole transaction back by itself. */
  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  all<T>(text: string, values: readonly SqlValue[]): T[] {
    return attempt(() => this.#prepared(text).all<T>(values));
  }

  get<T>(text: string, values: readonly SqlValue[]): T | undefined {
    return attempt(() => this.#prepared(text).get<T>(values));
  }

  run(text: string, values: readonly SqlValue[]): number {
    return attempt(() => this.#prepared(text).run(values));
  }

  /** Rows as they are asked for. The connection sees one snapshot until the iteration ends. */
  *iterate<T>(text: string, values: readonly SqlValue[]): Generator<T> {
    try {
      yield* new SqliteStatement(this.#database, text).iterate<T>(values);
    } catch (error) {
      throw translated(error);
    }
  }

  /** Statements without values or rows, several at once. */
  execute(text: string): void {
    attempt(() => this.#database.exec(text));
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #prepared(text: string): SqliteStatement {
    const kept = this.#statements.get(text);
    if (kept !== undefined) return kept;
    const made = new SqliteStatement(this.#database, text);
    this.#statements.set(text, made);
    return made;
  }
}

/** True when another connection holds the lock, so that trying again soon may work. */
export function isBusy(error: unknown): boolean {
  const number = resultCode(error instanceof DatabaseUnavailable ? error.cause : error);
  return number !== undefined && ((number & 0xff) === code.busy || (number & 0xff) === code.locked);
}

function attempt<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw translated(error);
  }
}

export function translated(error: unknown): unknown {
  const number = resultCode(error);
  if (number === undefined || !(error instanceof Error)) return error;
  if (uniqueViolations.has(number)) return new UniqueViolation(error.message, { cause: error });
  if (unavailable.has(number & 0xff)) return new DatabaseUnavailable(error.message, { cause: error });
  return error;
}

function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode
    : undefined;
}
