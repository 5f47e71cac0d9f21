/** Looks at a database without changing it: whether it answers, takes writes, and which migrations it has had. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface DatabaseProbe {
  /** For people, such as `PostgreSQL 15.13`. */
  readonly engine: string;
  /** Ids of the migrations that it has had; undefined where it is not made yet. */
  readonly migrations: readonly string[] | undefined;
  /** A standby, or a server that was set so. */
  readonly readOnly: boolean;
}

const timeoutMs = 10_000;

/** Throws where there is no database to look at; undefined where none was made yet. */
export function probeSqlite(dataDir: string, name: string): DatabaseProbe | undefined {
  const path = join(dataDir, `${name}.db`);
  if (!existsSync(path)) return undefined;
  const database = new DatabaseSync(path, { readOnly: true, timeout: timeoutMs });
  try {
    const version = database.prepare('SELECT sqlite_version() AS version').get()?.version;
    const migrations = database.prepare('SELECT id FROM schema_migrations').all();
    return {
      engine: `SQLite ${String(version)}`,
      migrations: migrations.map(({ id }) => String(id)),
      readOnly: false,
    };
  } finally {
    database.close();
  }
}

/** Of one host. */
export async function probePostgres(databaseUrl: string, schema: string): Promise<DatabaseProbe> {
  const { default: pg } = await import('pg');
  const url = new URL(databaseUrl);
  // A parameter of ours, which the client library does not know.
  url.searchParams.delete('pool_size');
  const client = new pg.Client({
    connectionString: url.toString(),
    application_name: 'turnpike doctor',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query(
      `SELECT current_setting('server_version') AS version, current_setting('transaction_read_only') = 'on' AS read_only,
         to_regclass($1) IS NOT NULL AS made`,
      [`"${schema}".schema_migrations`],
    );
    const { version, read_only: readOnly, made } = rows[0] ?? {};
    const had =
      made === true ? await client.query(`SELECT id FROM "${schema}".schema_migrations`) : undefined;
    return {
      engine: `PostgreSQL ${String(version).split(' ')[0]}`,
      migrations: had?.rows.map(({ id }) => String(id)),
      readOnly: readOnly === true,
    };
  } finally {
    await client.end().catch(() => {});
  }
}
