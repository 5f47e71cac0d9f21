/** The export as the admin routes see it: one at a time, in the background, with its progress. */
import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../kernel/log.ts';
import type { ExportMessage, ExportWorkerData } from './worker.ts';
import type { ExportPlan, ExportProgress } from './write.ts';

export type ExportRequest = Omit<ExportPlan, 'runId' | 'share'>;

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
/** Memory of a thread; a row group and the library's copies of it take a fraction. */
const maxHeapMegabytes = 1_024;
/** Partitions are shared out between the threads. */
const maxThreads = 4;

export class Exporter {
  readonly #options: ExporterOptions;
  #status: ExportStatus = { status: 'not_started' };
  #job: { readonly threads: readonly Worker[] } | undefined;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  get status(): ExportStatus {
    return this.#status;
  }

  get isRunning(): boolean {
    return this.#job !== undefined;
  }

  /** Answers the job's id; the work goes on in the background. */
  start(request: ExportRequest): string {
    if (this.#job !== undefined) throw new Error('an export is running');
    const jobId = randomUUID();
    const startedAt = performance.now();
    const stamp = new Date().toISOString().replace(/[-:]|\.[0-9]+/g, '');
    const partitions = Math.ceil((request.endHeight - request.startHeight + 1) / request.heightPartitionSize);
    const of = Math.max(1, Math.min(maxThreads, availableParallelism(), partitions));
    const plan = { ...request, runId: `${stamp}_${jobId.slice(0, 8)}` };
    const progress: (ExportProgress | undefined)[] = [];
    let finished = 0;

    const end = (status: 'completed' | 'errored', more: Partial<ExportStatus>): void => {
      if (this.#job !== job) return;
      this.#job = undefined;
      void Promise.all(job.threads.map((thread) => thread.terminate())).then(() => {
        if (status === 'errored') removeUnfinished(request.outputDir, plan.runId);
      });
      const now = new Date();
      this.#status = {
        ...this.#status,
        ...more,
        status,
        durationInSeconds: (performance.now() - startedAt) / 1000,
        endTime: now.toISOString(),
        endTimestamp: now.getTime(),
      };
      const level = status === 'completed' ? 'info' : 'warn';
      this.#options.log[level]({ ...this.#status }, `parquet export ${status}`);
    };
    const threads = Array.from({ length: of }, (_, first) => {
      const thread = this.#thread({ ...plan, share: { first, of } });
      thread.on('message', (message: ExportMessage) => {
        if (this.#job !== job) return;
        if (message.kind === 'failed') return end('errored', { error: message.error });
        progress[first] = message.progress;
        this.#status = { ...this.#status, ...together(progress) };
        if (message.kind === 'done') finished += 1;
        if (finished === of) end('completed', {});
      });
      thread.on('error', (error: Error) => end('errored', { error: error.message }));
      thread.on('exit', (code) => {
        if (code !== 0) end('errored', { error: `Worker stopped with exit code ${code}` });
      });
      return thread;
    });
    const job = { threads };
    this.#job = job;
    this.#status = { ...request, status: 'running', jobId };
    return jobId;
  }

  #thread(plan: ExportPlan): Worker {
    const { databaseUrl, dataDir } = this.#options;
    const workerData: ExportWorkerData = { databaseUrl, dataDir, plan };
    return new Worker(workerFile, {
      workerData,
      name: 'export',
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes },
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#job?.threads.map((thread) => thread.terminate()) ?? []);
  }
}

/** What threads that were ended left under temporary names. */
function removeUnfinished(folder: string, runId: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.name.endsWith(`_${runId}.parquet.part`))
      rmSync(join(entry.parentPath, entry.name), { force: true });
  }
}

/** What the threads have done so far, in one. */
function together(all: readonly (ExportProgress | undefined)[]): ExportProgress {
  const sum = { partitionsDone: 0, partitions: 0, files: 0, rows: { blocks: 0, transactions: 0, tags: 0 } };
  for (const one of all) {
    if (one === undefined) continue;
    sum.partitionsDone += one.partitionsDone;
    sum.partitions += one.partitions;
    sum.files += one.files;
    sum.rows.blocks += one.rows.blocks;
    sum.rows.transactions += one.rows.transactions;
    sum.rows.tags += one.rows.tags;
  }
  return sum;
}
