/** Threads of a simulated process: the tasks of a pool run in the process itself, each answered by an event. */
import { EventEmitter } from 'node:events';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { Worker } from 'node:worker_threads';
import * as unbundleTasks from '../../src/gateway/unbundle/tasks.ts';
import { type Order, Transferred } from '../../src/kernel/pool/protocol.ts';
import { machines } from './machine.ts';
import { currentLife, Life } from './process.ts';

/** Task modules by the end of their address. They are loaded here: to load one takes time of the machine. */
const modules: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  '/src/gateway/unbundle/tasks.ts': unbundleTasks,
};
const taskMs = 3;

class SimulatedThread extends EventEmitter {
  readonly #tasks: Readonly<Record<string, unknown>>;
  #isOver = false;

  constructor(setup: { readonly module: string }) {
    super();
    const name = Object.keys(modules).find((end) => setup.module.endsWith(end));
    if (name === undefined) throw new Error(`no simulated thread knows ${setup.module}`);
    this.#tasks = modules[name] ?? {};
  }

  postMessage({ number, task, arg }: Order): void {
    const life = currentLife();
    const run = this.#tasks[task];
    if (typeof run !== 'function') throw new TypeError(`the module has no task "${task}"`);
    life.after(taskMs, () => {
      Promise.resolve(structuredClone(arg))
        .then((given) => run(given))
        .then(
          (value: unknown) => ({ number, value: value instanceof Transferred ? value.value : value }),
          (error: unknown) => ({ number, failure: failureOf(error) }),
        )
        .then((outcome) => {
          if (!this.#isOver) this.emit('message', outcome);
        });
    });
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  async terminate(): Promise<number> {
    if (!this.#isOver) {
      this.#isOver = true;
      queueMicrotask(() => this.emit('exit', 1));
    }
    return 1;
  }
}

function failureOf(error: unknown) {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  return { name, message, code: undefined, stack };
}

const RealWorker = Worker;
const load = createRequire(import.meta.url);
load('node:worker_threads').Worker = new Proxy(RealWorker, {
  construct: (target, given, newTarget) =>
    machines.getStore() instanceof Life
      ? new SimulatedThread(given[1].workerData)
      : Reflect.construct(target, given, newTarget),
});
syncBuiltinESMExports();
