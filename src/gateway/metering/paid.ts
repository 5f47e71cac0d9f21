/**
 * Tokens that a client has paid for. They never refill, survive restarts, and are spent in the database: two
 * processes cannot spend the same token, and one payment counts once however often it is sent.
 */
import type { Sql } from '../../storage/sql/sql.ts';

export class PaidTokens {
  readonly #sql: Sql;
  readonly #now: () => number;

  constructor(sql: Sql, now: () => number = () => Math.floor(Date.now() / 1000)) {
    this.#sql = sql;
    this.#now = now;
  }

  /** False when the payment was counted before. */
  async credit(payment: string, client: string, tokens: number): Promise<boolean> {
    return this.#sql.transaction(async (tx) => {
      const fresh = await tx.run(
        `INSERT INTO meter_payments (payment, client, tokens, paid_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (payment) DO NOTHING`,
        payment,
        client,
        tokens,
        this.#now(),
      );
      if (fresh === 0) return false;
      await tx.run(
        `INSERT INTO meter_paid (client, millitokens) VALUES (?, ?)
         ON CONFLICT (client) DO UPDATE SET millitokens = meter_paid.millitokens + excluded.millitokens`,
        client,
        tokens * 1000,
      );
      return true;
    });
  }

  /** Takes all of it or nothing. */
  async spend(client: string, tokens: number): Promise<boolean> {
    const millitokens = Math.ceil(tokens * 1000);
    const changed = await this.#sql.run(
      'UPDATE meter_paid SET millitokens = millitokens - ? WHERE client = ? AND millitokens >= ?',
      millitokens,
      client,
      millitokens,
    );
    return changed > 0;
  }
}
