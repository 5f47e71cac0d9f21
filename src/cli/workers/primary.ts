/**
 * One surface in several processes behind one port. The first process makes keys and migrations before the others
 * start; one that dies is replaced; a signal drains all of them. The local network, where it is needed, runs here.
 */
import cluster, { type Worker } from 'node:cluster';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { StartupError } from '../../kernel/errors.ts';
import { insistOnFreePort } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { mergeMetrics } from '../../kernel/merged-metrics.ts';
import type { Surface } from '../../kernel/part.ts';
import { isFromWorker, type ToWorker } from './messages.ts';

/** A worker that dies sooner than this after it was ready, or before, counts as failing. */
const soundMs = 10_000;
const restarts = { firstMs: 1_000, longestMs: 30_000 };
const metricsMs = 2_000;

export interface WorkersOptions {
  readonly surface: string;
  readonly count: number;
  readonly host: string;
  readonly port: number;
  /** The variable that moves the port, for the message when it is taken. */
  readonly portVariable: string;
  /** Where the parts of the local network listen; asked when a worker starts. */
  readonly local: () => ReadonlyMap<string, string>;
  readonly log: Logger;
}

interface Launched {
  readonly worker: Worker;
  /** Its exit code; undefined where a signal ended it. */
  readonly ended: Promise<number | undefined>;
}

export class Workers implements Surface {
  readonly name: string;
  url = '';
  readonly #options: WorkersOptions;
  readonly #workers = new Map<number, Launched>();
  /** Workers that failed one after the other. */
  #failures = 0;
  #stopping = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.name = options.surface;
  }

  async start(): Promise<void> {
    const { count, host, port, portVariable } = this.#options;
    if (port !== 0) await insistOnFreePort({ host, port, portVariable });
    this.url = await this.#launch(0);
    await Promise.all(Array.from({ length: count - 1 }, (_, index) => this.#launch(index + 1)));
  }

  /** Each worker drains for itself, within the same time. */
  async drain(): Promise<boolean> {
    this.#stopping = true;
    const running = [...this.#workers.values()];
    for (const { worker } of running) worker.process.kill('SIGTERM');
    const codes = await Promise.all(running.map(({ ended }) => ended));
    return codes.every((code) => code === 0);
  }

  async stop(): Promise<void> {
    await this.drain();
  }

  /** Resolves with the address when the worker answers. */
  #launch(index: number): Promise<string> {
    const worker = cluster.fork();
    let readyAt: number | undefined;
    const ready = Promise.withResolvers<string>();
    const ended = new Promise<number | undefined>((resolve) => {
      worker.once('exit', (code, signal) => {
        this.#workers.delete(index);
        ready.reject(new StartupError(`worker ${index} of ${this.name} did not start`));
        if (!this.#stopping && readyAt !== undefined) this.#replace(index, readyAt, signal ?? code);
        resolve(code ?? undefined);
      });
    });
    this.#workers.set(index, { worker, ended });
    worker.on('message', (message: unknown) => {
      if (!isFromWorker(message)) return;
      if (message.kind === 'ready') {
        readyAt = Date.now();
        ready.resolve(message.url);
      } else if (message.kind === 'collect') {
        void this.#collect().then((text) => tell(worker, { kind: 'collected', id: message.id, text }));
      }
    });
    const { count, surface, local } = this.#options;
    const port = this.url === '' ? undefined : Number(new URL(this.url).port);
    tell(worker, { kind: 'begin', index, count, surface, port, local: [...local()] });
    return ready.promise;
  }

  #replace(index: number, readyAt: number, reason: string | number): void {
    this.#failures = Date.now() - readyAt < soundMs ? this.#failures + 1 : 0;
    const pauseMs = this.#failures === 0 ? 0 : backoffMs(restarts, this.#failures);
    this.#options.log.error({ worker: index, reason, pauseMs }, 'a worker died and is replaced');
    setTimeout(() => {
      if (this.#stopping) return;
      this.#launch(index).catch((error: unknown) => {
        if (!this.#stopping) this.#replace(index, Date.now(), String(error));
      });
    }, pauseMs).unref();
  }

  /** The metrics of all workers; one that does not answer in time is left out. */
  async #collect(): Promise<string> {
    const texts = await Promise.all(
      [...this.#workers].map(async ([index, { worker }]) => [index, await figuresOf(worker)] as const),
    );
    return mergeMetrics(texts.filter((entry): entry is readonly [number, string] => entry[1] !== undefined));
  }
}

let lastId = 0;

function figuresOf(worker: Worker): Promise<string | undefined> {
  const id = ++lastId;
  return new Promise((resolve) => {
    const done = (text: string | undefined): void => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      resolve(text);
    };
    const onMessage = (message: unknown): void => {
      if (isFromWorker(message) && message.kind === 'metrics' && message.id === id) done(message.text);
    };
    const timer = setTimeout(() => done(undefined), metricsMs);
    worker.on('message', onMessage);
    tell(worker, { kind: 'metrics', id });
  });
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}
