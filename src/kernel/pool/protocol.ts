/** What the pool and its threads say to each other. */
import type { Transferable } from 'node:worker_threads';
import type { Failure } from './errors.ts';

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
