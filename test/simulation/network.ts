/**
 * The network between simulated processes and the outside. It stands below the one client by which the product asks others
 * (`src/outside/http.ts`): what that client's connection pool sends arrives here. A host is an origin and who answers there;
 * servers of the product become hosts when they listen.
 *
 * A link may be slow, be cut, lose what is asked or the answer to it, hold an answer for long, or bring a question twice.
 */
import { Server as HttpServer } from 'node:http';
import { Server as NetServer } from 'node:net';
import inject from 'light-my-request';
import { Agent, type Dispatcher, errors, Pool } from 'undici';
import type { SeededRandom } from '../support/seeded-random.ts';
import { machines } from './machine.ts';
import { currentLife, Life } from './process.ts';
import type { World } from './world.ts';

export interface Asked {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The name of the process that asks. */
  readonly from: string;
}

export interface Answered {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** Where the body does not come at once and whole. */
  readonly flow?: Flow;
}

/** How a body comes, to those who ask by undici. */
export interface Flow {
  /** Its length is not told. */
  readonly isUnsized?: boolean;
  /** Bytes after which it goes no further; absent: all come. */
  readonly until?: number;
  /** What happens there: nothing more, or the connection breaks. Absent: it ends, as if that were all. */
  readonly ending?: 'stall' | 'break';
  /** So many bytes at a time, with a pause in between. */
  readonly pace?: { readonly bytes: number; readonly everyMs: number };
}

/** Answers in the process that it belongs to; what it throws is a connection that breaks. */
export type Host = (asked: Asked) => Answered | Promise<Answered>;

/** How a link is at the moment; chances are from 0 to 1. */
export interface Weather {
  /** Nothing gets through. */
  cut: boolean;
  /** Milliseconds each way, at most; most are much faster. */
  slowest: number;
  /** What is asked is done, and nobody hears of it. */
  loseAnswers: number;
  /** What is asked never arrives. */
  loseQuestions: number;
  /** A question arrives twice. */
  repeat: number;
  /** An answer breaks off in its middle. */
  tear: number;
}

const fair: Weather = { cut: false, slowest: 40, loseAnswers: 0, loseQuestions: 0, repeat: 0, tear: 0 };

export class Network {
  readonly world: World;
  readonly #hosts = new Map<string, { readonly host: Host; readonly life: Life }>();
  readonly #weather = new Map<string, Weather>();
  readonly #random: SeededRandom;
  #port = 20_000;

  constructor(world: World) {
    this.world = world;
    this.#random = world.random('network');
    networks.set(world, this);
  }

