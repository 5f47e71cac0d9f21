/** Opens a SQLite file: makes it, sets it up for durable shared use, brings its schema up to date. */
import { dirname, resolve } from 'node:path';
import { StartupError } from '../../../kernel/errors.ts';
import { makeFolder, syncFolderBlocking } from '../../../kernel/files.ts';
import { createPrivateFile, privateFolderMode, tightenFile } from '../../../kernel/private-files.ts';
import {
  type AppliedMigration,
  appliedRow,
  concurrentIndexes,
  migrationColumns,
  migrationsTable,
  outstanding,
  statementsFor,
} from '../migrations.ts';
import type { Migration } from '../sql.ts';
import { SqliteConnection } from './connection.ts';
import { SqliteDatabase, type SqliteOptions } from './database.ts';

/** Others may be migrating or recovering the same file: an opening process waits for them. */
const openBusyTimeoutMs = 20_000;

export function openSqlite(
  path: string,
  migrations: readonly Migration[],
  options?: SqliteOptions,
): SqliteDatabase {
  const folder = dirname(path);
  try {
    makeFolder(resolve(folder), privateFolderMode);
  } catch (error) {
    throw new StartupError(`cannot make the folder ${folder}`, { cause: error });
  }
  keepPrivate(path);
  const writer = new SqliteConnection(path, { readOnly: false, busyTimeoutMs: openBusyTimeoutMs });
  try {
    writer.execute('PRAGMA journal_mode = WAL');
    writer.execute('PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864');
    migrate(path, writer, migrations);
    syncFolderBlocking(folder);
    writer.execute('PRAGMA busy_timeout = 0');
    return new SqliteDatabase(path, writer, options);
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** SQLite gives the log and its index the mode of the database; those of an earlier version may be open to others. */
function keepPrivate(path: string): void {
  try {
    createPrivateFile(path);
  } catch {
    // A folder in its place, or one that cannot be written: SQLite says it in its own words.
  }
  for (const file of [path, `${path}-wal`, `${path}-shm`]) tightenFile(file);
}

/**
 * Each migration in a transaction of its own that first looks what another process may have done; those of a new file
 * in one, because there is no data to change and a commit for each takes longer than they do.
 */
function migrate(path: string, connection: SqliteConnection, migrations: readonly Migration[]): void {
  for (;;) {
    connection.execute('BEGIN IMMEDIATE');
    try {
      connection.execute(migrationsTable);
      if (
        connection.all(
          `SELECT 1 AS one FROM pragma_table_info('schema_migrations') WHERE name = 'expands'`,
          [],
        ).length === 0
      ) {
        // The table of an earlier release.
        connection.execute('ALTER TABLE schema_migrations ADD COLUMN expands BIGINT');
      }
      const applied = connection.all<AppliedMigration>(
        'SELECT id, checksum, expands FROM schema_migrations',
        [],
      );
      const toRun = outstanding(path, migrations, applied);
      const isNew = applied.length === 0;
      for (const migration of isNew ? toRun : toRun.slice(0, 1)) {
        // Refused as PostgreSQL would refuse it.
        concurrentIndexes(migration);
        connection.execute(statementsFor('sqlite', migration));
        const row = appliedRow(migration);
        connection.run(`INSERT INTO schema_migrations (${migrationColumns}) VALUES (?, ?, ?, ?)`, row);
      }
      connection.execute('COMMIT');
      if (isNew || toRun.length <= 1) return;
    } catch (error) {
      if (connection.inTransaction) connection.execute('ROLLBACK');
      throw error;
    }
  }
}
