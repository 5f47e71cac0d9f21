/**
 * Transactions that lock one row each, and are queued by that row. In the database those of one queue would wait for each
 * other's commits, and each commit costs as much as the work; here those that wait run in one transaction and share its commit.
 * Those of one queue run one after the other; those of different queues begin in the order of their names and go on side by
 * side, so that their statements travel together.
 *
 * One that fails takes nobody with it: the transaction is undone, and each runs again by itself. Where the database is
 * away, or nobody knows whether the commit happened, that is so for all of them.
 */
import { DatabaseUnavailable, type SqlExecutor } from '../sql.ts';

type Work<T> = (tx: SqlExecutor) => Promise<T>;

interface Job {
  readonly queue: string;
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

const maxTogether = 32;
/** Further ones wait, and share a commit then. */
const maxTransactions = 2;

export class SharedCommits {
  readonly #transaction: <T>(work: Work<T>) => Promise<T>;
  /** In the order in which they came. */
  #waiting: Job[] = [];
  /** Queues of which something runs. */
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();

  /** `transaction` runs one by itself. */
  constructor(transaction: <T>(work: Work<T>) => Promise<T>) {
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
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #begin(): void {
    while (this.#running.size < maxTransactions) {
      const queues = this.#take();
      if (queues.size === 0) return;
      for (const queue of queues.keys()) this.#busy.add(queue);
      const running = this.#together(queues).finally(() => {
        for (const queue of queues.keys()) this.#busy.delete(queue);
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
    const [first] = jobs;
    if (jobs.length === 1 && first !== undefined) return this.#alone(first);
    try {
      const values = await this.#transaction((tx) => runAll(tx, queues));
      for (const job of jobs) job.resolve(values.get(job) as never);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) for (const job of jobs) job.reject(error);
      else await Promise.all([...queues.values()].map((queue) => this.#eachAlone(queue)));
    }
  }

  async #eachAlone(jobs: readonly Job[]): Promise<void> {
    for (const job of jobs) await this.#alone(job);
  }

  async #alone({ work, resolve, reject }: Job): Promise<void> {
    try {
      resolve((await this.#transaction(work)) as never);
    } catch (error) {
      reject(error);
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
    for (const job of jobs) values.set(job, await job.work(tx));
  };
  const outcomes = await Promise.allSettled([...queues.values()].map(runQueue));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return values;
}
