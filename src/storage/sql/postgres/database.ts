/** PostgreSQL as a `Sql`, over connections to its primary, and to standbys for those who only read. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError, type PoolClient, type QueryResult } from 'pg';
import { assertStorable } from '../placeholders.ts';
import { currentReadScope, type ReadScope } from '../read-scope.ts';
import {
  DatabaseUnavailable,
  OutcomeUnknown,
  type Sql,
  type SqlExecutor,
  type SqlValue,
  type Work,
} from '../sql.ts';
import { isPooled, parseTimeline, sendTogether, timelineColumn, timelineOf } from './connection.ts';
import { isLocked, isRetryable, translated } from './errors.ts';
import type { Primary } from './primary.ts';
import { SharedCommits } from './shared-commits.ts';
import { Standby, type Standbys } from './standbys.ts';
import type { Statements } from './statements.ts';

const maxAttempts = 10;
const rowsPerFetch = 256;
/** How long the outcome of a commit is asked for whose answer was lost. */
const outcomeWaitMs = 15_000;
const outcomeRetryMs = 200;

type Queryable = Pick<PoolClient, 'query'>;

export interface PostgresParts {
  readonly primary: Primary;
  readonly statements: Statements;
  readonly standbys: Standbys | undefined;
  /** Settings that a transaction on a pooled connection begins with. */
  readonly localSettings: string;
}

/** Where a scope reads after a write, or once a standby failed it. */
const atPrimary = 'primary';

export class PostgresDatabase implements Sql {
  readonly engine = 'postgres';
  readonly forUpdate = 'FOR UPDATE';
  readonly #parts: PostgresParts;
  readonly #sharedCommits = new SharedCommits((work, lockWaitMs) => this.#transaction(work, lockWaitMs));
  #closing: Promise<void> | undefined;

  constructor(parts: PostgresParts) {
    this.#parts = parts;
  }

  async all<T>(text: string, ...values: SqlValue[]): Promise<T[]> {
    return this.#read(text, async (client) => (await this.#query<T>(client, text, values)).rows);
  }

  async get<T>(text: string, ...values: SqlValue[]): Promise<T | undefined> {
    return this.#read(text, async (client) => (await this.#query<T>(client, text, values)).rows[0]);
  }

  async run(text: string, ...values: SqlValue[]): Promise<number> {
    this.#writes();
    return this.#alone(async (client) => (await this.#query(client, text, values)).rowCount ?? 0);
  }

