/** One process at a time does what a lease names; it is renewed while the work lasts and ends by itself. */
import { randomUUID } from 'node:crypto';
import type { Sql } from '../../storage/sql/sql.ts';

export class Lease {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #leaseMs: number;
  readonly #now: () => number;
  readonly #holder = randomUUID();

  constructor(sql: Sql, name: string, leaseMs: number, now: () => number) {
    this.#sql = sql;
    this.#name = name;
    this.#leaseMs = leaseMs;
    this.#now = now;
  }

  /** Takes or renews it; false while another process has it. */
  async take(): Promise<boolean> {
    const now = this.#now();
    const changed = await this.#sql.transaction((tx) =>
      tx.run(
        `INSERT INTO upload_leases (name, holder, until) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
         WHERE upload_leases.until < ? OR upload_leases.holder = excluded.holder`,
        this.#name,
        this.#holder,
        now + this.#leaseMs,
        now,
      ),
    );
    return changed > 0;
  }

  async release(): Promise<void> {
    await this.#sql.run('DELETE FROM upload_leases WHERE name = ? AND holder = ?', this.#name, this.#holder);
  }
}
