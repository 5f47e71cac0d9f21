/**
 * The one writer of a SQLite database: transactions that wait at the same time share one BEGIN IMMEDIATE,
 * one COMMIT and one sync. Each runs alone in turn; one that throws is rolled back alone.
 *
 * That takes a savepoint for each, and a savepoint copies every page that is changed after it. Few works fail, so a batch runs
 * without: when one fails that has written, all is rolled back and run again, and this batch and the next ones have savepoints.
 *
 * A batch ends when no transaction waits or when it has had its share of the event loop; its answers go out when it
 * is durable, while the next batch already runs.
 *
 * Processes that share the file take the write lock in turns, and SQLite keeps no queue for it. One that finds after a
 * batch of its own that another has written leaves the lock alone for a moment, and those that wait look often: nobody
 * is kept out by a busy neighbour, and what comes meanwhile makes the next batch larger.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { DatabaseUnavailable, type SqlExecutor, type SqlValue } from '../sql.ts';
import { isBusy, type SqliteConnection } from './connection.ts';
import { isQuery } from './statement.ts';
import type { WalSync } from './wal-sync.ts';

export interface GroupCommitLimits {
  /** Transactions that may wait; one more is refused. */
  readonly maxQueued: number;
  readonly maxBatch: number;
  /** A batch that has run this long commits, so that the event loop gets its turn. */
  readonly batchMs: number;
  /** How long other processes may keep the write lock before a batch is refused. */
  readonly lockMs: number;
  /** How long a work may await something that is not a statement of its own. */
  readonly foreignWaitMs: number;
}

export const defaultLimits: GroupCommitLimits = {
  maxQueued: 100_000,
  maxBatch: 256,
  batchMs: 8,
  lockMs: 10_000,
  foreignWaitMs: 1_000,
};

/** Batches with savepoints after one in which a work failed: what is refused once is often asked for again. */
const carefulBatches = 64;
/** How long a process leaves the lock to others that write too. */
const yieldMs = 1;
/** Pauses between two looks whether the lock is free. */
const lookMs = { first: 1, longest: 8 };

interface Job {
  /** One statement and nothing else. */
  readonly single: boolean;
  readonly work: (tx: SqlExecutor) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly job: Job } & ({ readonly value: unknown } | { readonly error: unknown });

