/** Nonces that may not be used again. A signature covers little more than its nonce, so a seen one is worthless. */
import { type Sql, type SqlExecutor, UniqueViolation } from '../../storage/sql/sql.ts';
import { nonceReplayed } from '../errors.ts';

export class SpentNonces {
  readonly #sql: Sql;
  readonly #lifeMs: number;
  readonly #now: () => number;

  constructor(sql: Sql, lifeMs: number, now: () => number) {
    this.#sql = sql;
    this.#lifeMs = lifeMs;
    this.#now = now;
  }

  /** Uses a nonce up; refuses one that was used. Called after its signature was found valid, in the caller's transaction. */
  async spendIn(tx: SqlExecutor, signer: string, nonce: string): Promise<void> {
    const spent = await tx.get(
      'SELECT nonce FROM arns_spent_nonce WHERE signer = ? AND nonce = ?',
      signer,
      nonce,
    );
    if (spent !== undefined) throw nonceReplayed();
    await tx.run(
      'INSERT INTO arns_spent_nonce (signer, nonce, expires_at) VALUES (?, ?, ?)',
      signer,
      nonce,
      this.#now() + this.#lifeMs,
    );
  }

  /** Remembers a nonce that was seen on a route that does not act on it: nobody shall act with it later. */
  async note(signer: string, nonce: string): Promise<void> {
    try {
      await this.#sql.run(
        'INSERT INTO arns_spent_nonce (signer, nonce, expires_at) VALUES (?, ?, ?)',
        signer,
        nonce,
        this.#now() + this.#lifeMs,
      );
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
    }
  }

  async isSpent(signer: string, nonce: string): Promise<boolean> {
    const row = await this.#sql.get(
      'SELECT nonce FROM arns_spent_nonce WHERE signer = ? AND nonce = ?',
      signer,
      nonce,
    );
    return row !== undefined;
  }

  forget(): Promise<number> {
    return this.#sql.run('DELETE FROM arns_spent_nonce WHERE expires_at <= ?', this.#now());
  }
}
