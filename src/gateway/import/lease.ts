/**
 * One holder at a time for work that must not be done twice, across processes that share a database. The database's
 * clock counts, so that clocks of machines may differ; and a holder that slept through its time notices before it
 * writes (`fence`), so that it never writes beside its successor.
 */
import { randomUUID } from 'node:crypto';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';

/** After a holder died, another takes over within this. */
const leaseMs = 10_000;

/** Unix milliseconds by the database's clock. */
export const clocks = {
  postgres: 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)',
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
} as const;

/** The work went to another process while this one was at it. */
export class LostLease extends Error {
  override readonly name = 'LostLease';
}

export class Lease {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #holder = randomUUID();
  /** On our own clock, from before the database was asked. */
  #heldUntil = 0;

  constructor(sql: Sql, name: string) {
    this.#sql = sql;
    this.#name = name;
  }

  /** Takes or keeps the lease; false while another holds it. Asks the database only when half the time is over. */
  async hold(): Promise<boolean> {
    const asked = performance.now();
    if (asked < this.#heldUntil - leaseMs / 2) return true;
    const now = clocks[this.#sql.engine];
    const taken = await this.#sql.run(
      `INSERT INTO leases (name, holder, until) VALUES (?, ?, ${now} + ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
       WHERE leases.holder = excluded.holder OR leases.until < ${now}`,
      this.#name,
      this.#holder,
      leaseMs,
    );
    this.#heldUntil = taken > 0 ? asked + leaseMs : 0;
    return taken > 0;
  }

  /** Within a transaction of the work: throws, and so undoes it, when another holds the lease by now. */
  async fence(tx: SqlExecutor): Promise<void> {
    const held = await tx.get(
      `SELECT 1 AS one FROM leases WHERE name = ? AND holder = ? ${tx.forUpdate}`,
      this.#name,
      this.#holder,
    );
    if (held !== undefined) return;
    this.#heldUntil = 0;
    throw new LostLease(`the ${this.#name} runs in another process`);
  }

  async release(): Promise<void> {
    if (this.#heldUntil === 0) return;
    this.#heldUntil = 0;
    await this.#sql.run('DELETE FROM leases WHERE name = ? AND holder = ?', this.#name, this.#holder);
  }
}
