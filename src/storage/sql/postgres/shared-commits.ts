/**
 * Transactions that lock one row each, and are queued by that row. In the database those of one queue would wait for each
 * other's commits, and each commit costs as much as the work; here those that wait run in one transaction and share its commit.
 * Those of one queue run one after the other; those of different queues begin in the order of their names and go on side by
 * side, so that their statements travel together.
 *
 * One that fails takes nobody with it: the transaction is undone, and each runs again by itself. So it is when a row stays
 * locked by somebody else: only those who want that row wait for it. Where the database is away, or nobody knows whether the
 * commit happened, that is so for all of them.
 */
import { DatabaseUnavailable, type SqlExecutor, type Work } from '../sql.ts';
import { isLocked } from './errors.ts';

interface Job {
  readonly queue: string;
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

const maxTogether = 32;
/** Further ones wait, and share a commit then. */
const maxTransactions = 2;

/** So long a transaction that others wait for may wait for a lock itself. */
const maxLockWaitMs = 200;

/** Runs one transaction. With `lockWaitMs` it fails where a lock is not to be had in that time. */
export type RunTransaction = <T>(work: Work<T>, lockWaitMs?: number) => Promise<T>;

export class SharedCommits {
  readonly #transaction: RunTransaction;
  /** In the order in which they came. */
  #waiting: Job[] = [];
  /** Queues of which something runs. */
  readonly #busy = new Set<string>();
  /** Transactions that others wait for. */
  readonly #running = new Set<Promise<void>>();
  /** Queues whose works run one by one, beside those. */
  readonly #apart = new Set<Promise<void>>();

  constructor(transaction: RunTransaction) {
    this.#transaction = transaction;
  }

  run<T>(queue: string, work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ queue, work, resolve, reject });
      this.#begin();
    });
  }

  /** Resolves when everybody who waits has an answer. */
  async drained(): Promise<void> {
    while (this.#running.size + this.#apart.size > 0) await Promise.all([...this.#running, ...this.#apart]);
  }

  #begin(): void {
    while (this.#running.size < maxTransactions) {
      const queues = this.#take();
      if (queues.size === 0) return;
      for (const queue of queues.keys()) this.#busy.add(queue);
      const running = this.#together(queues).finally(() => {
        this.#running.delete(running);
        this.#begin();
      });
      this.#running.add(running);
    }
  }

  /** The next that may run, by queue. */
  #take(): Map<string, Job[]> {
    const taken: Job[] = [];
    this.#waiting = this.#waiting.filter((job) => {
      if (taken.length === maxTogether || this.#busy.has(job.queue)) return true;
      taken.push(job);
      return false;
    });
    return Map.groupBy(
      taken.sort((a, b) => (a.queue < b.queue ? -1 : a.queue > b.queue ? 1 : 0)),
      ({ queue }) => queue,
    );
  }

  async #together(queues: ReadonlyMap<string, readonly Job[]>): Promise<void> {
    const jobs = [...queues.values()].flat();
    try {
      const values = await this.#transaction((tx) => runAll(tx, queues), maxLockWaitMs);
      for (const job of jobs) job.resolve(values.get(job) as never);
    } catch (error) {
      const isAnswer = error instanceof DatabaseUnavailable || (jobs.length === 1 && !isLocked(error));
      if (!isAnswer) return this.#setApart(queues);
      for (const job of jobs) job.reject(error);
    }
    for (const queue of queues.keys()) this.#busy.delete(queue);
  }

  /** Each queue by itself from here on; nobody but its own works waits for it. */
  #setApart(queues: ReadonlyMap<string, readonly Job[]>): void {
    for (const [queue, jobs] of queues) {
      const working = this.#oneByOne(jobs).finally(() => {
        this.#apart.delete(working);
        this.#busy.delete(queue);
        this.#begin();
      });
      this.#apart.add(working);
    }
  }

  async #oneByOne(jobs: readonly Job[]): Promise<void> {
    for (const { work, resolve, reject } of jobs) {
      try {
        resolve((await this.#transaction(work)) as never);
      } catch (error) {
        reject(error);
      }
    }
  }
}

/** Ends when all have, also when one fails: none may send a statement after the end of the transaction. */
async function runAll(
  tx: SqlExecutor,
  queues: ReadonlyMap<string, readonly Job[]>,
): Promise<Map<Job, unknown>> {
  const values = new Map<Job, unknown>();
  const runQueue = async (jobs: readonly Job[]): Promise<void> => {
    const ends: Promise<unknown>[] = [];
    for (const job of jobs) {
      const { promise: isNext, resolve: letNext } = Promise.withResolvers<void>();
      const end = job.work(tx, letNext).then((value) => values.set(job, value));
      ends.push(end);
      try {
        await Promise.race([isNext, end]);
      } catch {
        break;
      }
    }
    await allEnd(ends);
  };
  await allEnd([...queues.values()].map(runQueue));
  return values;
}

async function allEnd(works: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
}
