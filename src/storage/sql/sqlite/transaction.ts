import type { SqlExecutor, SqlValue } from '../sql.ts';
import type { SqliteConnection } from './connection.ts';
import { isQuery } from './statement.ts';

/**
 * How a work that fails is undone: with the whole transaction, when nobody wrote before it; back to a
 * savepoint, when others did; or not at all, when it is one statement, which SQLite undoes by itself.
 */
export type Undo = 'rollback' | 'savepoint' | 'none';

/** What a work sees of the writer's connection, until the work ends. */
export class SqliteTransaction implements SqlExecutor {
  readonly engine = 'sqlite';
  readonly forUpdate = '';
  readonly #connection: SqliteConnection;
  readonly #undo: Undo;
  #open = true;
  #wrote = false;
  failure: unknown;

  constructor(connection: SqliteConnection, undo: Undo) {
    this.#connection = connection;
    this.#undo = undo;
  }

  async all<T>(text: string, ...values: SqlValue[]): Promise<T[]> {
    return this.#step(text, () => this.#connection.all<T>(text, values));
  }

  async get<T>(text: string, ...values: SqlValue[]): Promise<T | undefined> {
    return this.#step(text, () => this.#connection.get<T>(text, values));
  }

  async run(text: string, ...values: SqlValue[]): Promise<number> {
    return this.#step(text, () => this.#connection.run(text, values));
  }

  /** Ends the work and keeps what it wrote; answers whether it wrote. */
  keep(): boolean {
    this.#open = false;
    if (this.#wrote && this.#undo === 'savepoint') this.#connection.run('RELEASE work', []);
    return this.#wrote;
  }

  /** Ends the work and undoes what it wrote; false when that ended the batch's transaction. */
  undo(): boolean {
    this.#open = false;
    if (!this.#connection.inTransaction) return false;
    if (!this.#wrote || this.#undo === 'none') return true;
    if (this.#undo === 'rollback') {
      this.#connection.run('ROLLBACK', []);
      return false;
    }
    this.#connection.run('ROLLBACK TO work', []);
    this.#connection.run('RELEASE work', []);
    return true;
  }

  /** A failed statement fails its transaction, as in PostgreSQL, also when the work would carry on. */
  #step<T>(text: string, step: () => T): T {
    if (!this.#open) throw new Error('a statement came after the end of its transaction');
    if (this.failure !== undefined) throw this.failure;
    try {
      if (!this.#wrote && !isQuery(text)) {
        if (this.#undo === 'savepoint') this.#connection.run('SAVEPOINT work', []);
        this.#wrote = true;
      }
      return step();
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
