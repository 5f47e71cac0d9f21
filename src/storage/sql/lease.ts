/**
 * One holder at a time for work that must not be done twice, across processes that share a database. The database's
 * clock counts, so that clocks of machines may differ; and a holder that slept through its time notices before it
 * writes (`fence`), so that it never writes beside its successor.
 *
 * That clock may be set too: a holder that died while it was ahead would seem to hold for as long as it was. So whoever
 * waits also watches the row: a holder that is alive renews it, and one that has not for the whole length of a lease, by
 * the watcher's own steady clock, has lost it whatever the row says.
 */
import { randomUUID } from 'node:crypto';
import type { Sql, SqlExecutor, SqlReader } from './sql.ts';

/** Unix milliseconds by the database's clock. */
export const clocks = {
  postgres: 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)',
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
} as const;

/** The work went to another process while this one was at it. */
export class LostLease extends Error {
  override readonly name = 'LostLease';
}

/** What changes rows in one transaction. */
export type Transactions = Pick<Sql, 'transaction'>;

/** A row of a table of leases, as it was first seen this way. */
interface Seen {
  readonly holder: string;
  readonly until: number;
  readonly at: number;
}

/** Tells which holders do not renew what they hold. */
export class LeaseWatch {
  readonly #leaseMs: number;
  readonly #now: () => number;
  #seen: Seen | undefined;

  /** `now`: milliseconds of a clock that is never set. */
  constructor(leaseMs: number, now: () => number = () => performance.now()) {
    this.#leaseMs = leaseMs;
    this.#now = now;
  }

  /** The row as it is now; answers whether it has been so for the length of a lease. */
  isAbandoned(row: { readonly holder: string; readonly until: number }): boolean {
    const { holder, until } = row;
    const at = this.#now();
    const isSame = this.#seen?.holder === holder && this.#seen.until === until;
    if (!isSame) this.#seen = { holder, until, at };
    return isSame && this.#seen !== undefined && at - this.#seen.at > this.#leaseMs;
  }
}

export interface LeaseOptions {
  /** Of `name` (the key), `holder` and `until`; each surface has one. */
  readonly table: 'leases' | 'upload_leases';
  /** The work. */
  readonly name: string;
  /** After a holder died, another takes over within this. */
  readonly leaseMs: number;
  /** For tests: the clocks of the database, as SQL, and of this process. */
  readonly clocks?: { readonly database: string; readonly own: () => number };
}

export class Lease {
  readonly #sql: Sql;
  readonly #options: LeaseOptions;
  readonly #holder = randomUUID();
  readonly #databaseNow: string;
  readonly #now: () => number;
  readonly #watch: LeaseWatch;
  /** On our own clock, from before the database was asked. */
  #heldUntil = 0;

  constructor(sql: Sql, options: LeaseOptions) {
    this.#sql = sql;
    this.#options = options;
    this.#databaseNow = options.clocks?.database ?? clocks[sql.engine];
    this.#now = options.clocks?.own ?? (() => performance.now());
    this.#watch = new LeaseWatch(options.leaseMs, this.#now);
  }

  /** Transactions of the work, each behind the fence. */
  readonly fenced: Transactions = {
    transaction: (work) =>
      this.#sql.transaction(async (tx) => {
        await this.fence(tx);
        return work(tx);
      }),
  };

  /** Takes or keeps the lease; false while another holds it. Asks the database only when half the time is over. */
  async hold(): Promise<boolean> {
    if (this.#now() < this.#heldUntil - this.#options.leaseMs / 2) return true;
    return this.renew();
  }

  /** Like `hold`, and always asks. */
  async renew(): Promise<boolean> {
    const { table, name, leaseMs } = this.#options;
    const asked = this.#now();
    const now = this.#databaseNow;
    let taken = await this.#sql.run(
      `INSERT INTO ${table} (name, holder, until) VALUES (?, ?, ${now} + ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
       WHERE ${table}.holder = excluded.holder OR ${table}.until < ${now}`,
      name,
      this.#holder,
      leaseMs,
    );
    if (taken === 0) taken = await this.#takeAbandoned();
    this.#heldUntil = taken > 0 ? asked + leaseMs : 0;
    return taken > 0;
  }

  /** Only the very row that was watched, so that of several who watched one takes it. */
  async #takeAbandoned(): Promise<number> {
    const { table, name, leaseMs } = this.#options;
    const row = await this.#sql.get<{ holder: string; until: number }>(
      `SELECT holder, until FROM ${table} WHERE name = ?`,
      name,
    );
    if (row === undefined || !this.#watch.isAbandoned(row)) return 0;
    return await this.#sql.run(
      `UPDATE ${table} SET holder = ?, until = ${this.#databaseNow} + ? WHERE name = ? AND holder = ? AND until = ?`,
      this.#holder,
      leaseMs,
      name,
      row.holder,
      row.until,
    );
  }

  /** Within a transaction of the work: throws, and so undoes it, when another holds the lease by now. */
  async fence(tx: SqlExecutor): Promise<void> {
    const { table, name } = this.#options;
    const held = await tx.get(
      `SELECT 1 AS one FROM ${table} WHERE name = ? AND holder = ? ${tx.forUpdate}`,
      name,
      this.#holder,
    );
    if (held !== undefined) return;
    this.#heldUntil = 0;
    throw new LostLease(`the ${name} runs in another process`);
  }

  async release(): Promise<void> {
    if (this.#heldUntil === 0) return;
    this.#heldUntil = 0;
    const { table, name } = this.#options;
    await this.#sql.run(`DELETE FROM ${table} WHERE name = ? AND holder = ?`, name, this.#holder);
  }
}

/** Whether anybody holds a lease. One that is to last longer than it may is of a clock that was wrong, and nobody's. */
export async function isLeaseHeld(sql: SqlReader, options: LeaseOptions): Promise<boolean> {
  const { table, name, leaseMs } = options;
  const now = options.clocks?.database ?? clocks[sql.engine];
  const held = await sql.get(
    `SELECT 1 AS one FROM ${table} WHERE name = ? AND until >= ${now} AND until <= ${now} + ?`,
    name,
    2 * leaseMs,
  );
  return held !== undefined;
}

/** The time by the database's clock; undefined where that is the machine's own. */
export const databaseClock = (sql: SqlReader) => async (): Promise<number | undefined> => {
  if (sql.engine === 'sqlite') return undefined;
  const row = await sql.get<{ now: number }>(`SELECT ${clocks[sql.engine]} AS now`);
  return row?.now;
};
