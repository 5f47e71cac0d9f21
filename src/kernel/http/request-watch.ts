/**
 * What happens to every request beside being answered: it gets its id and its logger, is known to be in flight, and when its
 * answer is out, or its client gone, it is counted under its route. Each step is here because it was measured: one
 * listener, no `onResponse` hook (two listeners and their removal), no `request.routeOptions` (an object of twelve
 * fields).
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from '../log.ts';
import type { RequestHistogram, RouteTimings } from '../request-histogram.ts';
import type { App, Reply, Request } from './app.ts';
import type { InFlight } from './connections.ts';

/** A client that went away before its answer was out, as nginx counts it. */
const clientClosedRequest = 499;

declare module 'fastify' {
  interface FastifyRequest {
    /** The figures of this request's route; null while the route is unknown. */
    timings: RouteTimings | null;
  }
}

/** A request whose answer is out, or whose client is gone. */
export interface AnsweredRequest {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly milliseconds: number;
}

const saneId = /^[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}$/;

/**
 * The caller's own id when it is sane, so that one id follows a request through several programs; else a random prefix
 * of this process and a counter, which is unique enough and costs nothing.
 */
export function createRequestIds(): (request: IncomingMessage) => string {
  const prefix = `${randomBytes(5).toString('hex')}-`;
  let count = 0;
  return (request) => {
    const given = request.headers['x-request-id'];
    if (typeof given === 'string' && saneId.test(given)) return given;
    count += 1;
    return `${prefix}${count}`;
  };
}

/** Answers a request without the framework; undefined where it does not. */
export type AnswerFirst = (
  request: IncomingMessage,
  response: ServerResponse,
  requestId: (request: IncomingMessage) => string,
) => FirstAnswer | undefined;

export interface FirstAnswer {
  readonly requestId: string;
  /** Of the route that would have answered. */
  readonly timings: RouteTimings | null;
}

interface Watched {
  readonly method: string;
  readonly url: string;
  readonly timings: RouteTimings | null;
}

export interface RequestWatch {
  /** Called first of all for every request that comes to the framework. */
  begin(request: Request, reply: Reply): void;
  /** Called instead where the answer was given at `start` (milliseconds) without it. */
  answeredFirst(request: IncomingMessage, response: ServerResponse, answer: FirstAnswer, start: number): void;
}

/** Called before any route is added. */
export function watchRequests(
  app: App,
  inFlight: InFlight,
  log: Logger,
  histogram: RequestHistogram,
  answered?: (request: AnsweredRequest) => void,
): RequestWatch {
  const unknown = histogram.route('unknown');
  app.decorateRequest('timings', null);

  app.addHook('onRoute', (route) => {
    const timings = histogram.route(route.url);
    const begin: NonNullable<typeof route.onRequest> = (request, _reply, done) => {
      request.timings = timings;
      done();
    };
    route.onRequest = route.onRequest === undefined ? begin : [begin, route.onRequest].flat();
  });

  const watch = (request: Watched, raw: ServerResponse, requestLog: RequestLog, start: number): void => {
    inFlight.begin();
    histogram.inFlight += 1;
    raw.on('close', () => {
      inFlight.end();
      histogram.inFlight -= 1;
      const milliseconds = performance.now() - start;
      const status = isOut(raw) ? raw.statusCode : clientClosedRequest;
      (request.timings ?? unknown).observe(request.method, status, milliseconds / 1000);
      const { method, url } = request;
      answered?.({ method, url, status, milliseconds });
      if (log.isLevelEnabled('debug')) requestLog.debug({ method, url, status, milliseconds }, 'answered');
    });
  };

  return {
    begin(request, reply) {
      const requestLog = new RequestLog(log, request.id);
      request.log = requestLog;
      reply.log = requestLog;
      watch(request, reply.raw, requestLog, performance.now());
    },
    answeredFirst({ method = '', url = '' }, response, { requestId, timings }, start) {
      watch({ method, url, timings }, response, new RequestLog(log, requestId), start);
    },
  };
}

/** Has the whole answer left? In-process requests (`inject`) have no connection that it could be stuck in. */
function isOut(raw: ServerResponse): boolean {
  return raw.writableFinished || (raw.writableEnded && !(raw.socket instanceof Socket));
}

/**
 * The logger of one request, made only when the request has something to say. Most requests log nothing, and a
 * real child logger for each would cost more than their routing.
 */
class RequestLog implements FastifyBaseLogger {
  readonly #parent: Logger;
  readonly #requestId: string;
  #made: Logger | undefined;

  constructor(parent: Logger, requestId: string) {
    this.#parent = parent;
    this.#requestId = requestId;
  }

  get level(): FastifyBaseLogger['level'] {
    return this.#parent.level;
  }

  trace(...line: unknown[]): void {
    this.#write('trace', line);
  }

  debug(...line: unknown[]): void {
    this.#write('debug', line);
  }

  info(...line: unknown[]): void {
    this.#write('info', line);
  }

  warn(...line: unknown[]): void {
    this.#write('warn', line);
  }

  error(...line: unknown[]): void {
    this.#write('error', line);
  }

  fatal(...line: unknown[]): void {
    this.#write('fatal', line);
  }

  silent(): void {}

  child(...given: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#log().child(...given);
  }

  #write(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', line: unknown[]): void {
    if (!this.#parent.isLevelEnabled(level)) return;
    const log = this.#log();
    Reflect.apply(log[level], log, line);
  }

  #log(): Logger {
    this.#made ??= this.#parent.child({ requestId: this.#requestId });
    return this.#made;
  }
}
