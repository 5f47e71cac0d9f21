/** Samples figures for the charts from when a page first listens until an hour after the last one left. */
import type { Job } from '../../kernel/background/job.ts';
import { createJob } from '../../kernel/background/job.ts';
import type { Logger } from '../../kernel/log.ts';
import { type AllFigures, type ChartStore, sampleMs } from './charts.ts';

const goOnMs = 3_600_000;

export class Sampler {
  readonly job: Job;
  #until = 0;

  constructor(store: ChartStore, read: () => Promise<AllFigures>, log: Logger) {
    this.job = createJob({
      name: 'sample the figures of the surfaces',
      everyMs: sampleMs,
      log,
      run: async () => {
        if (performance.now() > this.#until) return;
        store.add(Date.now(), await read());
      },
    });
  }

  /** Somebody looks. */
  wake(): void {
    this.#until = performance.now() + goOnMs;
  }
}
