/** The program of one thread: takes orders one after the other and answers each. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Failure, type Order, type Outcome, type ThreadSetup, Transferred } from './protocol.ts';

const port = parentPort;
if (port === null) throw new Error('this file runs only as a thread of the pool');

const { module, working }: ThreadSetup = workerData;
const tasks: Record<string, unknown> = await import(module);
const waiting: Order[] = [];
let busy = false;

port.on('message', (order: Order) => {
  waiting.push(order);
  if (!busy) void work();
});

async function work(): Promise<void> {
  busy = true;
  for (let order = waiting.shift(); order !== undefined; order = waiting.shift()) {
    Atomics.store(working, 0, order.number);
    const outcome = await attempt(order);
    Atomics.store(working, 0, -order.number);
    answer(order.number, outcome);
  }
  busy = false;
}

async function attempt(order: Order): Promise<{ value: unknown } | { failure: Failure }> {
  try {
    const task = tasks[order.task];
    if (typeof task !== 'function') throw new TypeError(`the module has no task "${order.task}"`);
    return { value: await task(order.arg) };
  } catch (error) {
    return { failure: describe(error) };
  }
}

function answer(number: number, outcome: { value: unknown } | { failure: Failure }): void {
  try {
    if ('value' in outcome && outcome.value instanceof Transferred) {
      post({ number, value: outcome.value.value }, outcome.value.list);
    } else {
      post({ number, ...outcome });
    }
  } catch (error) {
    // The value cannot be cloned: that is the task's failure, not the thread's.
    post({ number, failure: describe(error) });
  }
}

function post(outcome: Outcome, list: Transferred<unknown>['list'] = []): void {
  port?.postMessage(outcome, list);
}

function describe(error: unknown): Failure {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), code: undefined, stack: undefined };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { name: error.name, message: error.message, code, stack: error.stack };
}
