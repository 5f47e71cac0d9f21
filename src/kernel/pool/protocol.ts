/** What the pool and its threads say to each other, and why a task did not end with its result. */
import type { Transferable } from 'node:worker_threads';

export interface ThreadSetup {
  /** The task module. */
  readonly module: string;
  /** One 32-bit cell, readable after the thread's death: the number of its task, negative once that is done. */
  readonly working: Int32Array<SharedArrayBuffer>;
}

export interface Order {
  /** Counts up per thread, from 1. */
  readonly number: number;
  readonly task: string;
  readonly arg: unknown;
}

export type Outcome =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly failure: Failure };

/** A task returns this to hand its buffers over instead of copying them. */
export class Transferred<T> {
  readonly value: T;
  readonly list: readonly Transferable[];

  constructor(value: T, list: readonly Transferable[]) {
    this.value = value;
    this.list = list;
  }
}

/** As many tasks wait as may wait. Nothing was started: try again later, or answer 503. */
export class PoolBusy extends Error {
  override readonly name = 'PoolBusy';

  constructor(waiting: number) {
    super(`the pool is busy: ${waiting} tasks are waiting`);
  }
}

export class PoolClosed extends Error {
  override readonly name = 'PoolClosed';

  constructor() {
    super('the pool is closed');
  }
}

/** The thread ended while it worked on this task; the task may have been its cause. */
export class ThreadDied extends Error {
  override readonly name = 'ThreadDied';
}

/** The task itself threw; the message is its own, the name of its error is in `errorName`. */
export class TaskFailed extends Error {
  override readonly name = 'TaskFailed';
  readonly errorName: string;
  readonly code: string | undefined;

  constructor(failure: Failure) {
    super(failure.message);
    this.errorName = failure.name;
    this.code = failure.code;
    if (failure.stack !== undefined) this.stack = failure.stack;
  }
}

/** An error as it crosses threads: structured cloning would drop the class and the extra fields. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly stack: string | undefined;
}
