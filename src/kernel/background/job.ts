/** Work that repeats in the background: one run at a time, a pause after each, ended cleanly. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import { RunRecord, type RunReport } from './run-record.ts';

/** Work that goes on in the background. */
export interface Job {
  start(): void;
  /** Resolves when the current run, if any, is over. */
  stop(): Promise<void>;
  /** How it goes, one for each kind of run that it has. */
  reports(): readonly RunReport[];
}

export interface JobOptions {
  /** For logs, for example `expire approvals`. */
  readonly name: string;
  /** Pause between two runs; 0 = the job never runs. */
  readonly everyMs: number;
  /** The first run comes with the start, not a pause later. */
  readonly atOnce?: boolean;
  readonly log: Logger;
  run(): Promise<unknown>;
  onFailure?(): void;
}

export function createJob({ name, everyMs, atOnce = false, log, run, onFailure }: JobOptions): Job {
  const ending = new AbortController();
  const record = new RunRecord({ name });
  let nextAt: number | undefined;
  let running: Promise<void> | undefined;

  async function loop(): Promise<void> {
    for (let waitMs = atOnce ? 0 : everyMs; ; waitMs = everyMs) {
      nextAt = performance.now() + waitMs;
      await pause(waitMs, undefined, { signal: ending.signal });
      record.began();
      await run().then(
        () => record.ended(),
        (error: unknown) => {
          record.failed(error);
          onFailure?.();
          log.warn({ err: error, job: name }, 'a background job failed and will run again');
        },
      );
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
    reports() {
      const nextInMs = nextAt === undefined ? undefined : nextAt - performance.now();
      return [record.report({ nextInMs, off: everyMs === 0 })];
    },
  };
}
