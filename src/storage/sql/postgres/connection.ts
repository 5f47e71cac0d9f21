/**
 * What a connection is when it is made: to a primary or a standby, straight to the server or through a pooler that hands
 * it from client to client (PgBouncer in transaction mode). A pooled one keeps nothing between two transactions: no
 * prepared statements, and no settings but those of a transaction. It is known by its number, which is the pooler's own.
 */
import type { Duplex } from 'node:stream';
import pg, { DatabaseError, type Pool, type PoolClient, type PoolConfig, types } from 'pg';
import type { StorageLog } from '../sql.ts';
import { DatabaseUnavailable } from '../sql.ts';

export interface ConnectionOptions {
  readonly schema: string;
  readonly poolSize: number;
  /** 0: none. */
  readonly statementTimeoutMs: number;
  /** When a server counts as gone that said nothing; 0: never. */
  readonly answerTimeoutMs: number;
  readonly byIndexOnly: boolean;
  readonly log: StorageLog | undefined;
}

const connectTimeoutMs = 10_000;
const idleTransactionTimeoutMs = 60_000;
/** Connections are made anew after so long, wherever the address leads by then. */
const maxLifetimeSeconds = 600;

/** What the check of a new connection found. */
export interface Checked {
  readonly isStandby: boolean;
  /** Grows with every failover; undefined where the server does not tell. */
  readonly timeline: number | undefined;
  /** The same for a primary and its standbys. */
  readonly system: string | undefined;
  /** Of this server since its start. */
  readonly started: string | undefined;
}

const pooled = new WeakSet<object>();
const timelines = new WeakMap<object, number>();

/** Whether a pooler may give the connection to somebody else after each transaction. */
export const isPooled = (client: object): boolean => pooled.has(client);

/** Of the server that the connection was made to; undefined where it does not tell. */
export const timelineOf = (client: object): number | undefined => timelines.get(client);

/** Of a primary. */
export const timelineColumn = 'substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) AS timeline';

export const parseTimeline = (text: string | null | undefined): number | undefined =>
  typeof text === 'string' ? Number.parseInt(text, 16) : undefined;

/** What is sent to a connection in this turn of the event loop goes out in one write: each write wakes the server. */
export function sendTogether(client: object): void {
  const stream = 'connection' in client ? (client.connection as { stream?: Duplex }).stream : undefined;
  if (stream === undefined || stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** A pool of connections to one host. `accept` refuses a new one by throwing. */
export function createPool(
  url: string,
  options: ConnectionOptions,
  accept: (checked: Checked) => void,
): Pool {
  const { schema, poolSize, answerTimeoutMs, log } = options;
  const config: PoolConfig & { pipeline: true; onConnect: (client: PoolClient) => Promise<void> } = {
    connectionString: url,
    // Statements that wait for nothing go out together.
    pipeline: true,
    application_name: `turnpike ${schema}`,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types: typeParsers(),
    max: poolSize,
    maxLifetimeSeconds,
    ...(answerTimeoutMs > 0 && { query_timeout: answerTimeoutMs }),
    onConnect: async (client) => {
      // Without a listener a connection that fails would end the process. Of one in use, the statement under way or the
      // next one is rejected too.
      client.on('error', () => {});
      accept(await check(client, options));
    },
  };
  const pool = new pg.Pool(config);
  // An idle connection that failed is replaced by the pool.
  pool.on('error', (error) => log?.warn({ err: error, schema }, 'a PostgreSQL connection failed'));
  return pool;
}

/** Settings of a transaction, for connections that keep no others. */
export const localSettings = ({ statementTimeoutMs }: ConnectionOptions): string =>
  `SET LOCAL statement_timeout = ${statementTimeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${idleTransactionTimeoutMs}`;

const whatItIs = `pg_backend_pid() AS pid, pg_is_in_recovery() AS standby,
   current_setting('statement_timeout') AS timeout, current_user AS role`;
const whichItIs = `CASE WHEN pg_is_in_recovery() THEN NULL
     ELSE substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) END AS timeline,
   (SELECT CAST(system_identifier AS text) FROM pg_control_system()) AS system,
   CAST(pg_postmaster_start_time() AS text) AS started`;

interface CheckRow {
  readonly pid: number;
  readonly standby: number;
  readonly timeout: string;
  readonly role: string;
  readonly timeline?: string | null;
  readonly system?: string;
  readonly started?: string;
}

async function check(client: PoolClient, options: ConnectionOptions): Promise<Checked> {
  const row = await ask(client);
  if ('processID' in client && client.processID !== row.pid) {
    pooled.add(client);
    if (row.timeout === '0' && options.statementTimeoutMs > 0) warnOfTimeout(row.role, options);
  } else {
    const settings = [
      `SET statement_timeout = ${options.statementTimeoutMs}`,
      `SET idle_in_transaction_session_timeout = ${idleTransactionTimeoutMs}`,
      // Statements are short: to compile one costs many times what it does. Without scans each that has no index to go by
      // is thought to be dear enough for it.
      'SET jit = off',
      ...(options.byIndexOnly ? ['SET enable_seqscan = off', 'SET enable_bitmapscan = off'] : []),
    ];
    await client.query(settings.join('; '));
  }
  const { system, started } = row;
  const timeline = parseTimeline(row.timeline);
  if (timeline !== undefined) timelines.set(client, timeline);
  return { isStandby: row.standby === 1, timeline, system, started };
}

let hasWarned = false;

/** A statement by itself runs on in the server when the pooler's client has given up. */
function warnOfTimeout(role: string, { log, statementTimeoutMs }: ConnectionOptions): void {
  if (hasWarned) return;
  hasWarned = true;
  log?.warn(
    { role },
    `PostgreSQL is reached through a pooler, where statements end only by a time-out of the role: ALTER ROLE "${role}" SET statement_timeout = ${statementTimeoutMs}`,
  );
}

async function ask(client: PoolClient): Promise<CheckRow> {
  const one = async (columns: string) => {
    const { rows } = await client.query<CheckRow>(`SELECT ${columns}`);
    const [row] = rows;
    if (row === undefined) throw new DatabaseUnavailable('the server did not say what it is');
    return row;
  };
  try {
    return await one(`${whatItIs}, ${whichItIs}`);
  } catch (error) {
    // Servers that only speak like PostgreSQL have no write-ahead log to tell of.
    if (error instanceof DatabaseError && /^(?:0A|42|55)/.test(error.code ?? '')) return one(whatItIs);
    throw error;
  }
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
