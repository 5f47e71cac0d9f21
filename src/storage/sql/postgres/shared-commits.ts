/**
 * Transactions of one queue, such as all that begin with the lock of one row. In the database each would wait for the
 * commit of the one before; here those that wait run in one transaction, one after the other, and share its commit.
 *
 * One that fails takes nobody with it: the transaction is undone, and each runs again by itself. Where the database is
 * away, or nobody knows whether the commit happened, that is so for all of them.
 */
import { DatabaseUnavailable, type SqlExecutor } from '../sql.ts';

type Work<T> = (tx: SqlExecutor) => Promise<T>;

interface Job {
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

const maxTogether = 32;

export class SharedCommits {
  readonly #transaction: <T>(work: Work<T>) => Promise<T>;
  /** Who waits, by queue; a queue is there as long as it is worked on. */
  readonly #waiting = new Map<string, Job[]>();
  readonly #working = new Set<Promise<void>>();

  /** `transaction` runs one by itself. */
  constructor(transaction: <T>(work: Work<T>) => Promise<T>) {
    this.#transaction = transaction;
  }

  run<T>(queue: string, work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiting = this.#waiting.get(queue);
      if (waiting !== undefined) {
        waiting.push({ work, resolve, reject });
        return;
      }
      const jobs: Job[] = [{ work, resolve, reject }];
      this.#waiting.set(queue, jobs);
      const working = this.#workOff(queue, jobs).finally(() => this.#working.delete(working));
      this.#working.add(working);
    });
  }

  /** Resolves when everybody who waits now has an answer. */
  async drained(): Promise<void> {
    await Promise.all(this.#working);
  }

  async #workOff(queue: string, waiting: Job[]): Promise<void> {
    while (waiting.length > 0) await this.#together(waiting.splice(0, maxTogether));
    this.#waiting.delete(queue);
  }

  async #together(jobs: readonly Job[]): Promise<void> {
    const [first] = jobs;
    if (jobs.length === 1 && first !== undefined) return this.#alone(first);
    try {
      const values = await this.#transaction(async (tx) => {
        const made: unknown[] = [];
        for (const { work } of jobs) made.push(await work(tx));
        return made;
      });
      for (const [at, job] of jobs.entries()) job.resolve(values[at] as never);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) for (const job of jobs) job.reject(error);
      else for (const job of jobs) await this.#alone(job);
    }
  }

  async #alone({ work, resolve, reject }: Job): Promise<void> {
    try {
      resolve((await this.#transaction(work)) as never);
    } catch (error) {
      reject(error);
    }
  }
}
