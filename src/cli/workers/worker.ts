/** The life of one worker process: it is told what to start, says when it answers, and gives its metrics. */
import cluster from 'node:cluster';
import type { Host } from '../../kernel/lifecycle.ts';
import { joinMetrics } from '../../kernel/metrics.ts';
import { type FromWorker, isToWorker, type ToWorker } from './messages.ts';

export type Begin = Extract<ToWorker, { kind: 'begin' }>;

const collectMs = 5_000;

export interface WorkerLife {
  readonly begin: Promise<Begin>;
  /** Ctrl-C reaches every process of a terminal; here only the SIGTERM that the first process sends counts. */
  readonly host: Host;
  ready(url: string): void;
  /** Lets go of the first process, so that this one can end. */
  leave(): void;
}

/** Undefined in a process that nobody forked. */
export function asWorker(): WorkerLife | undefined {
  if (!cluster.isWorker) return undefined;
  process.on('SIGINT', () => {});
  const begin = Promise.withResolvers<Begin>();
  const waiting = new Map<number, (text: string) => void>();
  let lastId = 0;
  const ownText = joinMetrics(() => {
    const id = ++lastId;
    say({ kind: 'collect', id });
    return new Promise((resolve) => {
      const done = (text: string | Promise<string>): void => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(text);
      };
      // Its own metrics are better than none.
      const timer = setTimeout(() => done(ownText()), collectMs);
      waiting.set(id, done);
    });
  });
  process.on('message', (message: unknown) => {
    if (!isToWorker(message)) return;
    if (message.kind === 'begin') begin.resolve(message);
    else if (message.kind === 'collected') waiting.get(message.id)?.(message.text);
    else void ownText().then((text) => say({ kind: 'metrics', id: message.id, text }));
  });
  return {
    begin: begin.promise,
    host: {
      on: (signal, listener) => signal === 'SIGTERM' && process.on(signal, listener),
      off: (signal, listener) => process.off(signal, listener),
      exit: (code) => process.exit(code),
    },
    ready: (url) => say({ kind: 'ready', url }),
    leave: () => process.disconnect(),
  };
}

function say(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}
