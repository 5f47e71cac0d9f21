/**
 * Everything that is not management: content on every host, chain reads and the router's own page on the root
 * host. Hosts below the root belong to a name or an id with all their paths, so they are answered before any
 * route is looked at.
 */
import type { Config } from '../../config/config.ts';
import { clientAddress } from '../../kernel/http/client-network.ts';
import { namesOneHost } from '../../kernel/http/one-host.ts';
import { greet } from '../../kernel/http/page/greeting.ts';
import { pagePolicy } from '../../kernel/http/page/page.ts';
import type { RateAnswer } from '../../kernel/http/rate-limit.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { SharedRate } from '../../kernel/http/shared-rate.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Serve } from '../content/serve.ts';
import {
  badRequest,
  methodNotAllowed,
  notFound,
  overloaded,
  pathOf,
  rateLimited,
  shuttingDown,
} from '../errors.ts';
import type { RouterMetrics } from '../metrics.ts';
import { errorPage } from '../request/error-page.ts';
import { type Host, hostParser } from '../request/host.ts';
import type { ChainProxy } from './chain.ts';
import { type Reached, type RouterInfo, routerGreeting } from './info.ts';

export interface ContentRoutesDeps {
  readonly config: Config;
  readonly baseDomain: string;
  readonly registry: Metrics;
  readonly metrics: RouterMetrics;
  readonly serve: Serve;
  readonly chain: ChainProxy;
  readonly info: (reached: Reached) => RouterInfo;
  readonly isDraining: () => boolean;
  readonly log: Logger;
}

