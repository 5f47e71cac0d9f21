/** Opens one schema of a PostgreSQL: makes it, brings it up to date, keeps a pool of connections to it. */
import { createHash } from 'node:crypto';
import pg, { type Client } from 'pg';
import { StartupError } from '../../../kernel/errors.ts';
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
  readonly statementTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  readonly byIndexOnly?: boolean;
}

/** Of each schema in each process; PostgreSQL allows 100 connections unless told otherwise. */
const defaultPoolSize = 8;
const connectTimeoutMs = 10_000;
/** The server ends a statement that takes too long; this is for a server that is not there any more and said nothing. */
const answerSlackMs = 5_000;
const idleTransactionTimeoutMs = 60_000;

export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { schema, migrations, log, statementTimeoutMs = 30_000, byIndexOnly = false } = options;
  const { answerTimeoutMs = statementTimeoutMs + answerSlackMs } = options;
  const { url, poolSize } = withPoolSize(options.url);
  const connection = {
    connectionString: url,
    application_name: `turnpike ${schema}`,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types: typeParsers(),
    options: `-c search_path="${schema}"${byIndexOnly ? ' -c enable_seqscan=off' : ''}`,
  };
  await migrate(new pg.Client(connection), schema, migrations);
  const pool = new pg.Pool({
    ...connection,
    max: poolSize,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: idleTransactionTimeoutMs,
  });
  // Without a listener a connection that fails would end the process. An idle one is replaced by the pool;
  // of one in use, the statement under way or the next one is rejected too.
  pool.on('error', (error) => log?.warn({ err: error, schema }, 'a PostgreSQL connection failed'));
  pool.on('connect', (client) => client.on('error', () => {}));
  return new PostgresDatabase(pool);
}

/** Takes our own parameter out of the address; the rest is the client library's. */
function withPoolSize(text: string): { url: string; poolSize: number } {
  const url = new URL(text);
  const given = url.searchParams.get('pool_size');
  url.searchParams.delete('pool_size');
  if (given === null) return { url: text, poolSize: defaultPoolSize };
  if (!/^[1-9][0-9]{0,2}$/.test(given)) throw new StartupError('DATABASE_URL: pool_size is 1 to 999');
  return { url: url.toString(), poolSize: Number(given) };
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
