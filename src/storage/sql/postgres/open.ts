/** Opens one schema of a PostgreSQL: makes it, brings it up to date, keeps a pool of connections to it. */
import { createHash } from 'node:crypto';
import pg, { type Client, DatabaseError, types } from 'pg';
import { StartupError } from '../../../kernel/errors.ts';
import {
  type AppliedMigration,
  appliedRow,
  migrationsTable,
  outstanding,
  statementsFor,
} from '../migrations.ts';
import type { Migration, StorageLog } from '../sql.ts';
import { PostgresDatabase } from './database.ts';
import { translated } from './errors.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly schema: string;
  readonly migrations: readonly Migration[];
  readonly log?: StorageLog;
  readonly statementTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  readonly byIndexOnly?: boolean;
  /** How long an opener waits for another process that holds the schema, before it gives up. */
  readonly migrationWaitMs?: number;
}

/** Of each schema in each process; PostgreSQL allows 100 connections by default. */
const defaultPoolSize = 8;
const connectTimeoutMs = 10_000;
/** The server ends a statement that takes too long; this is for a server that is not there any more and said nothing. */
const answerSlackMs = 5_000;
const idleTransactionTimeoutMs = 60_000;
/** A migration may rebuild an index. A process that waits longer reports it and ends; its supervisor starts it again. */
const defaultMigrationWaitMs = 120_000;
/** How often an opener that waits says what for. */
const waitReportMs = 5_000;
/** PostgreSQL's code for a lock that could not be taken in time. */
const lockNotAvailable = '55P03';

export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const { schema, log, statementTimeoutMs = 30_000, byIndexOnly = false } = options;
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
  await migrate(new pg.Client(connection), options);
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
async function migrate(client: Client, options: PostgresOptions): Promise<void> {
  const { schema, migrations, migrationWaitMs = defaultMigrationWaitMs } = options;
  // A failing connection also rejects the statement that waits for it.
  client.on('error', () => {});
  try {
    await client.connect();
    await takeTurn(client, options, migrationWaitMs);
    // Waiting for a table that another session has locked is bounded, too.
    await setLockTimeout(client, migrationWaitMs);
    await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    await client.query(migrationsTable);
    const { rows } = await client.query<AppliedMigration>('SELECT id, checksum FROM schema_migrations');
    for (const migration of outstanding(`PostgreSQL schema "${schema}"`, migrations, rows)) {
      await client.query('BEGIN');
      await client.query(statementsFor('postgres', migration));
      const row = appliedRow(migration);
      await client.query('INSERT INTO schema_migrations (id, checksum, applied_at) VALUES ($1, $2, $3)', row);
      await client.query('COMMIT');
    }
  } catch (error) {
    if (isLockTimeout(error)) {
      throw new StartupError(
        `PostgreSQL schema "${schema}": a migration waited ${migrationWaitMs / 1000} s for a table that another session has locked`,
        { cause: error },
      );
    }
    throw translated(error);
  } finally {
    // Ending the session gives up the lock and whatever transaction an error left open.
    await client.end().catch(() => {});
  }
}

/** Takes the lock of the schema. While another process has it, says so, and in the end gives up. */
async function takeTurn(
  client: Client,
  { schema, log }: PostgresOptions,
  migrationWaitMs: number,
): Promise<void> {
  const lock = lockNumber(schema);
  const free = await client.query<{ taken: number }>('SELECT pg_try_advisory_lock($1) AS taken', [lock]);
  if (free.rows[0]?.taken === 1) return;
  for (let left = migrationWaitMs; left > 0; left -= waitReportMs) {
    log?.warn(
      { schema, holder: await holderOf(client, lock), waitingForMs: left },
      'another process migrates this PostgreSQL schema; waiting for it',
    );
    await setLockTimeout(client, Math.min(left, waitReportMs));
    try {
      await client.query('SELECT pg_advisory_lock($1)', [lock]);
      return;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
  }
  const holder = await holderOf(client, lock);
  throw new StartupError(
    `PostgreSQL schema "${schema}": another process has been migrating it for more than ${migrationWaitMs / 1000} s (${holder}). Wait until it is done, or end it with pg_terminate_backend if it hangs`,
  );
}

const setLockTimeout = (client: Client, ms: number) =>
  client.query("SELECT set_config('lock_timeout', $1, false)", [String(Math.ceil(ms))]);

const isLockTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === lockNotAvailable;

/** The session that has the lock, in words for the operator. */
async function holderOf(client: Client, lock: bigint): Promise<string> {
  const { rows } = await client.query<{
    pid: number;
    application: string | null;
    address: string | null;
    since: Date | null;
  }>(
    `SELECT activity.pid, activity.application_name AS application, host(activity.client_addr) AS address,
       activity.backend_start AS since
     FROM pg_locks locks JOIN pg_stat_activity activity USING (pid)
     WHERE locks.locktype = 'advisory' AND locks.granted AND locks.objsubid = 1
       AND ((locks.classid::bigint << 32) | locks.objid::bigint) = $1
       AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [lock],
  );
  const holder = rows[0];
  if (holder === undefined) return 'it has ended meanwhile';
  const since = holder.since === null ? '' : ` since ${new Date(holder.since).toISOString()}`;
  return `"${holder.application ?? ''}" at ${holder.address ?? 'a local socket'}, backend ${holder.pid}${since}`;
}

function lockNumber(schema: string): bigint {
  return createHash('sha256').update(`turnpike schema ${schema}`).digest().readBigInt64BE();
}

/** Object ids of built-in types, from PostgreSQL's catalogue pg_type. */
const oid = { bool: 16, int8: 20 };

/**
 * Values arrive exactly as SQLite's do (see `sql.ts`). Parsers of the text format, for one pool: numeric has none and
 * stays text, bytea arrives as Buffer.
 */
export function typeParsers(): { getTypeParser: typeof types.getTypeParser } {
  const parsers = new Map<number, (text: string) => unknown>([
    [oid.bool, (text) => (text === 't' ? 1 : 0)],
    [oid.int8, safeInteger],
  ]);
  return {
    getTypeParser: (id: number, format?: 'text' | 'binary') =>
      parsers.get(id) ?? types.getTypeParser(id, format as 'text'),
  };
}

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond the safe integers`);
  return value;
}
