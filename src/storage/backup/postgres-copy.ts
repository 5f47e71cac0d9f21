/**
 * A schema of PostgreSQL as it stood at one moment, without any tool of its own: every table is read in one REPEATABLE
 * READ transaction, a row as one line of JSON that PostgreSQL writes and PostgreSQL reads again, so that nothing is lost
 * between its types and ours.
 */
import pg, { type Client } from 'pg';
import { postgresHosts } from '../../config/postgres-url.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { BlobStore } from '../blobs/blobs.ts';
import { numbered } from '../sql/placeholders.ts';
import { typeParsers } from '../sql/postgres/connection.ts';
import { translated } from '../sql/postgres/errors.ts';
import { openPostgres } from '../sql/postgres/open.ts';
import type { Migration, SqlReader, SqlValue } from '../sql/sql.ts';
import type { DatabaseCopy } from './manifest.ts';
import { insistOnRows } from './sqlite-copy.ts';
import { linesOf, putCompressed, readCompressed } from './stored-bytes.ts';

const connectTimeoutMs = 10_000;
const rowsPerFetch = 1_000;
/** Of one INSERT: text of rows, at least one row. */
const bytesPerInsert = 1024 * 1024;
const tableName = /^[a-z][a-z0-9_]{0,62}$/;

export interface PostgresPlace {
  readonly url: string;
  readonly schema: string;
}

/** Looks at the snapshot before it is copied. */
export type WithinSnapshot = (snapshot: SqlReader) => Promise<void>;

/** Undefined where there is no such schema. */
export async function copyPostgres(
  store: BlobStore,
  { url, schema }: PostgresPlace,
  within: WithinSnapshot = async () => {},
): Promise<Omit<DatabaseCopy, 'name'> | undefined> {
  return connected(url, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const tables = await tablesOf(client, schema);
    if (tables.length === 0) return undefined;
    await client.query(`SET LOCAL search_path = "${schema}"`);
    await within(readerOf(client));
    const parts: DatabaseCopy['parts'] = [];
    const rows: Record<string, number> = {};
    for (const table of tables) {
      let count = 0;
      const stored = await putCompressed(
        store,
        rowsOf(client, schema, table, (read) => {
          count += read;
        }),
      );
      parts.push({ name: table, ...stored });
      rows[table] = count;
    }
    return {
      engine: 'postgres',
      parts,
      rows,
      sequences: await sequencesOf(client, schema),
      migrations: await migrationsOf(client, schema),
    };
  });
}

/** True where there is something in the schema already. */
export const isSchemaUsed = (place: PostgresPlace): Promise<boolean> =>
  connected(place.url, async (client) => (await tablesOf(client, place.schema)).length > 0);

/** Removes what a restore that was cut off has left. */
export const dropSchema = (place: PostgresPlace): Promise<void> =>
  connected(place.url, async (client) => {
    await client.query(`DROP SCHEMA IF EXISTS "${place.schema}" CASCADE`);
  });

/** Into a schema that is not there yet. `migrations`: all that this release knows of the database. */
export async function restorePostgres(
  store: BlobStore,
  copy: DatabaseCopy,
  place: PostgresPlace,
  migrations: readonly Migration[],
): Promise<void> {
  const had = migrations.filter(({ id }) => copy.migrations.includes(id));
  const unknown = copy.migrations.find((id) => !migrations.some((migration) => migration.id === id));
  if (unknown !== undefined) {
    throw new StartupError(
      `database ${copy.name} of the backup has had migration "${unknown}", which this version does not know: restore with the newer version`,
    );
  }
  await (await openPostgres({ ...place, migrations: had })).close();
  await connected(place.url, async (client) => {
    await client.query('BEGIN');
    const tables = await tablesOf(client, place.schema);
    // Migrations write first rows: those of the copy come in their place.
    await client.query(`TRUNCATE ${tables.map((table) => qualified(place.schema, table)).join(', ')}`);
    const rows: Record<string, number> = {};
    for (const part of copy.parts) {
      if (!tables.includes(part.name)) {
        throw new StartupError(
          `database ${copy.name} of the backup has table ${part.name}, which no migration makes`,
        );
      }
      rows[part.name] = await insertRows(
        client,
        qualified(place.schema, part.name),
        linesOf(readCompressed(store, part)),
      );
    }
    for (const table of tables) rows[table] ??= 0;
    insistOnRows(copy.name, copy.rows, rows);
    for (const [name, value] of Object.entries(copy.sequences)) {
      await client.query('SELECT setval($1::regclass, $2)', [qualified(place.schema, name), value]);
    }
    await client.query('COMMIT');
    await client.query(`ANALYZE ${tables.map((table) => qualified(place.schema, table)).join(', ')}`);
  });
}

