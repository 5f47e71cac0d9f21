/**
 * The load itself: a number of kept-alive connections, each asking again as soon as its answer is whole. Bare
 * sockets and a small reader of answers, so that the generator costs less than any server it measures.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { signItem } from '../src/wallets/data-items/signer.ts';
import { AnswerReader } from './answer-reader.ts';
import { loadSigner } from './load-wallets.ts';

export interface LoadTarget {
  /** Of one server; connections are spread over them in turn. */
  readonly urls: readonly string[];
  readonly paths: readonly string[];
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Instead of a body: each request carries a data item that was not sent before, signed by one of so many wallets. */
  readonly items: { readonly payloadBytes: number; readonly wallets: number } | undefined;
  readonly connections: number;
  readonly expect: readonly number[];
}

/** Said to this process: first the targets, then as many turns as wanted; each is answered when it is done. */
export type LoadOrder =
  | { readonly kind: 'open'; readonly targets: readonly LoadTarget[] }
  /** Makes the items of the next turn, outside of its time. */
  | { readonly kind: 'prepare'; readonly target: number }
  | { readonly kind: 'turn'; readonly target: number; readonly milliseconds: number };

/** One turn on one target. */
export interface LoadOutcome {
  readonly requests: number;
  readonly bytes: number;
  readonly seconds: number;
  /** Milliseconds of each request. */
  readonly latencies: readonly number[];
}

interface Connection {
  /** When its last answer was whole. */
  usedAt: number;
  close(): void;
}

/** Servers close what rests for longer, maybe in the moment in which it is used again. */
const longestRestMs = 30_000;

class Load {
  readonly #target: LoadTarget;
  readonly #requests: readonly Buffer[];
  readonly #expected: ReadonlySet<number>;
  readonly #fail: (error: Error) => void;
  /** Connections that are open, by their number. */
  readonly #sockets = new Map<number, Connection>();
  /** Connections without a question on the way. */
  readonly #resting = new Set<() => void>();
  #on = false;
  #asked = 0;
  #items: Buffer[] = [];
  #madeItems = 0;
  #bytes = 0;
  #latencies: number[] = [];

  constructor(target: LoadTarget, fail: (error: Error) => void) {
    this.#target = target;
    this.#requests = target.paths.map((path) => requestBytes(target, path));
    this.#expected = new Set(target.expect);
    this.#fail = fail;
  }

  /** All connections that are not open, and anew those that rested for long. */
  async open(): Promise<void> {
    const { connections } = this.#target;
    const tooOld = performance.now() - longestRestMs;
    for (const [at, connection] of this.#sockets) {
      if (connection.usedAt > tooOld) continue;
      this.#sockets.delete(at);
      connection.close();
    }
    const missing = Array.from({ length: connections }, (_, at) => at).filter((at) => !this.#sockets.has(at));
    await Promise.all(missing.map((at) => this.#connect(at)));
  }

  async #connect(at: number): Promise<void> {
    const { urls, items, method, paths } = this.#target;
    const reason = (text: string) => new Error(`${method} ${paths[0]}: ${text}`);
    const { hostname, port } = new URL(urls[at % urls.length] ?? '');
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let isClosed = false;
    const connection: Connection = {
      usedAt: performance.now(),
      close: () => {
        isClosed = true;
        this.#resting.delete(ask);
        socket.destroy();
      },
    };
    this.#sockets.set(at, connection);
    await once(socket, 'connect');
    let since = 0;
    const ask = (): void => {
      const request =
        items === undefined ? this.#requests[this.#asked++ % this.#requests.length] : this.#items.pop();
      // All that were made for this turn are sent.
      if (request === undefined) return void this.#resting.add(ask);
      since = performance.now();
      socket.write(request);
    };
    const reader = new AnswerReader((status) => {
      if (!this.#expected.has(status)) return this.#fail(reason(`status ${status}`));
      connection.usedAt = performance.now();
      this.#latencies.push(connection.usedAt - since);
      if (this.#on) ask();
      else this.#resting.add(ask);
    }, method === 'HEAD');
    socket.on('error', (error) => this.#fail(reason(error.message)));
    socket.on('close', () => {
      if (isClosed) return;
      if (!this.#resting.delete(ask)) this.#fail(reason('the server closed the connection'));
      this.#sockets.delete(at);
    });
    socket.on('data', (chunk) => {
      this.#bytes += chunk.length;
      reader.read(chunk);
    });
    this.#resting.add(ask);
  }

  /** Half as many again as were sent in the turn before. */
  async prepare(): Promise<void> {
    const { items } = this.#target;
    if (items === undefined) return;
    const wanted = Math.max(4 * this.#target.connections, Math.ceil(1.5 * this.#latencies.length));
    while (this.#items.length < wanted) {
      const signer = loadSigner(this.#madeItems++ % items.wallets);
      const data = randomBytes(items.payloadBytes);
      const body = await signItem({ data, tags: [{ name: 'Content-Type', value: 'text/plain' }] }, signer);
      this.#items.push(requestBytes(this.#target, this.#target.paths[0] ?? '/', body));
    }
  }

  /** Load until the time is over and the last answers are in. */
  async turn(milliseconds: number): Promise<LoadOutcome> {
    await this.open();
    this.#latencies = [];
    this.#bytes = 0;
    const start = performance.now();
    this.#on = true;
    const resting = [...this.#resting];
    this.#resting.clear();
    for (const ask of resting) ask();
    await sleep(milliseconds);
    this.#on = false;
    while (this.#resting.size < this.#sockets.size) await sleep(1);
    return {
      requests: this.#latencies.length,
      bytes: this.#bytes,
      seconds: (performance.now() - start) / 1000,
      latencies: this.#latencies,
    };
  }
}

function requestBytes(
  target: LoadTarget,
  path: string,
  body: Uint8Array = Buffer.from(target.body ?? ''),
): Buffer {
  const { host } = new URL(target.urls[0] ?? '');
  const length = body.length > 0 ? { 'content-length': String(body.length) } : {};
  const head = Object.entries({ host, ...length, ...target.headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return Buffer.concat([Buffer.from(`${target.method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`), body]);
}

const loads: Load[] = [];

async function obey(order: LoadOrder): Promise<LoadOutcome | 'opened' | 'prepared'> {
  if (order.kind !== 'open') {
    const load = loads[order.target];
    if (load === undefined) throw new Error(`no target ${order.target}`);
    if (order.kind === 'turn') return load.turn(order.milliseconds);
    await load.prepare();
    return 'prepared';
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
