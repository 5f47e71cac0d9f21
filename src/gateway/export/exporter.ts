/** The export as the admin routes see it: one at a time, in the background, with its progress. */
import { randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../kernel/log.ts';
import type { ExportMessage, ExportWorkerData } from './worker.ts';
import type { ExportPlan, ExportProgress } from './write.ts';

export type ExportRequest = Omit<ExportPlan, 'runId'>;

/** The record of interface §2, with its job and how far it is. */
export interface ExportStatus extends Partial<ExportRequest>, Partial<ExportProgress> {
  readonly status: 'not_started' | 'running' | 'completed' | 'errored';
  readonly jobId?: string;
  readonly durationInSeconds?: number;
  readonly endTime?: string;
  /** Unix milliseconds. */
  readonly endTimestamp?: number;
  readonly error?: string;
}

export interface ExporterOptions {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly log: Logger;
}

const workerFile = new URL(`./worker${extname(import.meta.filename)}`, import.meta.url);
/** Memory of the thread; a row group and the library's copies of it take a fraction. */
const maxHeapMegabytes = 1_024;

export class Exporter {
  readonly #options: ExporterOptions;
  #status: ExportStatus = { status: 'not_started' };
  #worker: Worker | undefined;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  get status(): ExportStatus {
    return this.#status;
  }

  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  /** Answers the job's id; the work goes on in the background. */
  start(request: ExportRequest): string {
    if (this.#worker !== undefined) throw new Error('an export is running');
    const jobId = randomUUID();
    const startedAt = performance.now();
    const stamp = new Date().toISOString().replace(/[-:]|\.[0-9]+/g, '');
    const { databaseUrl, dataDir, log } = this.#options;
    const workerData: ExportWorkerData = {
      databaseUrl,
      dataDir,
      plan: { ...request, runId: `${stamp}_${jobId.slice(0, 8)}` },
    };
    this.#status = { ...request, status: 'running', jobId };
    const worker = new Worker(workerFile, {
      workerData,
      name: 'export',
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes },
    });
    this.#worker = worker;
    const end = (status: 'completed' | 'errored', more: Partial<ExportStatus>): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      const now = new Date();
      this.#status = {
        ...this.#status,
        ...more,
        status,
        durationInSeconds: (performance.now() - startedAt) / 1000,
        endTime: now.toISOString(),
        endTimestamp: now.getTime(),
      };
      log[status === 'completed' ? 'info' : 'warn']({ ...this.#status }, `parquet export ${status}`);
    };
    worker.on('message', (message: ExportMessage) => {
      if (message.kind === 'failed') end('errored', { error: message.error });
      else if (message.kind === 'done') end('completed', message.progress);
      else this.#status = { ...this.#status, ...message.progress };
    });
    worker.on('error', (error: Error) => end('errored', { error: error.message }));
    worker.on('exit', (code) => end('errored', { error: `Worker stopped with exit code ${code}` }));
    return jobId;
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }
}