  /** Who answers at an origin, as long as that life lasts. */
  host(origin: string, life: Life, host: Host): void {
    const entry = { host, life };
    this.#hosts.set(origin, entry);
    life.endings.add(() => {
      if (this.#hosts.get(origin) === entry) this.#hosts.delete(origin);
    });
  }

  remove(origin: string): void {
    this.#hosts.delete(origin);
  }

  freePort(): number {
    this.#port += 1;
    return this.#port;
  }

  /** Of the link to an origin, for everybody or for one process; to be changed as faults come and go. */
  weather(origin: string, from = ''): Weather {
    const key = `${from} ${origin}`;
    let weather = this.#weather.get(key);
    if (weather === undefined) {
      weather = { ...fair };
      this.#weather.set(key, weather);
    }
    return weather;
  }

  /** All links are as they should be again. */
  clear(): void {
    this.#weather.clear();
  }

  /** One question and its answer, as the asking life sees them: rejects where the connection breaks, or never ends. */
  async ask(life: Life, origin: string, asked: Asked): Promise<Answered> {
    const ways = [this.#weather.get(` ${origin}`), this.#weather.get(`${asked.from} ${origin}`)].filter(
      (way) => way !== undefined,
    );
    const worst = (of: Exclude<keyof Weather, 'cut'>) =>
      ways.reduce((most, way) => Math.max(most, way[of]), fair[of]);
    const happens = (chance: number) => chance > 0 && this.#random.fraction() < chance;
    const delay = () => 0.2 + worst('slowest') * this.#random.fraction() ** 3;
    if (ways.some(({ cut }) => cut)) {
      // A cut link is noticed by nobody at once: some connections are refused, most hang.
      if (this.#random.below(2) === 0) return new Promise(() => {});
      await life.wait(delay());
      throw socketError('ECONNREFUSED');
    }
    if (happens(worst('loseQuestions'))) return new Promise(() => {});
    if (happens(worst('repeat'))) void this.#deliver(origin, asked, delay() + 50).catch(() => {});
    const answered = await this.#deliver(origin, asked, delay());
    if (happens(worst('loseAnswers'))) {
      if (this.#random.below(2) === 0) return new Promise(() => {});
      await life.wait(delay());
      throw socketError('ECONNRESET');
    }
    await life.wait(delay());
    if (!happens(worst('tear'))) return answered;
    const until = Math.floor(Buffer.byteLength(answered.body ?? '') * this.#random.fraction());
    return { ...answered, flow: { ...answered.flow, until, ending: 'break' } };
  }

  /** Brings a question to its host; rejects when there is none or it dies over it. */
  #deliver(origin: string, asked: Asked, delay: number): Promise<Answered> {
    return new Promise((resolve, reject) => {
      this.world.schedule(delay, () => {
        const entry = this.#hosts.get(origin);
        if (entry === undefined) return reject(socketError('ECONNREFUSED'));
        this.world.moment();
        const { host, life } = entry;
        const died = () => reject(socketError('ECONNRESET'));
        life.endings.add(died);
        life.after(0, () => {
          Promise.resolve(asked)
            .then(host)
            .then(resolve, reject)
            .finally(() => life.endings.delete(died));
        });
      });
    });
  }
}

function socketError(code: string): Error {
  return Object.assign(new errors.SocketError(`the connection broke: ${code}`), { code });
}

const networks = new WeakMap<World, Network>();

/** That of the world in which this life is. */
export function networkOf(life: Life): Network {
  const network = networks.get(life.world);
  if (network === undefined) throw new Error('this world has no network');
  return network;
}

/** Who waits for an answer. */
interface Listener {
  begin(abort: (reason?: Error) => void): void;
  head(status: number, headers: Record<string, string>): void;
  piece(bytes: Buffer): void;
  end(): void;
  failed(error: Error): void;
}

/** As undici's own callers listen. */
interface Handler {
  onConnect(abort: (reason?: Error) => void): void;
  onHeaders(status: number, headers: Buffer[], resume: () => void, text: string): boolean;
  onData(bytes: Buffer): boolean;
  onComplete(trailers: Buffer[]): void;
  onError(error: Error): void;
}

const headerTexts = new Map<string, Buffer>();
const mostHeaderTexts = 4_096;

/** Most answers have the same headers. */
function headerBytes(text: string): Buffer {
  let bytes = headerTexts.get(text);
  if (bytes === undefined) {
    if (headerTexts.size === mostHeaderTexts) headerTexts.clear();
    bytes = Buffer.from(text);
    headerTexts.set(text, bytes);
  }
  return bytes;
}

function listenerOf(handler: Handler): Listener {
  return {
    begin: (abort) => handler.onConnect(abort),
    head(status, headers) {
      const raw = Object.entries(headers).flat();
      handler.onHeaders(status, raw.map(headerBytes), () => {}, '');
    },
    piece: (bytes) => void handler.onData(bytes),
    end: () => handler.onComplete([]),
    failed: (error) => handler.onError(error),
  };
}

/** As those listen who have a pool of their own. */
type PoolHandler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
  >
>;

function poolListenerOf(handler: PoolHandler): Listener {
  let abort: (reason?: Error) => void = () => {};
  const controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    // What is on its way arrives: the network holds nothing back for a reader.
    pause() {},
    resume() {},
    abort: (reason) => abort(reason),
  };
  return {
    begin(given) {
      abort = given;
      handler.onRequestStart(controller, {});
    },
    head: (status, headers) => handler.onResponseStart(controller, status, headers, ''),
    piece: (bytes) => handler.onResponseData(controller, bytes),
    end: () => handler.onResponseEnd(controller, {}),
    failed: (error) => handler.onResponseError(controller, error),
  };
}

/** What undici hands to a connection, as far as the product sets it. */
interface Dispatched {
  readonly origin?: string | URL;
  readonly path: string;
  readonly query?: unknown;
  readonly method: string;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly headersTimeout?: number | null;
  readonly bodyTimeout?: number | null;
}

function headersOf(given: unknown): Record<string, string> {
  if (given === undefined || given === null) return {};
  const pairs: [string, unknown][] = Array.isArray(given)
    ? Array.from({ length: given.length / 2 }, (_, index) => [String(given[2 * index]), given[2 * index + 1]])
    : Object.entries(given);
  return Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

async function bytesOf(body: unknown): Promise<Buffer> {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body);
  const parts: Buffer[] = [];
  if (!isPieces(body)) throw new TypeError('a body of an unknown kind');
  for await (const part of body) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

const origins = new Map<string, string>();

/** There are few, and each is asked again and again. */
function originOf(url: string): string {
  let origin = origins.get(url);
  if (origin === undefined) {
    origin = new URL(url).origin;
    origins.set(url, origin);
  }
  return origin;
}

const isPieces = (body: unknown): body is AsyncIterable<Uint8Array> =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body;

/** One exchange, told as a connection would tell it. */
async function exchange(life: Life, options: Dispatched, listener: Listener): Promise<void> {
  let isOver = false;
  let inTime: (() => void) | undefined;
  const end = (tell: () => void) => {
    if (isOver) return;
    isOver = true;
    inTime?.();
    tell();
  };
  const fail = (error: Error) => end(() => listener.failed(error));
  const { headersTimeout, bodyTimeout } = options;
  const limit = (milliseconds: number | null | undefined, error: () => Error) => {
    inTime?.();
    inTime = milliseconds ? life.after(milliseconds, () => fail(error())) : undefined;
  };
  listener.begin((reason) => fail(reason ?? new errors.RequestAbortedError()));
  if (isOver) return;
  limit(headersTimeout, () => new errors.HeadersTimeoutError());
  try {
    const origin = originOf(String(options.origin));
    const asked: Asked = {
      method: options.method,
      path: options.path,
      headers: headersOf(options.headers),
      body: await bytesOf(options.body),
      from: life.process.name,
    };
    const { status, headers = {}, body = '', flow = {} } = await networkOf(life).ask(life, origin, asked);
    if (isOver) return;
    inTime?.();
    const bytes = Buffer.from(body);
    listener.head(status, {
      ...(flow.isUnsized !== true && { 'content-length': String(bytes.length) }),
      ...headers,
    });
    const length = asked.method === 'HEAD' ? 0 : bytes.length;
    const until = Math.min(flow.until ?? length, length);
    const { bytes: step, everyMs } = flow.pace ?? { bytes: until, everyMs: 0 };
    for (let at = 0; at < until && !isOver; at += step) {
      if (at > 0) await life.wait(everyMs);
      if (!isOver) listener.piece(bytes.subarray(at, Math.min(until, at + step)));
    }
    const isCut = until < length;
    if (isCut && flow.ending === 'stall') limit(bodyTimeout ?? stallMs, () => new errors.BodyTimeoutError());
    else if (isCut && (flow.ending === 'break' || flow.isUnsized !== true)) fail(socketError('ECONNRESET'));
    else end(() => listener.end());
  } catch (error) {
    fail(error instanceof Error ? error : new Error(String(error)));
  }
}

/** After which undici gives up a body that does not go on. */
const stallMs = 300_000;

const realDispatch: unknown = Agent.prototype.dispatch;
Object.assign(Agent.prototype, {
  dispatch(this: Agent, options: Dispatched, handler: Handler): boolean {
    const life = machines.getStore();
    if (life instanceof Life) {
      void exchange(life, options, listenerOf(handler));
      return true;
    }
    return typeof realDispatch === 'function' && Reflect.apply(realDispatch, this, [options, handler]);
  },
});
Object.assign(Pool.prototype, {
  dispatch(this: Pool, options: Dispatched, handler: PoolHandler): boolean {
    const life = machines.getStore();
    if (life instanceof Life) {
      const { origin, headersTimeout, bodyTimeout } = poolOf(this);
      const limits = {
        headersTimeout: options.headersTimeout ?? headersTimeout,
        bodyTimeout: options.bodyTimeout ?? bodyTimeout,
      };
      void exchange(life, { ...options, ...limits, origin }, poolListenerOf(handler));
      return true;
    }
    return typeof realDispatch === 'function' && Reflect.apply(realDispatch, this, [options, handler]);
  },
});

/** What a pool was made with; undici keeps it under symbols of its own. */
function poolOf(pool: Pool) {
  const own = (name: string): unknown => {
    const key = Object.getOwnPropertySymbols(pool).find(({ description }) => description === name);
    return key === undefined ? undefined : Reflect.get(pool, key);
  };
  const options = Object(own('options'));
  const time = (name: string) => {
    const value: unknown = Reflect.get(options, name);
    return typeof value === 'number' ? value : undefined;
  };
  return {
    origin: String(own('url')),
    headersTimeout: time('headersTimeout') ?? stallMs,
    bodyTimeout: time('bodyTimeout') ?? stallMs,
  };
}

/** Servers of simulated processes listen in the simulated network. */
const places = new WeakMap<NetServer, { readonly origin: string; readonly port: number }>();
const realServer = {
  listen: NetServer.prototype.listen,
  address: NetServer.prototype.address,
  close: HttpServer.prototype.close,
};
Object.assign(NetServer.prototype, {
  listen(this: NetServer, ...given: unknown[]): NetServer {
    const life = machines.getStore();
    if (!(life instanceof Life)) return Reflect.apply(realServer.listen, this, given);
    const [options, done] = given;
    const wanted = Number(Reflect.get(Object(options), 'port'));
    const network = networkOf(life);
    const port = wanted === 0 ? network.freePort() : wanted;
    const origin = `http://127.0.0.1:${port}`;
    places.set(this, { origin, port });
    network.host(origin, life, (asked) => answerOf(this, asked));
    if (typeof done === 'function') queueMicrotask(() => done());
    return this;
  },
  address(this: NetServer): unknown {
    const place = places.get(this);
    if (place === undefined) return Reflect.apply(realServer.address, this, []);
    return { address: '127.0.0.1', family: 'IPv4', port: place.port };
  },
});
Object.assign(HttpServer.prototype, {
  close(this: HttpServer, done?: () => void): HttpServer {
    const place = places.get(this);
    if (place === undefined) return Reflect.apply(realServer.close, this, [done]);
    networkOf(currentLife()).remove(place.origin);
    places.delete(this);
    if (done !== undefined) queueMicrotask(done);
    return this;
  },
});

async function answerOf(server: NetServer, asked: Asked): Promise<Answered> {
  const pieces: Buffer[] = [];
  const serve = (request: InjectedRequest, response: object) => {
    // As the parser says of a request whose body arrived.
    request.complete = true;
    // Whatever the package keeps it also reads as text, which takes long where it is none.
    const kept: unknown = Reflect.get(Object(Reflect.get(response, '_lightMyRequest')), 'payloadChunks');
    if (!Array.isArray(kept)) throw new TypeError('light-my-request keeps bodies elsewhere');
    kept.push = (...given: Buffer[]) => pieces.push(...given);
    server.emit('request', request, response);
  };
  const answer = await inject(serve, {
    method: methodOf(asked.method),
    url: asked.path,
    headers: { ...asked.headers },
    payload: asked.body,
  });
  const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
  return { status: answer.statusCode, headers: Object.fromEntries(headers), body: Buffer.concat(pieces) };
}

interface InjectedRequest {
  complete?: boolean;
}

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'] as const;

function methodOf(name: string): (typeof methods)[number] {
  const method = methods.find((one) => one === name);
  if (method === undefined) throw new Error(`nobody sends ${name}`);
  return method;
}
