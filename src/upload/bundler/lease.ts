/**
 * One process at a time does what a lease names; it is renewed while the work lasts and ends by itself. The database's
 * clock counts, so that clocks of machines may differ; and a holder that slept through its time notices before it
 * writes, so that it never writes beside its successor.
 */
import { randomUUID } from 'node:crypto';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';

const clocks = {
  postgres: 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)',
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
} as const;

/** What changes rows in one transaction. */
export type Transactions = Pick<Sql, 'transaction'>;

/** The work went to another process while this one was at it. */
export class LostLease extends Error {
  override readonly name = 'LostLease';
}

export class Lease {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #leaseMs: number;
  readonly #holder = randomUUID();
  /** Transactions of the work: undone when another process has the lease by then. */
  readonly fenced: Transactions = {
    transaction: (work) =>
      this.#sql.transaction(async (tx) => {
        await this.#fence(tx);
        return work(tx);
      }),
  };

  constructor(sql: Sql, name: string, leaseMs: number) {
    this.#sql = sql;
    this.#name = name;
    this.#leaseMs = leaseMs;
  }

  /** Takes or renews it; false while another process has it. */
  async take(): Promise<boolean> {
    const now = clocks[this.#sql.engine];
    const changed = await this.#sql.transaction((tx) =>
      tx.run(
        `INSERT INTO upload_leases (name, holder, until) VALUES (?, ?, ${now} + ?)
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
         WHERE upload_leases.until < ${now} OR upload_leases.holder = excluded.holder`,
        this.#name,
        this.#holder,
        this.#leaseMs,
      ),
    );
    return changed > 0;
  }

  async release(): Promise<void> {
    await this.#sql.run('DELETE FROM upload_leases WHERE name = ? AND holder = ?', this.#name, this.#holder);
  }

  async #fence(tx: SqlExecutor): Promise<void> {
    const held = await tx.get(
      `SELECT 1 AS one FROM upload_leases WHERE name = ? AND holder = ? ${tx.forUpdate}`,
      this.#name,
      this.#holder,
    );
    if (held === undefined) throw new LostLease(`the ${this.#name} runs in another process`);
  }
}
