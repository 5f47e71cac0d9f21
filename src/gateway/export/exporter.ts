/** The export as the admin routes see it: one at a time, in the background, with its progress. */
import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../kernel/log.ts';
import { failSpanWith } from '../../kernel/tracing/span.ts';
import { traced } from '../../kernel/tracing/tracing.ts';
import { checkFit, finishedEntries, openVersion, publishVersion, readDataset } from './dataset.ts';
import { writeFailure } from './folder.ts';
import { countPartitions } from './grid.ts';
import { coveredFrom } from './manifest.ts';
import type { ExportMessage, ExportWorkerData } from './worker.ts';
import { type ExportPlan, type ExportProgress, type ExportRequest, heightsOf } from './write.ts';

/** The record of interface §2, with its job and how far it is. */
export interface ExportStatus extends Partial<ExportRequest>, Partial<ExportProgress> {
  readonly status: 'not_started' | 'running' | 'completed' | 'errored' | 'cancelled';
  readonly jobId?: string;
  /** Up to where rows were stable when it began; above it nothing is exported. */
  readonly stableHeight?: number;
  /** At its end: up to where the folder holds everything from the start on; null where it holds nothing of it. */
  readonly exportedToHeight?: number | null;
  /** Whether the schedule asked for it, and not an operator. */
  readonly scheduled?: boolean;
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
  /** Partitions are shared out between so many threads at most. */
  readonly maxThreads?: number;
}

const workerFile = new URL(`./worker${extname(import.meta.filename)}`, import.meta.url);
/** Memory of a thread; what it sorts and holds takes a fraction. */
const maxHeapMegabytes = 512;
/** Rows are short-lived and many: a small nursery is emptied often, and takes a third of the memory. */
const youngMegabytes = 12;
const defaultMaxThreads = 4;
/** A thread that waits for a database that does not answer is ended by force after this. */
const endTimeoutMs = 10_000;

/** Why an export must end before it is done. */
type Ending = 'stopping' | 'cancelled';

/** The error of an export that ended with its gateway. */
export const gatewayStopping = 'the gateway is stopping';

const endingWords: Readonly<Record<Ending, string>> = {
  stopping: gatewayStopping,
  cancelled: 'it was cancelled',
};

export class Exporter {
  readonly #options: ExporterOptions;
  #status: ExportStatus = { status: 'not_started' };
  #job: Job | undefined;
  #ended: Promise<void> = Promise.resolve();

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
    const ran = traced(
      'export parquet',
      () => ({ 'turnpike.export.id': jobId }),
      async (span) => {
        const end = await job.run();
        if (end.error !== undefined && span !== undefined) failSpanWith(span, end.error);
        span?.setAttributes({ 'turnpike.export.rows': this.#status.rows?.transactions });
        return end;
      },
    );
    this.#ended = ran.then((end) => {
      const now = new Date();
      this.#status = {
        ...this.#status,
        ...end,
        durationInSeconds: (performance.now() - startedAt) / 1000,
        endTime: now.toISOString(),
        endTimestamp: now.getTime(),
      };
      this.#job = undefined;
      const level = end.status === 'errored' ? 'warn' : 'info';
      this.#options.log[level]({ ...this.#status }, `parquet export ${end.status}`);
    });
    return { jobId, ended: this.#ended };
  }

  /** Ends the export that runs, if one does; what it has finished stays. Resolves when it is over. */
  async cancel(): Promise<void> {
    this.#job?.endEarly('cancelled');
    await this.#ended;
  }

  async stop(): Promise<void> {
    this.#job?.endEarly('stopping');
    await this.#ended;
  }
}

type End = Pick<ExportStatus, 'exportedToHeight' | 'error'> & {
  readonly status: 'completed' | 'errored' | 'cancelled';
};

/** One export: what it writes becomes part of the dataset when its threads have ended, however they did. */
class Job {
  readonly #options: ExporterOptions;
  readonly #request: ExportRequest;
  readonly #runId: string;
  readonly #report: (progress: ExportProgress) => void;
  #threads: Threads | undefined;
  #ending: Ending | undefined;

  constructor(
    options: ExporterOptions,
    request: ExportRequest,
    jobId: string,
    report: (progress: ExportProgress) => void,
  ) {
    this.#options = options;
    this.#request = request;
    this.#report = report;
    const stamp = new Date().toISOString().replace(/[-:]|\.[0-9]+/g, '');
    this.#runId = `${stamp}_${jobId.slice(0, 8)}`;
  }

  endEarly(ending: Ending): void {
    this.#ending ??= ending;
    this.#threads?.fail(endingWords[this.#ending]);
  }

  /** Never rejects. */
  async run(): Promise<End> {
    try {
      const { error, exportedToHeight = null } = await this.#export();
      if (error === undefined) return { status: 'completed', exportedToHeight };
      const status = this.#ending === 'cancelled' ? 'cancelled' : 'errored';
      return { status, exportedToHeight, ...(status === 'errored' && { error }) };
    } catch (error) {
      return {
        status: 'errored',
        exportedToHeight: null,
        error: writeFailure(error, this.#request.outputDir),
      };
    }
  }

  async #export(): Promise<{ readonly error?: string; readonly exportedToHeight?: number | undefined }> {
    const request = this.#request;
    const dataset = await readDataset(request.outputDir);
    checkFit(dataset, request);
    const { startHeight } = request;
    if (request.endHeight < startHeight) return {};
    const version = await openVersion(dataset, request, this.#runId);
    const finished = await finishedEntries(version);
    // Of two entries of a partition the later counts.
    const written = [...(dataset.manifest?.partitions ?? []), ...finished].map(
      ({ to: _to, complete: _complete, rows: _rows, files: _files, ...entry }) => entry,
    );
    const { runId, grid, folder: versionFolder } = version;
    const plan = { ...request, grid, runId, versionFolder, written };
    this.#threads = new Threads(this.#options, plan, this.#report);
    if (this.#ending !== undefined) this.#threads.fail(endingWords[this.#ending]);
    const error = await this.#threads.ended;
    const manifest = await publishVersion(dataset, version);
    const exportedToHeight = manifest && coveredFrom(manifest, startHeight);
    return { exportedToHeight, ...(error !== undefined && { error }) };
  }
}

/** The threads of one export. They have ended when none of them runs. */
class Threads {
  /** The reason of a failure. Never rejects. */
  readonly ended: Promise<string | undefined>;
  readonly #threads: readonly Worker[];
  readonly #gone: Promise<unknown>;
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  #fail: (reason: string) => void = () => {};

  constructor(options: ExporterOptions, plan: ExportPlan, report: (progress: ExportProgress) => void) {
    const partitions = countPartitions(plan.grid, heightsOf(plan));
    const of = Math.max(
      1,
      Math.min(options.maxThreads ?? defaultMaxThreads, availableParallelism(), partitions),
    );
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
        return error.message;
      },
    );
  }

  fail(reason: string): void {
    this.#fail(reason);
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