export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #sync: WalSync;
  readonly #limits: GroupCommitLimits;
  readonly #answering = new Set<Promise<void>>();
  /** Called after each COMMIT of ours that wrote; must not throw. */
  afterCommit: () => void = () => {};
  #queue: Job[] = [];
  #head = 0;
  #running: Promise<void> | undefined;
  #closed = false;
  #othersVersion: number | undefined;
  /** Another process has written since our last batch. */
  #hasOthers = false;
  #performing: { job: Job; settle(outcome: Outcome): void; overdue: boolean } | undefined;
  #held: Promise<unknown> | undefined;
  #carefulLeft = 0;

  constructor(connection: SqliteConnection, sync: WalSync, limits: GroupCommitLimits) {
    this.#connection = connection;
    this.#sync = sync;
    this.#limits = limits;
  }

  /** `single` promises that the work is one statement, which needs no savepoint. */
  submit<T>(work: (tx: SqlExecutor) => Promise<T>, single = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) {
        reject(new DatabaseUnavailable('the database is closed'));
      } else if (this.#queue.length - this.#head >= this.#limits.maxQueued) {
        reject(new DatabaseUnavailable('too many transactions are waiting'));
      } else {
        this.#queue.push({ single, work, resolve, reject });
        this.#running ??= this.#drain();
      }
    });
  }

  /** Refuses new transactions and waits until those accepted are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    await Promise.all(this.#answering);
  }

  /** Starts no further batch until `until` has settled. */
  hold(until: Promise<unknown>): void {
    this.#held = until.then(
      () => {},
      () => {},
    );
  }

  async #drain(): Promise<void> {
    while (this.#head < this.#queue.length) {
      // Everything that this turn of the event loop asks for joins the batch.
      await nextTurn();
      await this.#held;
      await this.#batch(() => (this.#head < this.#queue.length ? this.#queue[this.#head++] : undefined));
      if (this.#head === this.#queue.length || this.#head > 4_096) {
        this.#queue = this.#queue.slice(this.#head);
        this.#head = 0;
      }
      if (this.#hasOthers && this.#head < this.#queue.length) await sleep(yieldMs);
    }
    this.#running = undefined;
  }

  /** Runs the jobs that `next` hands out, as many as a batch may hold, and sees to their answers. */
  async #batch(next: () => Job | undefined): Promise<void> {
    const outcomes: Outcome[] = [];
    try {
      await this.#begin();
    } catch (error) {
      for (let job = next(); job !== undefined; job = next()) outcomes.push({ job, error });
      this.#answer(outcomes);
      return;
    }
    const watch = setInterval(() => this.#watch(), this.#limits.foreignWaitMs);
    try {
      const result = await this.#runAndCommit(next, outcomes);
      if (result === 'committed') this.#answer(outcomes);
      else await this.#again(outcomes, result);
    } catch (error) {
      this.#rollBack();
      this.#answer(outcomes.map(({ job }) => ({ job, error })));
    } finally {
      clearInterval(watch);
      this.#performing = undefined;
    }
  }

  /** In batches of their own, or in as few as there can be. */
  async #again(outcomes: readonly Outcome[], how: 'alone' | 'together'): Promise<void> {
    const jobs = outcomes.map(({ job }) => job);
    while (jobs.length > 0) {
      const batch = how === 'alone' ? jobs.splice(0, 1) : jobs;
      await this.#batch(() => batch.shift());
    }
  }

  /**
   * Throws what fails them all. `alone`: each must run once more by itself, because their commit failed; `together`: all
   * must, because one failed that could not be undone by itself.
   */
  async #runAndCommit(
    next: () => Job | undefined,
    outcomes: Outcome[],
  ): Promise<'committed' | 'alone' | 'together'> {
    const stopAt = performance.now() + this.#limits.batchMs;
    const undo = this.#carefulLeft > 0 ? 'savepoint' : 'batch';
    if (this.#carefulLeft > 0) this.#carefulLeft -= 1;
    let wrote = false;
    while (outcomes.length < this.#limits.maxBatch && performance.now() < stopAt) {
      const job = next();
      if (job === undefined) break;
      const tx = new SqliteTransaction(this.#connection, wrote ? (job.single ? 'none' : undo) : 'rollback');
      const outcome = await this.#perform(job, tx);
      outcomes.push(outcome);
      if (!('error' in outcome)) {
        wrote = tx.keep() || wrote;
      } else if (!tx.undo()) {
        if (!wrote) return 'committed';
        if (this.#connection.inTransaction) {
          this.#rollBack();
          this.#carefulLeft = carefulBatches;
          return 'together';
        }
        // The engine gave up on the whole transaction (disk full, I/O error): so do all that shared it.
        throw new DatabaseUnavailable('the transaction was rolled back', { cause: outcome.error });
      }
    }
    try {
      this.#connection.run('COMMIT', []);
    } catch (error) {
      // A constraint deferred to COMMIT: only the job that broke it may fail.
      if (outcomes.length === 1 || error instanceof DatabaseUnavailable) throw error;
      this.#rollBack();
      return 'alone';
    }
    if (wrote) {
      this.#sync.committed();
      this.afterCommit();
    }
    return 'committed';
  }

  /** Should even this fail, the next BEGIN does too, and says so to those who wait for it. */
  #rollBack(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK', []);
    } catch {}
  }

  /** Takes the write lock, waiting for other processes without blocking the thread. */
  async #begin(): Promise<void> {
    this.#sync.assertSound();
    const giveUpAt = performance.now() + this.#limits.lockMs;
    for (let pause = lookMs.first; ; pause = Math.min(pause * 2, lookMs.longest)) {
      try {
        this.#connection.run('BEGIN IMMEDIATE', []);
        break;
      } catch (error) {
        if (!isBusy(error) || performance.now() > giveUpAt) throw error;
        await sleep(pause * (0.5 + Math.random()));
      }
    }
    // Rows that another process committed may not be durable yet, and this batch may act on them.
    const version = this.#connection.get<{ data_version: number }>('PRAGMA data_version', [])?.data_version;
    this.#hasOthers = this.#othersVersion !== undefined && version !== this.#othersVersion;
    if (this.#hasOthers) this.#sync.committed();
    this.#othersVersion = version;
  }

  #perform(job: Job, tx: SqliteTransaction): Promise<Outcome> {
    return new Promise((settle) => {
      this.#performing = { job, settle, overdue: false };
      invoke(job.work, tx).then(
        (value) => settle(tx.failure === undefined ? { job, value } : { job, error: tx.failure }),
        (error: unknown) => settle({ job, error }),
      );
    });
  }

  /**
   * A work whose statements are all it awaits ends before any timer runs. One that two timers find at work
   * awaits something else, while all others wait for it: it is cut off.
   */
  #watch(): void {
    const performing = this.#performing;
    if (performing === undefined) return;
    if (performing.overdue) {
      const waited = `${this.#limits.foreignWaitMs} ms`;
      const error = new Error(`a transaction awaited something other than its own statements for ${waited}`);
      performing.settle({ job: performing.job, error });
    }
    performing.overdue = true;
  }

  /** Tells every caller how it went, once all that it may have seen is durable. */
  #answer(outcomes: readonly Outcome[]): void {
    const answered = this.#sync.flushed().then(
      () => {
        for (const outcome of outcomes) {
          if ('error' in outcome) outcome.job.reject(outcome.error);
          else outcome.job.resolve(outcome.value as never);
        }
      },
      (error: unknown) => {
        for (const { job } of outcomes) job.reject(error);
      },
    );
    this.#answering.add(answered);
    void answered.then(() => this.#answering.delete(answered));
  }
}

