/**
 * Slow background work that takes a small share of the time. Work is done in short steps, one at a time in the whole
 * process; after them a pause follows that is longer the longer they took.
 *
 * A step is measured from its beginning to its end, waiting included. That is never less than the processor's time, so
 * that the share holds for a core; a busy disk or machine makes steps longer, and the work gives way to it.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Runs one step of a long piece of work, when it is its turn. */
export type Steps = <T>(step: () => Promise<T>) => Promise<T>;

export interface PaceClock {
  now(): number;
  sleep(milliseconds: number, signal: AbortSignal): Promise<unknown>;
}

const realClock: PaceClock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) => pause(milliseconds, undefined, { signal, ref: false }),
};

/** What a step costs besides: waking up for it, closing files, collecting garbage. */
const overheadMs = 0.1;
/** Short steps follow each other until so long a pause is due: waking up for each would cost more than they do. */
const shortestPauseMs = 25;
/** A machine that slept over a step does not hold the work up for days. */
const longestPauseMs = 60_000;

export class Pace {
  readonly #clock: PaceClock;
  #last: Promise<void> = Promise.resolve();
  #freeAt = 0;

  constructor(clock: PaceClock = realClock) {
    this.#clock = clock;
  }

  /** Steps that together take at most `share` of the time, as do all others of this pace; rejected once `signal` is. */
  steps(share: number, signal: AbortSignal): Steps {
    return async (step) => {
      const before = this.#last;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#last = promise;
      try {
        await before;
        const waitMs = this.#freeAt - this.#clock.now();
        if (waitMs > shortestPauseMs) await this.#clock.sleep(waitMs, signal);
        signal.throwIfAborted();
        return await this.#run(share, step);
      } finally {
        resolve();
      }
    };
  }

  async #run<T>(share: number, step: () => Promise<T>): Promise<T> {
    const begun = this.#clock.now();
    try {
      return await step();
    } finally {
      const ended = this.#clock.now();
      const due = Math.max(this.#freeAt, begun) + (ended - begun + overheadMs) / share;
      this.#freeAt = Math.min(due, ended + longestPauseMs);
    }
  }
}

/** Of everything in this process that may only take a small share. */
export const processPace = new Pace();
