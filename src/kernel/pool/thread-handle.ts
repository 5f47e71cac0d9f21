/** One thread as the pool sees it: the tasks it was handed, in order, and what became of them. */
import { extname } from 'node:path';
import { type Transferable, Worker } from 'node:worker_threads';
import {
  type Order,
  type Outcome,
  PoolClosed,
  TaskFailed,
  ThreadDied,
  type ThreadSetup,
} from './protocol.ts';

/** The same program as source or compiled. */
const program = new URL(`./thread${extname(import.meta.filename)}`, import.meta.url);

/** How much longer the first task may take, in which the thread loads its module. */
const startTimeoutMs = 30_000;

export interface Task {
  readonly name: string;
  readonly arg: unknown;
  readonly transfer: readonly Transferable[];
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export interface ThreadEvents {
  /** A task is done: the thread can take another. */
  free(thread: Thread): void;
  /** The thread is gone; `returned` are the tasks it never began. */
  gone(thread: Thread, returned: Task[], reason: Error): void;
}

/** Tasks leave little behind, and there is a thread for each core: V8's own bound would be 128 MiB for each. */
const youngMegabytes = 12;

export class Thread {
  readonly #worker: Worker;
  readonly #events: ThreadEvents;
  readonly #working = new Int32Array(new SharedArrayBuffer(4));
  readonly #tasks = new Map<number, Task>();
  #lastNumber = 0;
  /** The number of the task it was last seen working on, and since when. */
  #seen = 0;
  #since = 0;
  #gone = false;
  #reason: Error | undefined;

  constructor(module: URL, events: ThreadEvents) {
    this.#events = events;
    const setup: ThreadSetup = { module: module.href, working: this.#working };
    this.#worker = new Worker(program, {
      workerData: setup,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
    });
    this.#worker.unref();
    this.#worker.on('message', (outcome: Outcome) => this.#done(outcome));
    this.#worker.on('messageerror', (error) => this.kill(error));
    this.#worker.on('error', (error) => {
      this.#reason = error instanceof Error ? error : new Error(String(error));
    });
    this.#worker.on('exit', (code) => this.#exited(code));
  }

  get load(): number {
    return this.#tasks.size;
  }

  /** Milliseconds that a task has been running, as far as repeated calls have seen; its thread's start not counted. */
  runningFor(now: number): number {
    const working = Atomics.load(this.#working, 0);
    if (working !== this.#seen) {
      this.#seen = working;
      this.#since = now;
    }
    if (this.#tasks.size === 0 || working < 0) return 0;
    return now - this.#since - (working === 0 ? startTimeoutMs : 0);
  }

  give(task: Task): void {
    if (this.#tasks.size === 0) {
      this.#worker.ref();
      this.#since = performance.now();
    }
    this.#lastNumber += 1;
    const order: Order = { number: this.#lastNumber, task: task.name, arg: task.arg };
    try {
      this.#worker.postMessage(order, task.transfer);
      this.#tasks.set(order.number, task);
    } catch (error) {
      // The argument cannot be cloned; nothing was sent to the thread.
      if (this.#tasks.size === 0) this.#worker.unref();
      task.reject(error instanceof Error ? error : new Error(String(error)));
      queueMicrotask(() => this.#events.free(this));
    }
  }

  kill(reason: Error): void {
    this.#reason = reason;
    void this.#worker.terminate();
  }

  /** Ends the thread and waits for it; whatever it had is failed with `reason`. */
  async end(reason: Error): Promise<void> {
    this.#reason = reason;
    await this.#worker.terminate();
  }

  #done(outcome: Outcome): void {
    const task = this.#tasks.get(outcome.number);
    if (task === undefined) return;
    this.#tasks.delete(outcome.number);
    if (this.#tasks.size === 0) this.#worker.unref();
    if ('failure' in outcome) task.reject(new TaskFailed(outcome.failure));
    else task.resolve(outcome.value);
    this.#events.free(this);
  }

  #exited(code: number): void {
    if (this.#gone) return;
    this.#gone = true;
    const reason = this.#reason ?? new Error(`exit code ${code}`);
    const failure =
      reason instanceof PoolClosed
        ? reason
        : new ThreadDied(`the thread died: ${reason.message}`, { cause: reason });
    const began = Math.abs(Atomics.load(this.#working, 0));
    const returned: Task[] = [];
    for (const [number, task] of this.#tasks) {
      // Buffers that were handed over went down with the thread, so that task cannot run again.
      if (number > began && task.transfer.length === 0 && began > 0) returned.push(task);
      else task.reject(failure);
    }
    this.#tasks.clear();
    this.#events.gone(this, returned, reason);
  }
}
