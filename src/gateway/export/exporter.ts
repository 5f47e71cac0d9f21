/** The export as the admin routes see it: one at a time, in the background, with its progress. */
import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../kernel/log.ts';
import { failSpanWith } from '../../kernel/tracing/span.ts';
import { traced } from '../../kernel/tracing/tracing.ts';
import type { ExportMessage, ExportWorkerData } from './worker.ts';
import type { ExportPlan, ExportProgress } from './write.ts';

export type ExportRequest = Omit<ExportPlan, 'runId' | 'share'>;

/** The record of interface §2, with its job and how far it is. */
export interface ExportStatus extends Partial<ExportRequest>, Partial<ExportProgress> {
  readonly status: 'not_started' | 'running' | 'completed' | 'errored';
  readonly jobId?: string;
  /** Up to where rows were stable when it began, if that is less than what was asked for. */
  readonly exportedToHeight?: number;
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
/** Memory of a thread; what it sorts and holds takes a fraction. */
const maxHeapMegabytes = 512;
/** Rows are short-lived and many: a small nursery is emptied often, and takes a third of the memory. */
const youngMegabytes = 12;
/** Partitions are shared out between the threads. */
const maxThreads = 4;
/** A thread that waits for a database that does not answer is ended by force after this. */
const endTimeoutMs = 10_000;

export class Exporter {
  readonly #options: ExporterOptions;
  #status: ExportStatus = { status: 'not_started' };
  #job: Job | undefined;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  get status(): ExportStatus {
    return this.#status;
  }

  get isRunning(): boolean {
    return this.#job !== undefined;
  }

  /**
   * The work goes on in the background; `ended` never rejects. `asked` is what the status shows in place of what is
   * done: the heights of a request may go beyond what is stable.
   */
  start(request: ExportRequest, asked: Partial<ExportStatus> = {}): { jobId: string; ended: Promise<void> } {
    if (this.#job !== undefined) throw new Error('an export is running');
    const jobId = randomUUID();
    const startedAt = performance.now();
    this.#status = { ...request, ...asked, status: 'running', jobId };
    const job = new Job(this.#options, request, jobId, (progress) => {
      this.#status = { ...this.#status, ...progress };
    });
    this.#job = job;
    const ended = traced(
      'export parquet',
      () => ({ 'turnpike.export.id': jobId }),
      async (span) => {
        const error = await job.ended;
        if (error !== undefined && span !== undefined) failSpanWith(span, error);
        span?.setAttributes({ 'turnpike.export.rows': this.#status.rows?.transactions });
        return error;
      },
    );
    const done = ended.then((error) => {
      const now = new Date();
      const status = error === undefined ? 'completed' : 'errored';
      this.#status = {
        ...this.#status,
        ...(error !== undefined && { error }),
        status,
        durationInSeconds: (performance.now() - startedAt) / 1000,
        endTime: now.toISOString(),
        endTimestamp: now.getTime(),
      };
      this.#job = undefined;
      const level = error === undefined ? 'info' : 'warn';
      this.#options.log[level]({ ...this.#status }, `parquet export ${status}`);
    });
    return { jobId, ended: done };
  }

  async stop(): Promise<void> {
    await this.#job?.stop();
  }
}

/** The threads of one export. It has ended when none of them runs and nothing unfinished is left. */
class Job {
  /** The reason of a failure. Never rejects. */
  readonly ended: Promise<string | undefined>;
  readonly #threads: readonly Worker[];
  readonly #gone: Promise<unknown>;
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  #fail: (reason: string) => void = () => {};

  constructor(
    options: ExporterOptions,
    request: ExportRequest,
    jobId: string,
    report: (progress: ExportProgress) => void,
  ) {
    const stamp = new Date().toISOString().replace(/[-:]|\.[0-9]+/g, '');
    const plan = { ...request, runId: `${stamp}_${jobId.slice(0, 8)}` };
    const partitions = Math.ceil((request.endHeight - request.startHeight + 1) / request.heightPartitionSize);
    const of = Math.max(1, Math.min(maxThreads, availableParallelism(), partitions));
    const progress: (ExportProgress | undefined)[] = [];
    this.#threads = Array.from({ length: of }, (_, first) =>
      makeThread(options, { ...plan, share: { first, of } }, this.#stop),
    );
    this.#gone = Promise.all(
      this.#threads.map((thread) => new Promise((resolve) => thread.on('exit', resolve))),
    );
    const work = this.#threads.map(
      (thread, index) =>
        new Promise<void>((resolve, reject) => {
          thread.on('message', (message: ExportMessage) => {
            if (message.kind === 'failed') {
              reject(new Error(message.error));
              return;
            }
            progress[index] = message.progress;
            // Those of threads that have not said anything yet count too.
            report({ ...together(progress), partitions });
            if (message.kind === 'done') resolve();
          });
          thread.on('error', reject);
          thread.on('exit', (code) => reject(new Error(`Worker stopped with exit code ${code}`)));
        }),
    );
    const stopped = new Promise<never>((_, reject) => {
      this.#fail = (reason) => reject(new Error(reason));
    });
    this.ended = Promise.race([Promise.all(work), stopped]).then(
      () => this.#end(),
      async (error: Error) => {
        await this.#end();
        removeUnfinished(request.outputDir, plan.runId);
        return error.message;
      },
    );
  }

  async stop(): Promise<void> {
    this.#fail('the gateway is stopping');
    await this.ended;
  }

  /**
   * Threads end by themselves: to terminate one while it sets up its compression ends the whole process (an assertion
   * of Node's zlib). One that waits for something does no such thing.
   */
  async #end(): Promise<undefined> {
    Atomics.store(this.#stop, 0, 1);
    const terminate = setTimeout(() => {
      for (const thread of this.#threads) void thread.terminate();
    }, endTimeoutMs);
    await this.#gone;
    clearTimeout(terminate);
  }
}

function makeThread({ databaseUrl, dataDir }: ExporterOptions, plan: ExportPlan, stop: Int32Array): Worker {
  const workerData: ExportWorkerData = { databaseUrl, dataDir, plan, stop };
  return new Worker(workerFile, {
    workerData,
    name: 'export',
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes, maxYoungGenerationSizeMb: youngMegabytes },
  });
}

/** What threads that were ended left under temporary names; it is never taken for a finished file. */
function removeUnfinished(folder: string, runId: string): void {
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (entry.name.endsWith(`_${runId}.parquet.part`))
        rmSync(join(entry.parentPath, entry.name), { force: true });
    }
  } catch {
    // The folder is gone or unreadable, which is what the export failed of; the next run of it tidies up.
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
