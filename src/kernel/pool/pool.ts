/**
 * Threads for CPU work: signatures, hashing, unbundling. A task module exports functions by name; the pool runs
 * them on worker threads and answers with a promise.
 *
 *   - Threads start when there is work for them and never keep the process alive while idle.
 *   - At most `maxQueued` tasks wait; then `run` fails with `PoolBusy`, which the caller turns into back-pressure.
 *   - Each thread is handed the next task while it still works on one, so it need not wait for the event loop.
 *   - A thread that dies (crash, out of memory, over time) fails the task it was working on and no other: what
 *     waited behind it runs elsewhere.
 */
import type { Transferable } from 'node:worker_threads';
import type { Logger } from '../log.ts';
import { PoolBusy, PoolClosed, ThreadDied } from './protocol.ts';
import { type Task, Thread } from './thread-handle.ts';

export { PoolBusy, PoolClosed, TaskFailed, ThreadDied, Transferred } from './protocol.ts';

/** The type of a task module: `createPool<typeof import('./tasks.ts')>(…)`. */
export type TaskModule = Readonly<Record<string, (arg: never) => unknown>>;
type Argument<F> = F extends (arg: infer A) => unknown ? A : never;
type Result<F> = F extends (arg: never) => infer R ? Untransferred<Awaited<R>> : never;
type Untransferred<R> = R extends { readonly value: infer V; readonly list: readonly Transferable[] } ? V : R;

export interface PoolOptions {
  /** `new URL('./tasks' + extname(import.meta.filename), import.meta.url)`, right as source and compiled. */
  readonly module: URL;
  /** Threads at most. */
  readonly size: number;
  /** Tasks that may wait for a thread. */
  readonly maxQueued: number;
  readonly log: Logger;
  /** A task that runs longer takes its thread down and fails. */
  readonly taskTimeoutMs?: number;
}

export interface Pool<T extends TaskModule> {
  run<K extends keyof T & string>(
    task: K,
    arg: Argument<T[K]>,
    transfer?: readonly Transferable[],
  ): Promise<Result<T[K]>>;
  /** Tasks that wait for a thread. */
  readonly waiting: number;
  readonly threads: number;
  /** Fails what is running or waiting with `PoolClosed` and ends the threads. */
  close(): Promise<void>;
}

/** A thread works on one task and has the next one queued. */
const handed = 2;

export function createPool<T extends TaskModule>(options: PoolOptions): Pool<T> {
  const { module, size, maxQueued, log, taskTimeoutMs = 120_000 } = options;
  const threads = new Set<Thread>();
  const queue: Task[] = [];
  let closed = false;
  let watch: NodeJS.Timeout | undefined;

  const events = {
    free: () => dispatch(),
    gone(thread: Thread, returned: Task[], reason: Error) {
      threads.delete(thread);
      if (threads.size === 0) clearInterval(watch);
      if (closed) {
        for (const task of returned) task.reject(new PoolClosed());
        return;
      }
      log.error({ err: reason, module: module.pathname.split('/').at(-1) }, 'a pool thread died');
      queue.unshift(...returned);
      dispatch();
    },
  };

  function dispatch(): void {
    while (queue.length > 0) {
      const thread = pick();
      if (thread === undefined) return;
      const task = queue.shift();
      if (task !== undefined) thread.give(task);
    }
  }

  /** An idle thread, else a new one, else the least loaded that has room. */
  function pick(): Thread | undefined {
    let best: Thread | undefined;
    for (const thread of threads) {
      if (thread.load < (best?.load ?? handed)) best = thread;
    }
    if (best !== undefined && best.load === 0) return best;
    return threads.size < size ? add() : best;
  }

  function add(): Thread {
    const thread = new Thread(module, events);
    if (threads.size === 0) watch = setInterval(endOverdue, Math.min(1_000, taskTimeoutMs)).unref();
    threads.add(thread);
    return thread;
  }

  function endOverdue(): void {
    const now = performance.now();
    for (const thread of threads) {
      if (thread.runningFor(now) > taskTimeoutMs) {
        thread.kill(new ThreadDied(`a task ran longer than ${taskTimeoutMs} ms`));
      }
    }
  }

  return {
    get waiting() {
      return queue.length;
    },
    get threads() {
      return threads.size;
    },
    run(name, arg, transfer = []) {
      return new Promise((resolve, reject) => {
        if (closed) throw new PoolClosed();
        if (queue.length >= maxQueued) dispatch();
        if (queue.length >= maxQueued && pick() === undefined) throw new PoolBusy(queue.length);
        queue.push({
          name,
          arg,
          transfer,
          resolve: (value) => resolve(value as Result<T[typeof name]>),
          reject,
        });
        dispatch();
      });
    },
    async close() {
      closed = true;
      clearInterval(watch);
      for (const task of queue.splice(0)) task.reject(new PoolClosed());
      await Promise.all([...threads].map((thread) => thread.end(new PoolClosed())));
    },
  };
}