  transaction<T>(work: Work<T>, queue?: string): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(new DatabaseUnavailable('the database is closed'));
    this.#writes();
    return queue === undefined ? this.#transaction(work) : this.#sharedCommits.run(queue, work);
  }

  /** One that was accepted, also when the database was closed since. */
  #transaction<T>(work: Work<T>, lockWaitMs?: number): Promise<T> {
    const { primary } = this.#parts;
    return retried(async () => {
      const attempt: Attempt<T> = { lost: undefined, lockWaitMs };
      try {
        const run = (client: PoolClient) => this.#inTransaction(client, work, attempt);
        return await this.#connected(run, () => primary.connect());
      } catch (error) {
        if (attempt.lost === undefined) throw error;
        await this.#outcomeOf(attempt.lost, error);
        return attempt.lost.value;
      }
    });
  }

  async *stream<T>(text: string, ...values: SqlValue[]): AsyncGenerator<T> {
    const client = await this.#client();
    let lost = false;
    try {
      await this.#begin(client, 'BEGIN READ ONLY');
      await this.#query(client, `DECLARE rows NO SCROLL CURSOR FOR ${text}`, values);
      for (;;) {
        const { rows } = await plain<T>(client, `FETCH ${rowsPerFetch} FROM rows`);
        yield* rows;
        if (rows.length < rowsPerFetch) break;
      }
    } catch (error) {
      lost = error instanceof DatabaseUnavailable;
      this.#parts.primary.failed(error);
      throw error;
    } finally {
      // Also when the reader leaves early or a statement failed; a lost connection is not used again.
      lost ||= await plain(client, 'ROLLBACK').then(
        () => false,
        () => true,
      );
      client.release(lost);
    }
  }

  async visible(): Promise<void> {
    await this.#parts.standbys?.visible();
  }

  close(): Promise<void> {
    const { primary, standbys } = this.#parts;
    this.#closing ??= this.#sharedCommits
      .drained()
      .then(() => Promise.all([primary.end(), standbys?.close()]))
      .then(() => undefined);
    return this.#closing;
  }

  /** A read of a scope goes to a standby that has enough; whatever fails there is asked of the primary. */
  async #read<T>(text: string, step: (client: Queryable) => Promise<T>): Promise<T> {
    const scope = this.#parts.standbys && currentReadScope();
    if (scope === undefined) return this.#alone(step);
    const standby = isRead(text) ? this.#standbyFor(scope) : undefined;
    if (standby !== undefined && this.#closing === undefined) {
      try {
        return await standby.use(step);
      } catch {
        // Cancelled by what it replayed, lost, or refused: if the statement is at fault, the primary says so.
      }
    }
    scope.set(this, atPrimary);
    return this.#alone(step);
  }

  #standbyFor(scope: ReadScope): Standby | undefined {
    const { standbys } = this.#parts;
    const chosen = scope.get(this);
    if (chosen === atPrimary || standbys === undefined) return undefined;
    if (chosen instanceof Standby) return standbys.mayRead(chosen) ? chosen : undefined;
    const standby = standbys.choose();
    if (standby !== undefined) scope.set(this, standby);
    return standby;
  }

  #writes(): void {
    if (this.#parts.standbys !== undefined) currentReadScope()?.set(this, atPrimary);
  }

  /** One statement that is a transaction by itself; a deadlock victim is tried again. */
  #alone<T>(step: (client: Queryable) => Promise<T>): Promise<T> {
    return retried(() => this.#connected(step));
  }

  async #connected<T>(use: (client: PoolClient) => Promise<T>, connect = () => this.#client()): Promise<T> {
    const client = await connect();
    let lost = false;
    try {
      return await use(client);
    } catch (error) {
      lost = error instanceof DatabaseUnavailable;
      this.#parts.primary.failed(error);
      throw error;
    } finally {
      client.release(lost);
    }
  }

  async #client(): Promise<PoolClient> {
    if (this.#closing !== undefined) throw new DatabaseUnavailable('the database is closed');
    return this.#parts.primary.connect();
  }

  async #query<T>(
    client: Queryable,
    statement: string,
    values: SqlValue[],
  ): Promise<QueryResult & { rows: T[] }> {
    const { text, name, placeholders } = this.#parts.statements.prepare(statement);
    assertStorable(values, placeholders);
    sendTogether(client);
    try {
      return await client.query({
        text,
        values,
        ...(name !== undefined && !isPooled(client) && { name }),
      });
    } catch (error) {
      throw translated(error);
    }
  }

  /** Several statements at once; answers the rows of the last. */
  async #begin(client: PoolClient, ...statements: string[]): Promise<Record<string, unknown>[]> {
    const [begin = '', ...rest] = statements;
    const settings = isPooled(client) ? [this.#parts.localSettings] : [];
    const results: QueryResult | QueryResult[] = await plain(
      client,
      [begin, ...settings, ...rest].join('; '),
    );
    return (Array.isArray(results) ? results.at(-1)?.rows : results.rows) ?? [];
  }

  async #inTransaction<T>(
    client: PoolClient,
    work: (tx: SqlExecutor) => Promise<T>,
    attempt: Attempt<T>,
  ): Promise<T> {
    const { lockWaitMs } = attempt;
    const begun = this.#begin(
      client,
      'BEGIN',
      ...(lockWaitMs === undefined ? [] : [`SET LOCAL lock_timeout = ${lockWaitMs}`]),
      'SELECT CAST(pg_current_xact_id() AS text) AS xid',
    );
    // Statements go out in the order in which the work made them. A read goes out behind BEGIN without waiting for it. A
    // write does not: should BEGIN fail, it would stand alone; what comes after it waits with it.
    let waits: 'for nothing' | 'writes' | 'all' = 'writes';
    begun.then(
      () => {
        waits = 'for nothing';
      },
      () => {}, // it is awaited below, unless the work fails first
    );
    const tx = new PostgresTransaction(async (text, values) => {
      if (waits === 'writes' && !isRead(text)) waits = 'all';
      if (waits === 'all') await begun;
      const [, result] = await Promise.all([begun, this.#query(client, text, values)]);
      return result;
    });
    let value: T;
    let xid: string;
    try {
      value = await work(tx);
      if (tx.failure !== undefined) throw tx.failure;
      xid = String((await begun)[0]?.xid);
    } catch (error) {
      tx.end();
      // A connection that is lost or does not answer is closed instead; that undoes the work as well.
      if (tx.failure instanceof DatabaseUnavailable) throw tx.failure;
      await plain(client, 'ROLLBACK');
      // A work that wrapped a failed statement's error must not hide that it may be tried again.
      throw isRetryable(tx.failure) || isLocked(tx.failure) ? tx.failure : error;
    }
    tx.end();
    const { command } = await plain(client, 'COMMIT').catch((error: unknown) => {
      if (error instanceof DatabaseUnavailable) attempt.lost = { xid, timeline: timelineOf(client), value };
      throw error;
    });
    // PostgreSQL answers ROLLBACK where a statement failed that the work did not await.
    if (command !== 'COMMIT') throw tx.failure ?? new Error('a statement of the transaction failed');
    return value;
  }

  /**
   * Resolves when the commit turns out to have happened; else throws. Numbers of transactions that a primary did not
   * pass on are given again after a failover: then a commit under this number may be somebody else's.
   */
  async #outcomeOf({ xid, timeline }: LostCommit<unknown>, cause: unknown): Promise<void> {
    const deadline = performance.now() + outcomeWaitMs;
    while (performance.now() < deadline && this.#closing === undefined) {
      const found = await this.#statusOf(xid, timeline !== undefined);
      if (found?.status === 'aborted') {
        throw new DatabaseUnavailable('PostgreSQL was lost before a commit', { cause });
      }
      if (found?.status === 'committed') {
        if (found.timeline === timeline) return;
        break;
      }
      await sleep(outcomeRetryMs);
    }
    throw new OutcomeUnknown('PostgreSQL was lost during a commit', { cause });
  }

  /** Undefined where it is not decided, or cannot be asked now. */
  async #statusOf(xid: string, hasTimeline: boolean): Promise<TransactionStatus | undefined> {
    const statement = `SELECT pg_xact_status(CAST(CAST(? AS text) AS xid8)) AS status${hasTimeline ? `, ${timelineColumn}` : ''}`;
    try {
      const row = await this.#connected(
        async (client) => (await this.#query<StatusRow>(client, statement, [xid])).rows[0],
      );
      return row && { status: row.status, timeline: parseTimeline(row.timeline) };
    } catch (error) {
      // A number that this primary has not given yet: the transaction never came here.
      if (error instanceof DatabaseError && error.code === '22023') {
        return { status: 'aborted', timeline: undefined };
      }
      if (error instanceof DatabaseUnavailable) return undefined;
      throw error;
    }
  }
}

