/**
 * The HTTP server every surface is mounted on: Fastify with request ids, metrics, CORS, limits, one error mapper,
 * an OpenAPI document made from the route schemas, and a drain that loses no request.
 *
 * Route files get the `app` (or are given to `mount`) and add routes with typebox schemas. Query and path
 * parameters are texts as they came: nothing is coerced, so `1e3` or ` 1` never turns into a number by accident.
 */
import '../keep-heap-small.ts';
import '../keep-next-tick-fast.ts';
import { createServer } from 'node:net';
import { type FastifyError, fastify, type HookHandlerDoneFunction, LogController } from 'fastify';
import { StartupError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { traceRequests } from '../tracing/requests.ts';
import { activeTracer } from '../tracing/tracing.ts';
import { type App, mount, type Reply, type Request, type Routes } from './app.ts';
import { networks } from './client-network.ts';
import { type ConnectionLimits, Connections, InFlight } from './connections.ts';
import { type CorsOptions, createCors } from './cors.ts';
import { createErrorMapper, type ErrorBody, sendJson } from './error-mapper.ts';
import { Methods } from './methods.ts';
import { addOpenApi, type OpenApiInfo } from './openapi.ts';
import type { Handler } from './patient-server.ts';
import { type AnsweredRequest, type AnswerFirst, createRequestIds, watchRequests } from './request-watch.ts';
import { routeSchemas } from './route-schemas.ts';

export { type App, mount, type Reply, type Request, type Routes } from './app.ts';
export { sendError, sendJson } from './error-mapper.ts';
export { type Guard, mountGuarded } from './guard.ts';
export type { AnsweredRequest, AnswerFirst } from './request-watch.ts';

export interface HttpServerOptions extends ConnectionLimits, OpenApiInfo {
  /** For logs, for example `payment`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** The variable that moves the port, for the message when it is taken. */
  readonly portVariable: string;
  /** The variable that the host comes from; HOST unless given. */
  readonly hostVariable?: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Bytes of a parsed body; streaming routes take the raw request and count for themselves. */
  readonly bodyLimit?: number;
  /** False where no page but the server's own may call. */
  readonly cors?: CorsOptions | false;
  /** Default: the message itself, a JSON string (interface §7). */
  readonly errorBody?: ErrorBody;
  /** The body of a 404 for an unknown path. */
  readonly notFound?: (request: Request) => unknown;
  /** Answers what the framework refuses before it knows a route, for example a path with a broken escape. */
  readonly refusal?: (error: FastifyError, request: Request, reply: Reply) => void;
  /**
   * Asked about every request, also where no route is, before anything is done with it: what must happen first, or
   * undefined to go on at once.
   */
  readonly admit?: (request: Request) => Promise<void> | undefined;
  /**
   * Answers again what it has answered before, ahead of the framework, which costs more than such an answer. Not asked
   * where requests are traced.
   */
  readonly answerFirst?: AnswerFirst | undefined;
  /** Told of every request when it is over. */
  readonly answered?: (request: AnsweredRequest) => void;
  /** `TRUSTED_PROXIES`: of these addresses and networks `X-Forwarded-*` is believed. */
  readonly trustedProxies?: readonly string[];
  /** False where a surface must not show `/openapi.json` and `/api-docs`. */
  readonly docs?: boolean;
}

export interface HttpServer {
  readonly app: App;
  /** Known once listening. */
  readonly url: string;
  readonly port: number;
  /** Adds a set of routes under one or several prefixes; the first is the documented one. */
  mount(routes: Routes, prefixes?: readonly string[]): void;
  listen(): Promise<void>;
  drain(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const errorBody: ErrorBody = options.errorBody ?? ((_status, message) => message);
  const cors = createCors(options.cors === false ? {} : (options.cors ?? {}));
  const mapError = createErrorMapper(errorBody);
  const inFlight = new InFlight();
  const commonHeaders = (request: Request, reply: Reply): void => {
    reply.header('x-request-id', request.id);
    if (options.cors === false) return;
    reply.header('access-control-allow-origin', '*');
    if (cors.exposed !== undefined) reply.header('access-control-expose-headers', cors.exposed);
  };
  /** Pages elsewhere have no business behind a guard, which is asked about their preflights like about any request. */
  const takesOptions = (request: Request): boolean =>
    options.cors !== false && request.routeOptions.config?.guarded?.preflights !== false;
  let connections: Connections | undefined;

  const requestId = createRequestIds();
  const tracer = activeTracer();
  const answerFirst = tracer === undefined ? options.answerFirst : undefined;
  const beforeFramework = (handler: Handler): Handler => {
    if (answerFirst === undefined) return handler;
    return (request, response) => {
      const start = performance.now();
      const answer = answerFirst(request, response, requestId);
      if (answer === undefined) handler(request, response);
      else watch.answeredFirst(request, response, answer, start);
    };
  };

  const trusted = options.trustedProxies ?? [];
  networks('TRUSTED_PROXIES', trusted);
  const app: App = fastify({
    serverFactory: (handler) => {
      connections = new Connections(beforeFramework(handler), options, errorBody, inFlight, (error) =>
        options.log.error({ err: error }, 'TLS cannot be answered'),
      );
      return connections.server;
    },
    logger: false,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    bodyLimit: options.bodyLimit ?? 1024 * 1024,
    // Done by `Methods`, which leaves the length of an answer without a body alone.
    exposeHeadRoutes: false,
    trustProxy: trusted.length > 0 && [...trusted],
    routerOptions: { maxParamLength: 16 * 1024 },
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      commonHeaders(request, reply);
      (options.refusal ?? mapError)(error, request, reply);
    },
    // Refused input is answered on the connection itself; Fastify's own listener has nothing to add.
    clientErrorHandler: () => {},
    ...routeSchemas,
  });
  app.log = options.log;
  const methods = new Methods(app, errorBody, takesOptions);
  app.decorate('methods', methods);
  app.setErrorHandler(mapError);
  app.setNotFoundHandler((request, reply) => {
    reply.code(404);
    sendJson(reply, options.notFound === undefined ? errorBody(404, 'Not Found') : options.notFound(request));
  });

  const watch = watchRequests(app, inFlight, options.log, options.metrics.requests, options.answered);
  const enterSpan = tracer === undefined ? undefined : traceRequests(app, tracer, options.name);
  const goOn = (request: Request, reply: Reply, done: HookHandlerDoneFunction): void => {
    if (request.method === 'OPTIONS' && takesOptions(request) && cors.answerOptions(request, reply)) return;
    if (request.is404) {
      const allowed = methods.allowed(request);
      // Before a body is read.
      if (allowed.length > 0) return void done(methods.refusal(request, allowed));
    }
    if (enterSpan === undefined) done();
    else enterSpan(request, reply, done);
  };
  // One hook for all of it: each further one costs every request.
  app.addHook('onRequest', (request, reply, done) => {
    watch.begin(request, reply);
    commonHeaders(request, reply);
    const first = options.admit?.(request);
    if (first !== undefined) return void first.then(() => goOn(request, reply, done), done);
    goOn(request, reply, done);
  });
  if (options.docs !== false) addOpenApi(app, options);

  const server = (): Connections => {
    if (connections === undefined) throw new Error('the server is made with the app');
    return connections;
  };
  return {
    app,
    get url() {
      return `http://${urlHost(options.host)}:${this.port}`;
    },
    get port() {
      const address = server().server.address();
      return typeof address === 'object' && address !== null ? address.port : options.port;
    },
    mount: (routes, prefixes) => mount(app, routes, prefixes),
    async listen() {
      await app.ready();
      await server()
        .listen(options.portVariable, options.host, options.port)
        .catch((error: NodeJS.ErrnoException) => {
          throw listenError(error, options);
        });
      options.log.debug({ url: this.url }, 'listening');
    },
    drain: (timeoutMs) => server().drain(timeoutMs),
    async close() {
      await server().close();
      await app.close();
    },
  };
}

/**
 * Fails as `listen` would, and answers the port, for 0 one that is free. For a port that is then shared: a stranger's
 * listener would share it too, unnoticed.
 */
export async function insistOnFreePort(
  options: Pick<HttpServerOptions, 'host' | 'port' | 'portVariable'>,
): Promise<number> {
  const probe = createServer();
  return await new Promise<number>((resolve, reject) => {
    probe.once('error', (error) => reject(listenError(error, options)));
    probe.listen({ host: options.host, port: options.port, exclusive: true }, () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : options.port;
      probe.close(() => resolve(port));
    });
  });
}

/** An address that a client can call: wildcards are reached on loopback, IPv6 stands in brackets. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function listenError(
  error: NodeJS.ErrnoException,
  options: Pick<HttpServerOptions, 'host' | 'port' | 'portVariable' | 'hostVariable'>,
): Error {
  const { port, portVariable, host, hostVariable = 'HOST' } = options;
  if (error.code === 'EADDRINUSE') {
    return new StartupError(`port ${port} is taken: set ${portVariable} to another`);
  }
  if (error.code === 'EACCES') {
    return new StartupError(`port ${port} may not be opened by this user: set ${portVariable} to another`);
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new StartupError(`this machine has no address ${host}: set ${hostVariable} to another`);
  }
  return error;
}
