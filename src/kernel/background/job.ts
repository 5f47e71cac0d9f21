/** Work that repeats in the background: one run at a time, a pause after each, ended cleanly. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../log.ts';

/** Work that goes on in the background. */
export interface Job {
  start(): void;
  /** Resolves when the current run, if any, is over. */
  stop(): Promise<void>;
}

export interface JobOptions {
  /** For logs, for example `expire approvals`. */
  readonly name: string;
  /** Pause between two runs; 0 = the job never runs. */
  readonly everyMs: number;
  readonly log: Logger;
  run(): Promise<unknown>;
  onFailure?(): void;
}

export function createJob({ name, everyMs, log, run, onFailure }: JobOptions): Job {
  const ending = new AbortController();
  let running: Promise<void> | undefined;

  async function loop(): Promise<void> {
    for (;;) {
      await pause(everyMs, undefined, { signal: ending.signal });
      await run().catch((error: unknown) => {
        onFailure?.();
        log.warn({ err: error, job: name }, 'a background job failed and will run again');
      });
    }
  }

  return {
    start() {
      if (everyMs === 0) return;
      running ??= loop().catch((error: unknown) => {
        if (!ending.signal.aborted) throw error;
      });
    },
    async stop() {
      ending.abort();
      await running;
    },
  };
}
