/**
 * Transactions that an operator asked for. The wish is written down before it is answered and kept until the
 * transaction is known: one that the chain does not have yet, or that no node could be asked for, is tried again
 * with growing pauses for a day.
 */
import type { Logger } from '../../kernel/log.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { Writers } from '../import/part.ts';

export interface AskedOptions {
  readonly index: SqlGatewayIndex;
  readonly writers: Pick<Writers, 'queueTransaction'>;
  readonly log: Logger;
  readonly now?: () => number;
}

const perRound = 50;
const pollMs = 1_000;
const firstDelaySeconds = 2;
const longestDelaySeconds = 600;
const giveUpSeconds = 86_400;

export class AskedTransactions {
  readonly #options: AskedOptions;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(options: AskedOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => Math.floor(Date.now() / 1000));
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), pollMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#round;
  }

  /** Durable when it resolves. */
  async add(id: string): Promise<void> {
    const now = this.#now();
    await this.#options.index.sql.run(
      `INSERT INTO asked_transactions (id, asked_at, attempts, next_try_at) VALUES (?, ?, 0, ?)
       ON CONFLICT (id) DO UPDATE SET asked_at = excluded.asked_at, attempts = 0, next_try_at = excluded.next_try_at`,
      Buffer.from(id, 'base64url'),
      now,
      now,
    );
    this.wake();
  }

  async waiting(): Promise<number> {
    const row = await this.#options.index.sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM asked_transactions',
    );
    return row?.n ?? 0;
  }

  /** Looks at once, or again when a look is under way. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#round !== undefined) {
      this.#again = true;
      return;
    }
    this.#round = this.#look()
      .catch((error: unknown) => {
        if (!this.#stopped) this.#options.log.warn({ err: error }, 'asked transactions were not looked at');
      })
      .finally(() => {
        this.#round = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.wake();
      });
  }

  async #look(): Promise<void> {
    const { sql } = this.#options.index;
    const due = await sql.all<{ id: Buffer; asked_at: number; attempts: number }>(
      `SELECT id, asked_at, attempts FROM asked_transactions WHERE next_try_at <= ?
       ORDER BY next_try_at LIMIT ?`,
      this.#now(),
      perRound,
    );
    for (const row of due) {
      if (this.#stopped) return;
      await this.#try(row.id, row.asked_at, row.attempts);
    }
  }

  async #try(id: Buffer, askedAt: number, attempts: number): Promise<void> {
    const { index, writers, log } = this.#options;
    const text = id.toString('base64url');
    let known = false;
    try {
      await writers.queueTransaction(text);
      known = (await index.locate(text)) !== undefined;
    } catch (error) {
      log.debug({ id: text, err: error }, 'an asked transaction could not be fetched');
    }
    if (known || this.#now() - askedAt > giveUpSeconds) {
      if (!known) log.warn({ id: text }, 'an asked transaction was not found for a day and is given up');
      // Asked for again meanwhile: that wish stands.
      await index.sql.run('DELETE FROM asked_transactions WHERE id = ? AND asked_at = ?', id, askedAt);
      return;
    }
    const delay = Math.min(longestDelaySeconds, firstDelaySeconds * 2 ** Math.min(attempts, 20));
    await index.sql.run(
      'UPDATE asked_transactions SET attempts = attempts + 1, next_try_at = ? WHERE id = ? AND asked_at = ?',
      this.#now() + delay,
      id,
      askedAt,
    );
  }
}
