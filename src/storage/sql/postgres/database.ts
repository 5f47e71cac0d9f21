/** PostgreSQL as a `Sql`, over a pool of connections whose search path is one schema. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Pool, PoolClient, QueryResult } from 'pg';
import { assertStorable, countPlaceholders, numbered } from '../placeholders.ts';
import { DatabaseUnavailable, type Sql, type SqlExecutor, type SqlValue } from '../sql.ts';
import { isRetryable, translated } from './errors.ts';

const maxAttempts = 10;
const rowsPerFetch = 256;

type Queryable = Pick<PoolClient, 'query'>;

export class PostgresDatabase implements Sql {
  readonly engine = 'postgres';
  readonly forUpdate = 'FOR UPDATE';
  readonly #pool: Pool;
  #closing: Promise<void> | undefined;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async all<T>(text: string, ...values: SqlValue[]): Promise<T[]> {
    return this.#alone(async (client) => (await query<T>(client, text, values)).rows);
  }

  async get<T>(text: string, ...values: SqlValue[]): Promise<T | undefined> {
    return this.#alone(async (client) => (await query<T>(client, text, values)).rows[0]);
  }

  async run(text: string, ...values: SqlValue[]): Promise<number> {
    return this.#alone(async (client) => (await query(client, text, values)).rowCount ?? 0);
  }

  transaction<T>(work: (tx: SqlExecutor) => Promise<T>): Promise<T> {
    return retried(() => this.#connected((client) => inTransaction(client, work)));
  }

  async *stream<T>(text: string, ...values: SqlValue[]): AsyncGenerator<T> {
    const client = await this.#client();
    let lost = false;
    try {
      await query(client, 'BEGIN READ ONLY', []);
      await query(client, `DECLARE rows NO SCROLL CURSOR FOR ${text}`, values);
      for (;;) {
        const { rows } = await query<T>(client, `FETCH ${rowsPerFetch} FROM rows`, []);
        yield* rows;
        if (rows.length < rowsPerFetch) break;
      }
    } catch (error) {
      lost = error instanceof DatabaseUnavailable;
      throw error;
    } finally {
      // Also when the reader leaves early or a statement failed; a lost connection is not used again.
      lost ||= await query(client, 'ROLLBACK', []).then(
        () => false,
        () => true,
      );
      client.release(lost);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    return this.#closing;
  }

  /** One statement that is a transaction by itself; a deadlock victim is tried again. */
  #alone<T>(step: (client: Queryable) => Promise<T>): Promise<T> {
    return retried(() => this.#connected(step));
  }

  async #connected<T>(use: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#client();
    let lost = false;
    try {
      return await use(client);
    } catch (error) {
      lost = error instanceof DatabaseUnavailable;
      throw error;
    } finally {
      client.release(lost);
    }
  }

  async #client(): Promise<PoolClient> {
    if (this.#closing !== undefined) throw new DatabaseUnavailable('the database is closed');
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw translated(error);
    }
  }
}

/** A statement as PostgreSQL wants it, and the name under which a connection keeps it prepared. */
interface PreparedText {
  readonly text: string;
  readonly placeholders: number;
  /** Undefined beyond the statements that a connection may keep. */
  readonly name: string | undefined;
}

const textsKept = 2_048;
/** A connection keeps every named statement as long as it lives, so only so many get a name. */
const maxNamed = 512;

const prepared = new LRUCache<string, PreparedText>({ max: textsKept });
const names = new Map<string, string>();

export function prepare(statement: string): PreparedText {
  const kept = prepared.get(statement);
  if (kept !== undefined) return kept;
  const text = numbered(statement);
  if (!names.has(text) && names.size < maxNamed) names.set(text, `turnpike_${names.size}`);
  const made = { text, placeholders: countPlaceholders(statement), name: names.get(text) };
  prepared.set(statement, made);
  return made;
}

async function query<T>(
  client: Queryable,
  statement: string,
  values: SqlValue[],
): Promise<QueryResult & { rows: T[] }> {
  const { text, name, placeholders } = prepare(statement);
  assertStorable(values, placeholders);
  try {
    return await client.query({ text, values, ...(name !== undefined && { name }) });
  } catch (error) {
    throw translated(error);
  }
}

async function retried<T>(step: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await step();
    } catch (error) {
      if (!isRetryable(error) || attempt === maxAttempts) throw error;
      await sleep(2 ** attempt * Math.random());
    }
  }
}

async function inTransaction<T>(client: PoolClient, work: (tx: SqlExecutor) => Promise<T>): Promise<T> {
  await query(client, 'BEGIN', []);
  const tx = new PostgresTransaction(client);
  let value: T;
  try {
    value = await work(tx);
    if (tx.failure !== undefined) throw tx.failure;
  } catch (error) {
    tx.end();
    // A connection that is lost or does not answer is closed instead; that undoes the work as well.
    if (tx.failure instanceof DatabaseUnavailable) throw tx.failure;
    await query(client, 'ROLLBACK', []);
    // A work that wrapped a failed statement's error must not hide that it may be tried again.
    throw isRetryable(tx.failure) ? tx.failure : error;
  }
  tx.end();
  const { command } = await query(client, 'COMMIT', []);
  // PostgreSQL answers ROLLBACK where a statement failed that the work did not await.
  if (command !== 'COMMIT') throw tx.failure ?? new Error('a statement of the transaction failed');
  return value;
}

/** What a work sees of its connection, until the work ends. */
class PostgresTransaction implements SqlExecutor {
  readonly engine = 'postgres';
  readonly forUpdate = 'FOR UPDATE';
  readonly #client: PoolClient;
  #open = true;
  /** A failed statement fails its transaction, also when the work would carry on. */
  failure: unknown;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async all<T>(text: string, ...values: SqlValue[]): Promise<T[]> {
    return (await this.#query<T>(text, values)).rows;
  }

  async get<T>(text: string, ...values: SqlValue[]): Promise<T | undefined> {
    return (await this.#query<T>(text, values)).rows[0];
  }

  async run(text: string, ...values: SqlValue[]): Promise<number> {
    return (await this.#query(text, values)).rowCount ?? 0;
  }

  end(): void {
    this.#open = false;
  }

  async #query<T>(text: string, values: SqlValue[]): Promise<QueryResult & { rows: T[] }> {
    if (!this.#open) throw new Error('a statement came after the end of its transaction');
    if (this.failure !== undefined) throw this.failure;
    try {
      return await query<T>(this.#client, text, values);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