/** A work that throws before it awaits anything is no different from one that rejects. */
async function invoke(work: Job['work'], tx: SqlExecutor): Promise<unknown> {
  return await work(tx);
}

/**
 * How a work that fails is undone: with the whole transaction, when nobody wrote before it; when others did, back to a
 * savepoint, or together with them; or not at all, when it is one statement, which SQLite undoes by itself.
 */
type Undo = 'rollback' | 'savepoint' | 'batch' | 'none';

/** What a work sees of the writer's connection, until the work ends. */
class SqliteTransaction implements SqlExecutor {
  readonly engine = 'sqlite';
  readonly forUpdate = '';
  readonly #connection: SqliteConnection;
  readonly #undo: Undo;
  #open = true;
  #wrote = false;
  failure: unknown;

  constructor(connection: SqliteConnection, undo: Undo) {
    this.#connection = connection;
    this.#undo = undo;
  }

  async all<T>(text: string, ...values: SqlValue[]): Promise<T[]> {
    return this.#step(text, () => this.#connection.all<T>(text, values));
  }

  async get<T>(text: string, ...values: SqlValue[]): Promise<T | undefined> {
    return this.#step(text, () => this.#connection.get<T>(text, values));
  }

  async run(text: string, ...values: SqlValue[]): Promise<number> {
    return this.#step(text, () => this.#connection.run(text, values));
  }

  /** Ends the work and keeps what it wrote; answers whether it wrote. */
  keep(): boolean {
    this.#open = false;
    if (this.#wrote && this.#undo === 'savepoint') this.#connection.run('RELEASE work', []);
    return this.#wrote;
  }

  /** Ends the work and undoes what it wrote; false when that ended the batch's transaction, or has to. */
  undo(): boolean {
    this.#open = false;
    if (!this.#connection.inTransaction) return false;
    if (!this.#wrote || this.#undo === 'none') return true;
    if (this.#undo === 'batch') return false;
    if (this.#undo === 'rollback') {
      this.#connection.run('ROLLBACK', []);
      return false;
    }
    this.#connection.run('ROLLBACK TO work', []);
    this.#connection.run('RELEASE work', []);
    return true;
  }

  /** A failed statement fails its transaction, as in PostgreSQL, also when the work would carry on. */
  #step<T>(text: string, step: () => T): T {
    if (!this.#open) throw new Error('a statement came after the end of its transaction');
    if (this.failure !== undefined) throw this.failure;
    try {
      if (!this.#wrote && !isQuery(text)) {
        if (this.#undo === 'savepoint') this.#connection.run('SAVEPOINT work', []);
        this.#wrote = true;
      }
      return step();
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
