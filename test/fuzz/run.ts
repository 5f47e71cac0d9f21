/** Searches one target in a thread of its own, which is ended where an input never ends. */
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Finding, SearchResult } from './engine.ts';
import type { WorkerTask } from './worker.ts';

export interface RunOptions {
  readonly file: string;
  readonly target: string;
  readonly seed: number;
  readonly forMs: number;
  readonly mostRuns?: number;
  readonly mostFindings?: number;
  readonly corpus: readonly Buffer[];
}

export interface RunReport {
  readonly findings: readonly Finding[];
  /** Undefined where the thread was ended. */
  readonly result: SearchResult | undefined;
}

/** Long: the machine may be busy with others. What ends within it and is slow, the thread tells itself. */
const hangsAfterMs = 60_000;
const longestInput = 1024 * 1024;
const heapMegabytes = 1_024;

export async function fuzz(options: RunOptions): Promise<RunReport> {
  const beats = new SharedArrayBuffer(8 + longestInput);
  const counts = new Int32Array(beats, 0, 2);
  const running = (): Buffer => Buffer.from(new Uint8Array(beats, 8, Math.min(counts[1]!, longestInput)));
  const findings: Finding[] = [];
  let result: SearchResult | undefined;
  const task: WorkerTask = { mostRuns: undefined, mostFindings: undefined, ...options, beats };
  const worker = new Worker(resolve(import.meta.dirname, 'worker.ts'), {
    workerData: task,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
  });
  let last = 0;
  let since = performance.now();
  const watch = setInterval(() => {
    if (counts[0] !== last) [last, since] = [counts[0]!, performance.now()];
    // Before the first input there is only loading.
    if (last === 0 || result !== undefined || performance.now() - since < hangsAfterMs) return;
    clearInterval(watch);
    findings.push({ input: running(), what: `never ends (${hangsAfterMs / 1_000} s)`, kind: 'hang' });
    worker.terminate();
  }, 500);
  return new Promise((done) => {
    worker.on('message', (message: { finding?: Finding; result?: SearchResult }) => {
      if (message.finding !== undefined) findings.push(withBuffer(message.finding));
      if (message.result !== undefined) {
        result = { ...message.result, corpus: message.result.corpus.map((input) => Buffer.from(input)) };
      }
    });
    worker.on('error', (error) => {
      findings.push({ input: running(), what: `ended the thread: ${String(error)}`, kind: 'ended' });
    });
    worker.on('exit', () => {
      clearInterval(watch);
      done({ findings, result });
    });
  });
}

const withBuffer = (finding: Finding): Finding => ({ ...finding, input: Buffer.from(finding.input) });
