/** The thread of a search: instruments what the target loads, and tells what it finds. */
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { Coverage } from './coverage.ts';
import { search } from './engine.ts';
import type { Target } from './target.ts';

export interface WorkerTask {
  /** Of `targets/`. */
  readonly file: string;
  readonly target: string;
  readonly seed: number;
  readonly forMs: number;
  readonly mostRuns: number | undefined;
  readonly mostFindings: number | undefined;
  readonly corpus: readonly Uint8Array[];
  /** Count of inputs, length of the one that runs, then its bytes. */
  readonly beats: SharedArrayBuffer;
}

if (parentPort !== null) {
  const { file, target: name, seed, forMs, mostRuns, mostFindings, corpus, beats } = workerData as WorkerTask;
  const port = parentPort;
  const coverage = new Coverage();
  coverage.install(resolve(import.meta.dirname, '../../src'));
  const loaded: { readonly targets: readonly Target[] } = await import(
    pathToFileURL(join(import.meta.dirname, 'targets', file)).href
  );
  const target = loaded.targets.find((one) => one.name === name);
  if (target === undefined) throw new Error(`there is no target ${name} in ${file}`);
  const close = await target.open?.();
  const counts = new Int32Array(beats, 0, 2);
  const running = new Uint8Array(beats, 8);
  const result = await search(target, coverage, {
    seed,
    forMs,
    ...(mostRuns !== undefined && { mostRuns }),
    ...(mostFindings !== undefined && { mostFindings }),
    corpus: corpus.map((input) => Buffer.from(input)),
    found: (finding) => port.postMessage({ finding }),
    beat: (input) => {
      running.set(input.subarray(0, running.length));
      counts[1] = input.length;
      Atomics.add(counts, 0, 1);
    },
  });
  port.postMessage({ result });
  await close?.();
  process.exit();
}
