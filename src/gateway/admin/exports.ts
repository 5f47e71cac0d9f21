/**
 * Exports as operators and the schedule ask for them: one at a time in all processes, up to what is stable, into
 * folders below the configured one.
 */
import type { Metrics } from '../../kernel/metrics.ts';
import { checkFit, readDataset } from '../export/dataset.ts';
import type { Exporter, ExportStatus } from '../export/exporter.ts';
import { resolveOutput } from '../export/folder.ts';
import type { ExportRequest } from '../export/write.ts';
import type { JobStatus, SharedJob } from './shared-job.ts';

export interface ExportsOptions {
  readonly exporter: Pick<Exporter, 'start' | 'cancel' | 'stop' | 'status' | 'isRunning'>;
  readonly job: SharedJob;
  /** Every export lies in it. */
  readonly folder: string;
  /** Rows above it may still move. */
  readonly stableHeight: () => number;
  readonly metrics: Metrics;
}

export interface StartedExport {
  readonly jobId: string;
  readonly stableHeight: number;
}

export class Exports {
  readonly #options: ExportsOptions;
  readonly #outcomes;
  readonly #lastSuccess;
  readonly #height;
  #following: Promise<void> = Promise.resolve();

  constructor(options: ExportsOptions) {
    this.#options = options;
    const { metrics, exporter } = options;
    this.#outcomes = metrics.counter('parquet_exports_total', 'Parquet exports that ended', ['outcome']);
    this.#lastSuccess = metrics.gauge(
      'parquet_export_last_success_timestamp_seconds',
      'When the last Parquet export of this process was completed',
    );
    this.#height = metrics.gauge(
      'parquet_export_height',
      'Height up to which the last Parquet export of this process holds everything',
    );
    metrics.gauge('parquet_export_running', 'Whether this process is exporting', [], () =>
      exporter.isRunning ? 1 : 0,
    );
  }

  /**
   * Undefined where one is running already. Throws `ExportFolderError` or `DatasetConflict` where the folder does not
   * do, before anything is written. `onEnd` comes before others hear of the end.
   */
  async start(
    asked: ExportRequest,
    {
      scheduled = false,
      onEnd,
    }: { scheduled?: boolean; onEnd?: (status: ExportStatus) => Promise<void> } = {},
  ): Promise<StartedExport | undefined> {
    const { exporter, job, folder } = this.#options;
    const stableHeight = this.#options.stableHeight();
    const request = {
      ...asked,
      outputDir: resolveOutput(folder, asked.outputDir),
      endHeight: Math.min(asked.endHeight, Math.max(asked.startHeight - 1, stableHeight)),
    };
    // While one writes, what a folder holds cannot be told.
    if ((await job.status()).status === 'running') return undefined;
    checkFit(await readDataset(request.outputDir), request);
    if (!(await job.claim())) return undefined;
    const shown = { endHeight: asked.endHeight, stableHeight, ...(scheduled && { scheduled }) };
    const { jobId, ended } = exporter.start(request, shown);
    const over = ended.then(async () => {
      this.#count(exporter.status);
      await onEnd?.(exporter.status);
    });
    const isKnown = job.follow(
      () => exporter.status,
      over,
      () => void exporter.cancel(),
    );
    this.#following = isKnown;
    return { jobId, stableHeight };
  }

  /** Ends the one that runs here; everybody knows when the promise resolves. */
  async stop(): Promise<void> {
    await this.#options.exporter.stop();
    await this.#following;
  }

  /** False where none is running. */
  cancel(): Promise<boolean> {
    return this.#options.job.cancel();
  }

  status(): Promise<JobStatus> {
    return this.#options.job.status();
  }

  #count({ status, exportedToHeight }: ExportStatus): void {
    this.#outcomes.inc({ outcome: status });
    if (status !== 'completed') return;
    this.#lastSuccess.set(Date.now() / 1000);
    if (typeof exportedToHeight === 'number') this.#height.set(exportedToHeight);
  }
}
