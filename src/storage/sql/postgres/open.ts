/** Opens one schema of a PostgreSQL: makes it, brings it up to date, keeps a pool of connections to it. */
import { createHash } from 'node:crypto';
import pg, { type Client } from 'pg';
import {
  type AppliedMigration,
  checksum,
  migrationsTable,
  outstanding,
  statementsFor,
} from '../migrations.ts';
import type { StorageLog } from '../open.ts';
import type { Migration } from '../sql.ts';
import { PostgresDatabase } from './database.ts';
import { translated } from './errors.ts';
import { typeParsers } from './types.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly schema: string;
  readonly migrations: readonly Migration[];
  readonly log?: StorageLog;
  readonly maxConnections?: number;
  readonly statementTimeoutMs?: number;
}

const connectTimeoutMs = 10_000;
const idleTransactionTimeoutMs = 60_000;

export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { url, schema, migrations, log, maxConnections = 10, statementTimeoutMs = 30_000 } = options;
  const connection = {
    connectionString: url,
    application_name: `turnpike ${schema}`,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types: typeParsers(),
    options: `-c search_path="${schema}"`,
  };
  await migrate(new pg.Client(connection), schema, migrations);
  const pool = new pg.Pool({
    ...connection,
    max: maxConnections,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleTransactionTimeoutMs,
  });
  // Without a listener a connection that fails would end the process. An idle one is replaced by the pool;
  // of one in use, the statement under way or the next one is rejected too.
  pool.on('error', (error) => log?.warn({ err: error, schema }, 'a PostgreSQL connection failed'));
  pool.on('connect', (client) => client.on('error', () => {}));
  return new PostgresDatabase(pool);
}

/** Openers of one schema take turns: each finds what the one before it has done. */
async function migrate(client: Client, schema: string, migrations: readonly Migration[]): Promise<void> {
  // A failing connection also rejects the statement that waits for it.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT pg_advisory_lock($1)', [lockNumber(schema)]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    await client.query(migrationsTable);
    const { rows } = await client.query<AppliedMigration>('SELECT id, checksum FROM schema_migrations');
    for (const migration of outstanding(`PostgreSQL schema "${schema}"`, migrations, rows)) {
      await client.query('BEGIN');
      await client.query(statementsFor('postgres', migration));
      await client.query('INSERT INTO schema_migrations (id, checksum, applied_at) VALUES ($1, $2, $3)', [
        migration.id,
        checksum(migration),
        new Date().toISOString(),
      ]);
      await client.query('COMMIT');
    }
  } catch (error) {
    throw translated(error);
  } finally {
    // Ending the session gives up the lock and whatever transaction an error left open.
    await client.end().catch(() => {});
  }
}

function lockNumber(schema: string): bigint {
  return createHash('sha256').update(`turnpike schema ${schema}`).digest().readBigInt64BE();
}
