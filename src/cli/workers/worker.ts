/** The life of one worker process: it is told what to start, says when it answers, and answers the first process. */
import cluster from 'node:cluster';
import type { Host } from '../../kernel/lifecycle.ts';
import { metricsTopic, ownFigures } from '../../kernel/metrics.ts';
import { Channel } from '../../kernel/workers/channel.ts';
import { hear, heard, joinFellows } from '../../kernel/workers/fellows.ts';
import type { Address } from '../stack.ts';
import { type Begin, type FromWorker, isBegin, isStop, toAll, toOthers } from './messages.ts';

/** Longer than the first process waits for the others. */
const passedOnMs = 10_000;
const askMs = 2_000;

export interface WorkerLife {
  /** From then on this process has fellows. */
  readonly begin: Promise<Begin>;
  readonly host: Host;
  ready(addresses: readonly Address[]): void;
  /** Lets go of the first process, so that this one can end. */
  leave(): void;
}

/** Undefined in a process that nobody forked. */
export function asWorker(): WorkerLife | undefined {
  if (!cluster.isWorker) return undefined;
  const begin = Promise.withResolvers<Begin>();
  const channel = new Channel(say, heard);
  const ending = new Ending();
  hear(metricsTopic, ownFigures);
  process.on('message', (message: unknown) => {
    if (isStop(message)) return ending.begin();
    if (!isBegin(message)) return channel.take(message);
    joinFellows({
      index: message.index,
      count: message.count,
      tell: (topic, told) =>
        channel.ask(toOthers, { topic, message: told }, passedOnMs).then(
          () => {},
          () => {},
        ),
      ask: (topic, asked, timeoutMs = askMs) => channel.ask(topic, asked, timeoutMs),
      askAll: (topic, asked) =>
        channel.ask(toAll, { topic, message: asked }, passedOnMs).then(
          (answers) => (Array.isArray(answers) ? answers : []),
          () => [],
        ),
    });
    begin.resolve(message);
  });
  say({ kind: 'listening' });
  return {
    begin: begin.promise,
    host: ending,
    ready: (addresses) => say({ kind: 'ready', addresses }),
    leave() {
      channel.close();
      process.disconnect();
    },
  };
}

/**
 * This process drains once, whoever says so first: the first process, or a SIGTERM, which a supervisor may send to every
 * process of a group. Ctrl-C reaches every process of a terminal, and is for the first process alone.
 */
class Ending implements Host {
  #drain: (() => void) | undefined;
  #hasBegun = false;

  constructor() {
    process.on('SIGINT', () => {});
    process.on('SIGTERM', () => this.begin());
  }

  begin(): void {
    if (!this.#hasBegun) this.#drain?.();
    this.#hasBegun = true;
  }

  on(signal: NodeJS.Signals, listener: () => void): void {
    if (signal !== 'SIGTERM') return;
    this.#drain = listener;
    // It was said before anything was started.
    if (this.#hasBegun) setImmediate(listener);
  }

  off(_signal: NodeJS.Signals, listener: () => void): void {
    if (this.#drain === listener) this.#drain = undefined;
  }

  exit(code: number): void {
    process.exit(code);
  }
}

function say(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}
