/**
 * Every route of every server of this process, hidden ones included, as the framework is told of them: what the
 * OpenAPI documents are made of. And which of them a request was given to, however its path was spelled.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance, RouteOptions } from 'fastify';

export interface KnownRoute {
  /** Of the server, once it listens. */
  readonly port: number;
  readonly method: string;
  /** With its parameters as `:name`. */
  readonly url: string;
  /** JSON schemas by part: `params`, `querystring`, `headers`, `body`. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The product's file that added it, relative to the repository; undefined where a library did. */
  readonly file: string | undefined;
}

/** Names a request, so that what became of it can be asked. */
export const requestMark = 'x-request-mark';

interface Server {
  readonly app: FastifyInstance;
  readonly routes: Omit<KnownRoute, 'port'>[];
}

export class RouteWatch {
  readonly #servers: Server[] = [];
  readonly #matched = new Map<string, string>();
  readonly #listener = (message: unknown) => this.#watch(message);

  /** Servers made from now on are watched. */
  constructor() {
    subscribe('fastify.initialization', this.#listener);
  }

  stop(): void {
    unsubscribe('fastify.initialization', this.#listener);
  }

  routes(): KnownRoute[] {
    return this.#servers.flatMap(({ app, routes }) => {
      const address = app.server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      return routes.map((route) => ({ ...route, port }));
    });
  }

  /** The route that a marked request was given to, asked once; undefined when there was none. */
  matched(mark: string): string | undefined {
    const url = this.#matched.get(mark);
    this.#matched.delete(mark);
    return url;
  }

  #watch(message: unknown): void {
    const app = appOf(message);
    if (app === undefined) return;
    const routes: Omit<KnownRoute, 'port'>[] = [];
    this.#servers.push({ app, routes });
    app.addHook('onRoute', (route: RouteOptions) => {
      const schema = typeof route.schema === 'object' ? { ...route.schema } : {};
      const file = callingFile();
      for (const method of [route.method].flat()) routes.push({ method, url: route.url, schema, file });
    });
    app.addHook('onRequest', (request, _reply, done) => {
      const mark = request.headers[requestMark];
      const { url } = request.routeOptions;
      if (typeof mark === 'string' && url !== undefined) this.#matched.set(mark, url);
      done();
    });
  }
}

const sources = pathToFileURL(join(import.meta.dirname, '../../src/')).href;

/** What puts routes into scopes for others, and the helpers that many route files share. */
const isAround = (file: string): boolean =>
  /^src\/kernel\/http\/(server|app|methods)\.ts$|\/routes\/answers\.ts$/.test(file);

/** Who is adding a route now: the nearest caller in src that has a route of its own in mind. */
function callingFile(): string | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const frames = new Error('where').stack?.split('\n') ?? [];
  Error.stackTraceLimit = limit;
  const files = frames.flatMap((frame) => {
    const at = frame.indexOf(sources);
    return at === -1 ? [] : [`src/${frame.slice(at + sources.length).replace(/:[0-9]+:[0-9]+\)?$/, '')}`];
  });
  return files.find((file) => !isAround(file));
}

function appOf(message: unknown): FastifyInstance | undefined {
  if (typeof message !== 'object' || message === null || !('fastify' in message)) return undefined;
  return isApp(message.fastify) ? message.fastify : undefined;
}

function isApp(value: unknown): value is FastifyInstance {
  return typeof value === 'object' && value !== null && 'addHook' in value && 'server' in value;
}