function readerOf(client: Client): SqlReader {
  const all = async <T>(statement: string, ...values: SqlValue[]): Promise<T[]> => {
    const { rows } = await client.query({ text: numbered(statement), values });
    return rows as T[];
  };
  return {
    engine: 'postgres',
    all,
    get: async <T>(...asked: Parameters<typeof all>) => (await all<T>(...asked))[0],
  };
}

const qualified = (schema: string, name: string): string => `"${schema}"."${name}"`;

async function tablesOf(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT tablename::text AS name FROM pg_tables WHERE schemaname = $1 ORDER BY tablename',
    [schema],
  );
  const strange = rows.find(({ name }) => !tableName.test(name));
  if (strange !== undefined)
    throw new StartupError(`schema "${schema}" has a table that is not ours: ${strange.name}`);
  return rows.map(({ name }) => name);
}

/** How far the numbers of growing keys have come: those of rows that are gone are not given again. */
async function sequencesOf(client: Client, schema: string): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; value: string | null }>(
    'SELECT sequencename::text AS name, last_value::text AS value FROM pg_sequences WHERE schemaname = $1',
    [schema],
  );
  return Object.fromEntries(
    rows.flatMap(({ name, value }) => (value === null ? [] : [[name, Number(value)] as const])),
  );
}

async function migrationsOf(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM ${qualified(schema, 'schema_migrations')} ORDER BY applied_at, id`,
  );
  return rows.map(({ id }) => id);
}

/** `read`: told how many rows came at once. */
async function* rowsOf(
  client: Client,
  schema: string,
  table: string,
  read: (count: number) => void,
): AsyncGenerator<Buffer> {
  await client.query(
    `DECLARE copied NO SCROLL CURSOR FOR SELECT row_to_json(t)::text AS line FROM ${qualified(schema, table)} t`,
  );
  for (;;) {
    const { rows } = await client.query<{ line: string }>(`FETCH ${rowsPerFetch} FROM copied`);
    read(rows.length);
    if (rows.length > 0) yield Buffer.from(rows.map(({ line }) => `${line}\n`).join(''));
    if (rows.length < rowsPerFetch) break;
  }
  await client.query('CLOSE copied');
}

async function insertRows(client: Client, table: string, lines: AsyncIterable<string>): Promise<number> {
  let inserted = 0;
  let waiting: string[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const { rowCount } = await client.query(
      `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`,
      [`[${waiting.join(',')}]`],
    );
    inserted += rowCount ?? 0;
    waiting = [];
    bytes = 0;
  };
  for await (const line of lines) {
    waiting.push(line);
    bytes += line.length;
    if (bytes >= bytesPerInsert) await flush();
  }
  await flush();
  return inserted;
}

async function connected<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectPrimary(url);
  try {
    return await use(client);
  } catch (error) {
    throw translated(error);
  } finally {
    // Ends whatever transaction is open.
    await client.end().catch(() => {});
  }
}

/** To the first of the hosts that is no standby; where all are, the last says so when it is written to. */
async function connectPrimary(url: string): Promise<Client> {
  const hosts = postgresHosts(url);
  for (const [index, host] of hosts.entries()) {
    const client = new pg.Client({
      connectionString: withoutPoolSize(host),
      application_name: 'turnpike backup',
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      types: typeParsers(),
    });
    // A failing connection also rejects the statement that waits for it.
    client.on('error', () => {});
    const isLast = index === hosts.length - 1;
    try {
      await client.connect();
      const { rows } = await client.query<{ standby: number }>('SELECT pg_is_in_recovery() AS standby');
      if (isLast || rows[0]?.standby === 0) return client;
      await client.end();
    } catch (error) {
      await client.end().catch(() => {});
      if (isLast) throw translated(error);
    }
  }
  throw new Error('the address of a PostgreSQL names a host');
}

/** Our own parameter of the address; the rest is the client library's. */
function withoutPoolSize(text: string): string {
  const url = new URL(text);
  if (!url.searchParams.has('pool_size')) return text;
  url.searchParams.delete('pool_size');
  return url.toString();
}