/** A COMMIT whose answer was lost, and with it whether it happened. */
interface LostCommit<T> {
  readonly xid: string;
  readonly timeline: number | undefined;
  readonly value: T;
}

interface Attempt<T> {
  readonly lockWaitMs: number | undefined;
  lost: LostCommit<T> | undefined;
}

interface StatusRow {
  readonly status: string | null;
  readonly timeline?: string | null;
}

interface TransactionStatus {
  readonly status: string | null;
  readonly timeline: number | undefined;
}

const isRead = (statement: string): boolean => /^\s*SELECT\b/i.test(statement);

/** Without values, and as it stands. */
async function plain<T>(client: Queryable, text: string): Promise<QueryResult & { rows: T[] }> {
  sendTogether(client);
  try {
    return await client.query(text);
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

/** What a work sees of its connection, until the work ends. */
class PostgresTransaction implements SqlExecutor {
  readonly engine = 'postgres';
  readonly forUpdate = 'FOR UPDATE';
  readonly #ask: <T>(text: string, values: SqlValue[]) => Promise<QueryResult & { rows: T[] }>;
  #open = true;
  /** A failed statement fails its transaction, also when the work would carry on. */
  failure: unknown;

  constructor(ask: <T>(text: string, values: SqlValue[]) => Promise<QueryResult & { rows: T[] }>) {
    this.#ask = ask;
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
      return await this.#ask<T>(text, values);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
