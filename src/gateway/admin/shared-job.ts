/**
 * A job of which there is one at a time, whichever of the processes on a database was asked to do it. Its status is
 * written down every second while it runs, so that every process can tell it, and so that one whose process is gone
 * is known to have ended. The database's clock counts, so that clocks of machines may differ.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../../kernel/log.ts';
import { clocks } from '../../storage/sql/lease.ts';
import type { Sql } from '../../storage/sql/sql.ts';

export interface JobStatus {
  readonly status: 'not_started' | 'running' | 'completed' | 'errored' | 'cancelled';
  readonly jobId?: string;
  readonly error?: string;
}

const everyMs = 1_000;
/** A running job that has not been heard of for so long has ended with its process. */
const silentMs = 15_000;

interface JobRow {
  readonly holder: string;
  readonly running: number;
  readonly status: string;
  readonly told_at: number;
}

export class SharedJob {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #log: Logger;
  readonly #holder = randomUUID();
  #current: (() => JobStatus) | undefined;
  #cancel: (() => void) | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(sql: Sql, name: string, log: Logger) {
    this.#sql = sql;
    this.#name = name;
    this.#log = log;
  }

  /** False where one is running, here or elsewhere. */
  async claim(): Promise<boolean> {
    const now = await this.#now();
    return await this.#sql.transaction(async (tx) => {
      const row = await tx.get<JobRow>(
        `SELECT holder, running, status, told_at FROM operator_jobs WHERE name = ? ${tx.forUpdate}`,
        this.#name,
      );
      if (row !== undefined && isAlive(row, now)) return false;
      const values = [this.#holder, JSON.stringify({ status: 'running' }), now];
      // Of two who find no row, the second waits for the first and finds its claim.
      const changed = await tx.run(
        `INSERT INTO operator_jobs (name, holder, running, status, told_at) VALUES (?, ?, 1, ?, ?)
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, running = 1, status = excluded.status,
           told_at = excluded.told_at, cancelled = 0
         WHERE operator_jobs.running = 0 OR operator_jobs.told_at < ?`,
        this.#name,
        ...values,
        now - silentMs,
      );
      return changed === 1;
    });
  }

  /**
   * After a claim: tells the status until it is one of an end, which everybody knows when the promise resolves. A job
   * that can be cancelled says how.
   */
  follow(current: () => JobStatus, ended: Promise<unknown>, cancel?: () => void): Promise<void> {
    this.#current = current;
    this.#cancel = cancel;
    this.#following = this.#follow(ended);
    return this.#following;
  }

  async #follow(ended: Promise<unknown>): Promise<void> {
    // One after the other: what is told last is the end.
    let telling: Promise<void> = Promise.resolve();
    const tell = () => {
      telling = telling
        .then(() => this.#tell())
        .catch((error: unknown) =>
          this.#log.warn({ err: error, job: this.#name }, 'the state of a job could not be told'),
        );
    };
    const timer = setInterval(tell, everyMs).unref();
    await ended.catch(() => undefined);
    clearInterval(timer);
    tell();
    await telling;
    this.#current = undefined;
    this.#cancel = undefined;
  }

  /** Asks the process that does it to end it, which it does within seconds. False where none is running. */
  async cancel(): Promise<boolean> {
    const now = await this.#now();
    const changed = await this.#sql.run(
      'UPDATE operator_jobs SET cancelled = 1 WHERE name = ? AND running = 1 AND told_at >= ?',
      this.#name,
      now - silentMs,
    );
    if (changed === 1) this.#cancel?.();
    return changed === 1;
  }

  /** Of the job that runs, or ran last, in any process. */
  async status(): Promise<JobStatus> {
    const current = this.#current?.();
    if (current?.status === 'running') return current;
    // Who hears that a job is over may start the next: that is said once everybody knows.
    await this.#following;
    const row = await this.#sql.get<JobRow>(
      'SELECT holder, running, status, told_at FROM operator_jobs WHERE name = ?',
      this.#name,
    );
    if (row === undefined) return { status: 'not_started' };
    const now = await this.#now();
    const told: JobStatus = JSON.parse(row.status);
    if (row.running === 0 || isAlive(row, now)) return told;
    return {
      ...told,
      status: 'errored',
      error: 'The process that did it has ended',
      ...{ endTime: new Date(row.told_at).toISOString(), endTimestamp: row.told_at },
    };
  }

  async #now(): Promise<number> {
    const row = await this.#sql.get<{ now: number }>(`SELECT ${clocks[this.#sql.engine]} AS now`);
    return row?.now ?? 0;
  }

  async #tell(): Promise<void> {
    const status = this.#current?.();
    if (status === undefined) return;
    const now = await this.#now();
    await this.#sql.run(
      'UPDATE operator_jobs SET running = ?, status = ?, told_at = ? WHERE name = ? AND holder = ?',
      status.status === 'running' ? 1 : 0,
      JSON.stringify(status),
      now,
      this.#name,
      this.#holder,
    );
    if (this.#cancel === undefined) return;
    const row = await this.#sql.get<{ cancelled: number }>(
      'SELECT cancelled FROM operator_jobs WHERE name = ? AND holder = ?',
      this.#name,
      this.#holder,
    );
    // Without a row it was taken for dead, and another process may be at it.
    if (row?.cancelled !== 0) this.#cancel();
  }
}

function isAlive(row: JobRow, now: number): boolean {
  return row.running === 1 && row.told_at >= now - silentMs;
}
