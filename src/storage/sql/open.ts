/** Opens a database of the program: a SQLite file of its own, or a schema of the shared PostgreSQL. */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { DatabaseUnavailable, type Migration, type Sql, type StorageLog } from './sql.ts';
import type { SqliteOptions } from './sqlite/database.ts';
import { openSqlite } from './sqlite/open.ts';

export interface DatabaseOptions {
  /** `postgres://…`, with `?pool_size=` for other than 8 connections; undefined for SQLite. */
  readonly databaseUrl: string | undefined;
  /** The variable that the address comes from, for messages; DATABASE_URL unless given. */
  readonly urlVariable?: string;
  /** Standbys of it that read scopes are answered from (`read-scope.ts`), */
  readonly readUrls?: readonly string[];
  /** as long as they lack nothing that is older than this. */
  readonly maxStalenessMs?: number;
  readonly dataDir: string;
  /** Names the file (`<dataDir>/<name>.db`) or the PostgreSQL schema. */
  readonly name: string;
  /** All migrations of this database, in order; every opener of the same name gives the same list. */
  readonly migrations: readonly Migration[];
  readonly log?: StorageLog;
  /**
   * Every statement has an index to use and must use it. PostgreSQL keeps the plan that it made for a statement when
   * its tables were small, and would go on reading them from end to end while they grow. Where it thinks that few rows fit,
   * it reads and sorts them all, though the index has them in order.
   */
  readonly byIndexOnly?: boolean;
}

/** The variable that gives a database a server of its own. */
const ownServer = {
  ledger: 'DATABASE_URL_LEDGER',
  gateway: 'DATABASE_URL_GATEWAY',
  router: 'DATABASE_URL_ROUTER',
} as const;

type DatabaseConfig = Pick<Config, 'DATABASE_URL'> &
  Partial<
    Pick<
      Config,
      (typeof ownServer)[keyof typeof ownServer] | 'DATABASE_READ_URLS' | 'DATABASE_READ_MAX_STALENESS_MS'
    >
  >;

/** Where a database is, as configured: on a server of its own, or on the one of all. */
export function databaseSettings(config: DatabaseConfig, name: keyof typeof ownServer) {
  const urlVariable = config[ownServer[name]] === undefined ? 'DATABASE_URL' : ownServer[name];
  const { DATABASE_READ_URLS: readUrls, DATABASE_READ_MAX_STALENESS_MS: maxStalenessMs } = config;
  return {
    databaseUrl: config[urlVariable],
    urlVariable,
    // Whoever decides about money reads what is so now, and the router keeps what it reads often.
    ...(name === 'gateway' && { ...(readUrls && { readUrls }), ...(maxStalenessMs && { maxStalenessMs }) }),
  };
}

/** Throws a `StartupError` when there is no such database to open: a person has to see to it. */
export async function openDatabase(options: DatabaseOptions): Promise<Sql> {
  const { databaseUrl, dataDir, name, migrations, log, byIndexOnly = false } = options;
  const { urlVariable = 'DATABASE_URL', readUrls, maxStalenessMs } = options;
  if (!/^[a-z][a-z0-9_-]{0,47}$/.test(name)) throw new Error(`"${name}" cannot name a database`);
  if (databaseUrl === undefined) {
    return openSqliteFile(join(dataDir, `${name}.db`), migrations, log && { log });
  }
  const { isRefusal } = await import('./postgres/errors.ts');
  const { openPostgres } = await import('./postgres/open.ts');
  try {
    const schema = { url: databaseUrl, schema: name, migrations, byIndexOnly };
    const reading = { ...(readUrls && { readUrls }), ...(maxStalenessMs && { maxStalenessMs }) };
    return await openPostgres({ ...schema, ...reading, ...(log && { log }) });
  } catch (error) {
    if (error instanceof DatabaseUnavailable || isRefusal(error)) {
      throw new StartupError(`${urlVariable}: ${error.message}`, { cause: error });
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
    return openSqlite(path, migrations, options);
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    throw new StartupError(`cannot open ${path}: ${error.message}`, { cause: error });
  }
}
