/**
 * Background work that callers wake when there is something to do, one run at a time. A request that comes during a
 * run is kept, because the run may have read its work already: another run follows. After a failure nothing runs before the
 * pause is over; what was asked for meanwhile is done then.
 */
import { RunRecord, type RunRecordOptions, type RunReport } from './run-record.ts';

/** What a timer can wait at most; it takes anything longer for no wait at all. */
const longestTimerMs = 2 ** 31 - 1;

export interface WakeableTaskOptions extends RunRecordOptions {
  /** Does all that is due. Answers after how many milliseconds to run again unasked; undefined = only when asked. */
  run(): Promise<number | undefined>;
  /** Called with the error of a run and how many failed in a row; answers the milliseconds until the next try. */
  failed(error: unknown, failures: number): number;
}

export class WakeableTask {
  readonly #options: WakeableTaskOptions;
  #timer: NodeJS.Timeout | undefined;
  /** When the next run is due, on the clock of `performance.now()`; it waits for the one that is on its way. */
  #dueAt = Number.POSITIVE_INFINITY;
  #running: Promise<void> | undefined;
  readonly #record: RunRecord;
  #stopped = true;

  constructor(options: WakeableTaskOptions) {
    this.#options = options;
    this.#record = new RunRecord(options);
  }

  /** Runs that failed in a row; 0 after one that did not. */
  get failures(): number {
    return this.#record.failures;
  }

  /** A long run should end early then. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  /** From now on it can be woken; begins with a run unless it `waits`. */
  start({ waits = false }: { readonly waits?: boolean } = {}): void {
    this.#stopped = false;
    this.#record.forgive();
    if (!waits) this.wake();
  }

  /** There is something to do: a run begins within `delayMs`, after the one that is on its way if there is one. */
  wake(delayMs = 0): void {
    const isPausing = this.#running === undefined && this.failures > 0;
    if (!this.#stopped && !isPausing) this.#due(delayMs);
  }

  /** Resolves when nothing runs and nothing is due at once. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Resolves when the current run, if any, is over; none follows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.settled();
  }

  reports(): readonly RunReport[] {
    const isDue = this.#dueAt !== Number.POSITIVE_INFINITY;
    return [this.#record.report({ nextInMs: isDue ? this.#dueAt - performance.now() : undefined })];
  }

  #due(delayMs: number): void {
    this.#dueAt = Math.min(this.#dueAt, performance.now() + delayMs);
    if (this.#running === undefined) this.#plan();
  }

  #plan(): void {
    clearTimeout(this.#timer);
    if (this.#stopped || this.#dueAt === Number.POSITIVE_INFINITY) return;
    const waitMs = this.#dueAt - performance.now();
    if (waitMs <= 0) this.#begin();
    else this.#timer = setTimeout(() => this.#begin(), Math.min(waitMs, longestTimerMs)).unref();
  }

  #begin(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    let nextMs: number | undefined;
    this.#record.began();
    try {
      nextMs = await this.#options.run();
      this.#record.ended();
    } catch (error) {
      this.#record.failed(error);
      this.#dueAt = Number.POSITIVE_INFINITY;
      nextMs = this.#options.failed(error, this.failures);
    }
    this.#running = undefined;
    this.#due(nextMs ?? Number.POSITIVE_INFINITY);
  }
}