/** Answers the check that counts a request of whoever asks for anything that is passed on. */
export function contentRoutes(
  app: App,
  deps: ContentRoutesDeps,
): (request: Request, reply: Reply) => void | Promise<void> {
  const { config, baseDomain, metrics, serve, chain, log } = deps;
  const parseHost = hostParser({ baseDomain, allowUnknownHosts: config.ALLOW_UNKNOWN_HOSTS });
  const limit = config.RATE_LIMIT_ENABLED
    ? new SharedRate({
        name: 'router requests',
        limit: config.RATE_LIMIT_MAX_REQUESTS,
        windowMs: config.RATE_LIMIT_WINDOW_MS,
      })
    : undefined;
  const timings = deps.registry.requests.route('content');
  // Below the router's own prefixes there is no content, whatever is at the root.
  const prefixes = ['router', 'gw', ...config.ROUTER_ALIAS_PREFIXES, ...config.GW_ALIAS_PREFIXES];
  const ownPaths = new RegExp(
    `^/(?:${prefixes.map((one) => one.replace(/[^a-z0-9_-]/gi, '\\$&')).join('|')})(?:[/?]|$)`,
    'i',
  );
  let inFlight = 0;
  metrics.shareGauge('router_http_in_flight', 'Content requests in flight', () => inFlight);

  app.addHook('onRequest', (request, reply, done) => {
    if (!namesOneHost(request.raw)) {
      done(badRequest('A request names one host'));
      return;
    }
    const host = parseHost(request.headers.host);
    // Probes and scrapers inside a network call the router by a name of their own; content has hosts, these have not.
    if (host.kind === 'root' || (host.kind === 'unknown' && ownPaths.test(request.url))) {
      done();
      return;
    }
    request.timings = timings;
    answer(request, reply, host, done);
  });

  // Content leaves another way: what comes by here is a refusal, or the router's own.
  app.addHook('onSend', (request, reply, payload, done) => {
    const isContent = request.timings === timings || request.routeOptions.url === '/*';
    if (reply.statusCode < 400 || !isContent) return done(null, payload);
    reply.header('vary', 'Accept');
    const page = errorPage(request, reply, payload);
    if (page === undefined) return done(null, payload);
    reply.headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': pagePolicy,
      'x-content-type-options': 'nosniff',
    });
    done(null, page);
  });

  app.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/*',
    schema: { summary: 'Content by id, name or at the root host', hide: true },
    // Bodies are for nobody here.
    bodyLimit: 1,
    onRequest: (request, reply, done) => answer(request, reply, parseHost(request.headers.host), done),
    handler: (_request, reply) => reply,
  });

  return (request, reply) => (limit === undefined ? undefined : countRequest(limit, request, reply));

  /** `done` is for what could not be answered. */
  function answer(request: Request, reply: Reply, host: Host, done: (error?: Error) => void): void {
    try {
      if (request.method === 'OPTIONS') {
        reply.code(204).header('allow', 'GET, HEAD, OPTIONS').send();
        return;
      }
      const counting = admit(request, reply, host);
      if (counting === undefined) answerAdmitted(request, reply, host, done);
      else {
        counting.then(
          () => answerAdmitted(request, reply, host, done),
          (error: unknown) => done(asError(error)),
        );
      }
    } catch (error) {
      done(asError(error));
    }
  }

  function answerAdmitted(request: Request, reply: Reply, host: Host, done: (error?: Error) => void): void {
    try {
      if (serve.serveReady(request, reply)) return;
      enter(reply);
    } catch (error) {
      done(asError(error));
      return;
    }
    serveLong(request, reply, host).catch((error: unknown) => {
      // A reader that left is told nothing, and its leaving is no failure of ours.
      if (reply.raw.destroyed) return;
      if (reply.sent) cut(reply, error);
      else done(asError(error));
    });
  }

  /** Throws, or rejects, where the request is refused whatever it asks for. */
  function admit(request: Request, reply: Reply, host: Host): Promise<void> | undefined {
    if (deps.isDraining()) throw shuttingDown();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const other = host.kind === 'root' ? app.methods.allowed(request, { named: true }) : [];
      throw methodNotAllowed(app.methods.allowHeader(request, ['GET', 'HEAD', ...other]));
    }
    if (host.kind === 'root' && ownPaths.test(request.url)) throw notFound(pathOf(request.url));
    return limit === undefined ? undefined : countRequest(limit, request, reply);
  }

  /** What takes time is counted while it does, and refused where there is too much of it. */
  function enter(reply: Reply): void {
    if (inFlight >= config.MAX_CONCURRENT_REQUESTS) {
      metrics.shed('in-flight');
      throw overloaded();
    }
    inFlight += 1;
    reply.raw.on('close', leave);
  }

  function leave(): void {
    inFlight -= 1;
  }

  async function serveLong(request: Request, reply: Reply, host: Host): Promise<void> {
    const own = await serve.serve(request, reply, host);
    if (own?.kind === 'chain') await chain.read(request, reply, own);
    else if (own?.kind === 'self') {
      if (!greet(request, reply, () => routerGreeting(deps.info(request)))) {
        await reply.header('cache-control', 'no-store').send(deps.info(request));
      }
    } else if (own !== undefined) throw notFound(pathOf(request.url));
  }

  function countRequest(rate: SharedRate, request: Request, reply: Reply): Promise<void> | undefined {
    const answer = rate.take(clientAddress(request, config.TRUSTED_PROXY_COUNT));
    if (answer instanceof Promise) return answer.then((later) => obey(rate, later, reply));
    obey(rate, answer, reply);
    return undefined;
  }

  function obey(rate: SharedRate, { allowed, remaining, resetSeconds }: RateAnswer, reply: Reply): void {
    reply
      .header('x-ratelimit-limit', String(rate.limit))
      .header('x-ratelimit-remaining', String(remaining))
      .header('x-ratelimit-reset', String(Math.ceil(Date.now() / 1_000) + resetSeconds));
    if (allowed) return;
    metrics.limited.add();
    throw rateLimited(resetSeconds);
  }

  /** The head is out, so that the only way to say that the body is wrong is not to finish it. */
  function cut(reply: Reply, error: unknown): void {
    log.warn({ err: error, url: reply.request.url }, 'an answer was cut off');
    reply.raw.destroy();
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
