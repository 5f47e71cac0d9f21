/**
 * Transactions that an operator requested. A request is stored before it is answered, and kept until the transaction
 * is indexed: one that the chain does not have yet, or that no node could be asked for, is tried again with growing
 * pauses for a day.
 */
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { OnDemandImport } from '../import/on-demand.ts';

export interface RequestedTransactionsOptions {
  readonly index: SqlGatewayIndex;
  readonly onDemand: Pick<OnDemandImport, 'queueTransaction'>;
  readonly log: Logger;
  /** What other processes were asked for is noticed within this. */
  readonly pollMs: number;
  readonly now?: () => number;
}

const perRound = 50;
const retryBackoff = { firstMs: 2_000, longestMs: 600_000 };
const giveUpSeconds = 86_400;

export class RequestedTransactions {
  readonly #options: RequestedTransactionsOptions;
  readonly #now: () => number;
  readonly #task: WakeableTask;

  constructor(options: RequestedTransactionsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => Math.floor(Date.now() / 1000));
    this.#task = new WakeableTask({
      name: 'requested transactions',
      run: async () => {
        await this.#tryDue();
        return options.pollMs;
      },
      failed(error) {
        options.log.warn({ err: error }, 'requested transactions could not be read');
        return options.pollMs;
      },
    });
  }

  start(): void {
    this.#task.start();
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  stop(): Promise<void> {
    return this.#task.stop();
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
    this.#task.wake();
  }

  async waiting(): Promise<number> {
    const row = await this.#options.index.sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM asked_transactions',
    );
    return row?.n ?? 0;
  }

  async #tryDue(): Promise<void> {
    const { sql } = this.#options.index;
    const due = await sql.all<{ id: Buffer; asked_at: number; attempts: number }>(
      `SELECT id, asked_at, attempts FROM asked_transactions WHERE ${isDue('next_try_at')}
       ORDER BY next_try_at LIMIT ?`,
      ...dueBounds(this.#now(), retryBackoff.longestMs / 1_000),
      perRound,
    );
    for (const row of due) {
      if (this.#task.isStopped) return;
      await this.#try(row.id, row.asked_at, row.attempts);
    }
  }

  async #try(id: Buffer, askedAt: number, attempts: number): Promise<void> {
    const { index, onDemand, log } = this.#options;
    const text = id.toString('base64url');
    let known = false;
    try {
      await onDemand.queueTransaction(text, 'import', true);
      known = (await index.locate(text)) !== undefined;
    } catch (error) {
      log.debug({ id: text, err: error }, 'a requested transaction could not be fetched');
    }
    if (known || this.#now() - askedAt > giveUpSeconds) {
      if (!known) log.warn({ id: text }, 'a requested transaction was not found for a day and is given up');
      // A newer request for it stays.
      await index.sql.run('DELETE FROM asked_transactions WHERE id = ? AND asked_at = ?', id, askedAt);
      return;
    }
    const delay = backoffMs(retryBackoff, attempts + 1) / 1_000;
    await index.sql.run(
      'UPDATE asked_transactions SET attempts = attempts + 1, next_try_at = ? WHERE id = ? AND asked_at = ?',
      this.#now() + delay,
      id,
      askedAt,
    );
  }
}
