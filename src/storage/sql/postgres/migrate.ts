/**
 * Brings a schema up to date while others work on it. One process at a time does so; it waits for a table only briefly and
 * tries again later, because whoever comes after a waiting one would wait behind it.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError, type PoolClient } from 'pg';
import { StartupError } from '../../../kernel/errors.ts';
import {
  type AppliedMigration,
  appliedRow,
  concurrentIndexes,
  migrationColumns,
  migrationsTable,
  outstanding,
  statementsFor,
} from '../migrations.ts';
import type { Migration, StorageLog } from '../sql.ts';
import { translated } from './errors.ts';
import type { Primary } from './primary.ts';

export interface MigrateOptions {
  readonly schema: string;
  readonly migrations: readonly Migration[];
  readonly log?: StorageLog;
  /** How long an opener waits for another process that migrates, or for a locked table, before it gives up. */
  readonly migrationWaitMs: number;
}

/** How often an opener that waits says what for. */
const waitReportMs = 5_000;
const turnRetryMs = 100;
/** Longer than this nobody queues behind a migration that waits for a table. */
const lockWaitMs = 2_000;
const lockRetryMs = 500;
/** PostgreSQL's code for a lock that could not be taken in time. */
const lockNotAvailable = '55P03';

/** `primary` has two connections or more, without time-outs. */
export async function migrate(primary: Primary, options: MigrateOptions): Promise<void> {
  const client = await primary.connect();
  let isLost = true;
  try {
    // Most starts find nothing to do, and then wait for nobody.
    if ((await notApplied(client, options)).length > 0) await inTurn(primary, client, options);
    isLost = false;
  } catch (error) {
    throw translated(error);
  } finally {
    client.release(isLost);
  }
}

async function notApplied(client: PoolClient, { schema, migrations }: MigrateOptions): Promise<Migration[]> {
  const table = `"${schema}".schema_migrations`;
  const { rows: found } = await client.query<{ name: string | null }>(
    'SELECT CAST(to_regclass($1) AS text) AS name',
    [table],
  );
  if (typeof found[0]?.name !== 'string') return [...migrations];
  // Earlier releases had no column `expands`.
  const { rows } = await client.query<AppliedMigration>(
    `SELECT id, checksum, CAST(to_jsonb(applied) ->> 'expands' AS bigint) AS expands FROM ${table} applied`,
  );
  return outstanding(`PostgreSQL schema "${schema}"`, migrations, rows);
}

/** Holds the schema's lock over another connection: a transaction that does nothing else holds nobody up. */
async function inTurn(primary: Primary, client: PoolClient, options: MigrateOptions): Promise<void> {
  const { schema } = options;
  const holder = await primary.connect();
  try {
    await takeTurn(holder, options);
    const table = migrationsTable.replace('schema_migrations', `"${schema}".schema_migrations`);
    await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    await client.query(table);
    await retriedOnLock(client, options, () =>
      client.query(`ALTER TABLE "${schema}".schema_migrations ADD COLUMN IF NOT EXISTS expands BIGINT`),
    );
    for (const migration of await notApplied(client, options)) {
      const indexes = concurrentIndexes(migration);
      for (const index of indexes) await makeIndex(client, schema, index);
      await retriedOnLock(client, options, async () => {
        if (indexes.length === 0) await client.query(statementsFor('postgres', migration));
        // Without the lock another process may be at it.
        await holder.query('SELECT 1');
        await client.query(
          `INSERT INTO "${schema}".schema_migrations (${migrationColumns}) VALUES ($1, $2, $3, $4)`,
          appliedRow(migration),
        );
      });
    }
  } finally {
    // Ending the session gives up the lock.
    holder.release(true);
  }
}

/** Runs `work` in a transaction; where a table is locked for long it is undone and tried again later. */
async function retriedOnLock(
  client: PoolClient,
  { schema, migrationWaitMs }: MigrateOptions,
  work: () => Promise<unknown>,
): Promise<void> {
  const deadline = performance.now() + migrationWaitMs;
  for (;;) {
    const left = deadline - performance.now();
    try {
      await client.query(
        `BEGIN; SET LOCAL search_path = "${schema}"; SET LOCAL statement_timeout = 0;
         SET LOCAL lock_timeout = ${Math.ceil(Math.max(1, Math.min(lockWaitMs, left)))}`,
      );
      await work();
      await client.query('COMMIT');
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      if (!(error instanceof DatabaseError) || error.code !== lockNotAvailable) throw error;
      if (performance.now() >= deadline) {
        throw new StartupError(
          `PostgreSQL schema "${schema}": a migration waited ${migrationWaitMs / 1000} s for a table that another session has locked`,
          { cause: error },
        );
      }
      await sleep(Math.min(lockRetryMs, Math.max(0, deadline - performance.now())));
    }
  }
}

/** While others write to the table. A try that was interrupted left an index behind that nobody may use. */
async function makeIndex(
  client: PoolClient,
  schema: string,
  { unique, name, table, rest }: ReturnType<typeof concurrentIndexes>[number],
): Promise<void> {
  const { rows } = await client.query<{ valid: number }>(
    'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [`"${schema}".${name}`],
  );
  if (rows[0]?.valid === 1) return;
  if (rows.length > 0) await client.query(`DROP INDEX CONCURRENTLY "${schema}".${name}`);
  await client.query(`CREATE ${unique}INDEX CONCURRENTLY ${name} ON "${schema}".${table} ${rest}`);
}

/** Takes the lock of the schema. While another process has it, says so, and in the end gives up. */
async function takeTurn(holder: PoolClient, { schema, log, migrationWaitMs }: MigrateOptions): Promise<void> {
  const lock = lockNumber(schema);
  const started = performance.now();
  let reportAt = started;
  for (;;) {
    // Tried, not waited for, and without values: an index that is made beside others waits for every transaction that
    // waits, and for one whose last statement had values, because that keeps what it saw.
    await holder.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
    const { rows } = await holder.query<{ taken: number }>(
      `SELECT pg_try_advisory_xact_lock(CAST('${lock}' AS bigint)) AS taken`,
    );
    if (rows[0]?.taken === 1) return;
    await holder.query('ROLLBACK');
    const now = performance.now();
    const left = started + migrationWaitMs - now;
    if (left <= 0) break;
    if (now >= reportAt) {
      reportAt = now + waitReportMs;
      log?.warn(
        { schema, holder: await holderOf(holder, lock), waitingForMs: Math.ceil(left) },
        'another process migrates this PostgreSQL schema; waiting for it',
      );
    }
    await sleep(Math.min(turnRetryMs, left));
  }
  const who = await holderOf(holder, lock);
  throw new StartupError(
    `PostgreSQL schema "${schema}": another process has been migrating it for more than ${migrationWaitMs / 1000} s (${who}). Wait until it is done, or end it with pg_terminate_backend if it hangs`,
  );
}

/** The session that has the lock, in words for the operator. */
async function holderOf(client: PoolClient, lock: bigint): Promise<string> {
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
