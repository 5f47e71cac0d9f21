/** One holder at a time for work that must not be done twice, across processes that share a database. */
import { randomUUID } from 'node:crypto';
import type { Sql } from '../../storage/sql/sql.ts';

const leaseMs = 15_000;

export class Lease {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #holder = randomUUID();
  #heldUntil = 0;

  constructor(sql: Sql, name: string) {
    this.#sql = sql;
    this.#name = name;
  }

  /** Takes or keeps the lease; false while another holds it. Asks the database only when half the time is over. */
  async hold(): Promise<boolean> {
    const now = Date.now();
    if (now < this.#heldUntil - leaseMs / 2) return true;
    const taken = await this.#sql.run(
      `INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
       WHERE leases.holder = excluded.holder OR leases.until < ?`,
      this.#name,
      this.#holder,
      now + leaseMs,
      now,
    );
    this.#heldUntil = taken > 0 ? now + leaseMs : 0;
    return taken > 0;
  }

  async release(): Promise<void> {
    if (this.#heldUntil === 0) return;
    this.#heldUntil = 0;
    await this.#sql.run('DELETE FROM leases WHERE name = ? AND holder = ?', this.#name, this.#holder);
  }
}
