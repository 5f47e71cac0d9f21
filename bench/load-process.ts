/**
 * The load itself: a number of kept-alive connections, each asking again as soon as its answer is whole. Bare
 * sockets and a small reader of answers, so that the generator costs less than any server it measures.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AnswerReader } from './answer-reader.ts';

export interface LoadTarget {
  readonly url: string;
  readonly paths: readonly string[];
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly connections: number;
  readonly expect: readonly number[];
}

/** Said to this process: first the targets, then as many turns as wanted; each is answered when it is done. */
export type LoadOrder =
  | { readonly kind: 'open'; readonly targets: readonly LoadTarget[] }
  | { readonly kind: 'turn'; readonly target: number; readonly milliseconds: number };

/** One turn on one target. */
export interface LoadOutcome {
  readonly requests: number;
  readonly bytes: number;
  readonly seconds: number;
  /** Milliseconds of each request. */
  readonly latencies: readonly number[];
}

class Load {
  readonly #target: LoadTarget;
  readonly #requests: readonly Buffer[];
  readonly #expected: ReadonlySet<number>;
  readonly #fail: (error: Error) => void;
  #sockets = 0;
  /** Connections without a question on the way. */
  readonly #resting: (() => void)[] = [];
  #on = false;
  #asked = 0;
  #bytes = 0;
  #latencies: number[] = [];

  constructor(target: LoadTarget, fail: (error: Error) => void) {
    this.#target = target;
    this.#requests = target.paths.map((path) => requestBytes(target, path));
    this.#expected = new Set(target.expect);
    this.#fail = fail;
  }

  async open(): Promise<void> {
    const { hostname, port } = new URL(this.#target.url);
    const reason = (text: string) => new Error(`${this.#target.method} ${this.#target.paths[0]}: ${text}`);
    const opened = Array.from({ length: this.#target.connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      this.#sockets += 1;
      await once(socket, 'connect');
      socket.on('error', (error) => this.#fail(reason(error.message)));
      socket.on('close', () => this.#fail(reason('the server closed the connection')));
      let since = 0;
      const ask = (): void => {
        since = performance.now();
        socket.write(this.#requests[this.#asked++ % this.#requests.length] ?? '');
      };
      const reader = new AnswerReader((status) => {
        if (!this.#expected.has(status)) return this.#fail(reason(`status ${status}`));
        this.#latencies.push(performance.now() - since);
        if (this.#on) ask();
        else this.#resting.push(ask);
      }, this.#target.method === 'HEAD');
      socket.on('data', (chunk) => {
        this.#bytes += chunk.length;
        reader.read(chunk);
      });
      this.#resting.push(ask);
    });
    await Promise.all(opened);
  }

  /** Load until the time is over and the last answers are in. */
  async turn(milliseconds: number): Promise<LoadOutcome> {
    this.#latencies = [];
    this.#bytes = 0;
    const start = performance.now();
    this.#on = true;
    for (const ask of this.#resting.splice(0)) ask();
    await sleep(milliseconds);
    this.#on = false;
    while (this.#resting.length < this.#sockets) await sleep(1);
    return {
      requests: this.#latencies.length,
      bytes: this.#bytes,
      seconds: (performance.now() - start) / 1000,
      latencies: this.#latencies,
    };
  }
}

function requestBytes(target: LoadTarget, path: string): Buffer {
  const { host } = new URL(target.url);
  const body = Buffer.from(target.body ?? '');
  const length = body.length > 0 ? { 'content-length': String(body.length) } : {};
  const head = Object.entries({ host, ...length, ...target.headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return Buffer.concat([Buffer.from(`${target.method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`), body]);
}

const loads: Load[] = [];

async function obey(order: LoadOrder): Promise<LoadOutcome | 'opened'> {
  if (order.kind === 'turn') {
    const load = loads[order.target];
    if (load === undefined) throw new Error(`no target ${order.target}`);
    return load.turn(order.milliseconds);
  }
  for (const target of order.targets) {
    const load = new Load(target, fail);
    loads.push(load);
    await load.open();
  }
  return 'opened';
}

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}

process.on('message', (order: LoadOrder) => {
  obey(order).then((answer) => process.send?.(answer), fail);
});
