/** Opens a database of the program: a SQLite file of its own, or a schema of the shared PostgreSQL. */
import { join } from 'node:path';
import { StartupError } from '../../kernel/errors.ts';
import { giveUpReserve } from '../disk-reserve.ts';
import { DatabaseUnavailable, type Migration, type Sql, type StorageLog } from './sql.ts';
import { isBusy } from './sqlite/connection.ts';
import type { SqliteOptions } from './sqlite/database.ts';
import { openSqlite } from './sqlite/open.ts';

export interface DatabaseOptions {
  /** `postgres://…`, with `?pool_size=` for other than 8 connections; undefined for SQLite. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** Names the file (`<dataDir>/<name>.db`) or the PostgreSQL schema. */
  readonly name: string;
  /** All migrations of this database, in order; every opener of the same name gives the same list. */
  readonly migrations: readonly Migration[];
  readonly log?: StorageLog;
  /**
   * Every statement has an index to use and must use it. PostgreSQL keeps the plan that it made for a statement when
   * its tables were small, and would go on reading them from end to end while they grow.
   */
  readonly byIndexOnly?: boolean;
}

/** Throws a `StartupError` when there is no such database to open: a person has to see to it. */
export async function openDatabase(options: DatabaseOptions): Promise<Sql> {
  const { databaseUrl, dataDir, name, migrations, log, byIndexOnly = false } = options;
  if (!/^[a-z][a-z0-9_-]{0,47}$/.test(name)) throw new Error(`"${name}" cannot name a database`);
  if (databaseUrl === undefined) {
    return openSqliteFile(join(dataDir, `${name}.db`), migrations, log && { log });
  }
  const { isRefusal } = await import('./postgres/errors.ts');
  const { openPostgres } = await import('./postgres/open.ts');
  try {
    const schema = { url: databaseUrl, schema: name, migrations };
    return await openPostgres({ ...schema, byIndexOnly, ...(log && { log }) });
  } catch (error) {
    if (error instanceof DatabaseUnavailable || isRefusal(error)) {
      throw new StartupError(`DATABASE_URL: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

/** A SQLite file whatever the configuration says: for the local network, which is never shared. */
export async function openSqliteFile(
  path: string,
  migrations: readonly Migration[],
  options?: SqliteOptions,
): Promise<Sql> {
  try {
    try {
      return openSqlite(path, migrations, options);
    } catch (error) {
      // On a full disk it may be no more than the room for SQLite's index of its log that is missing.
      if (!(error instanceof DatabaseUnavailable) || isBusy(error) || !giveUpReserve(path)) throw error;
      return openSqlite(path, migrations, options);
    }
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    throw new StartupError(`cannot open ${path}: ${error.message}`, { cause: error });
  }
}
