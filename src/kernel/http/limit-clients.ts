/**
 * Limits for routes that anybody may call without a signature and that cost more than an answer from memory: work at
 * another service, or a transaction. A route names its limit in its `config`; several routes may share one.
 */
import { HttpError } from '../errors.ts';
import type { App, Request } from './app.ts';
import { clientAddress } from './client-network.ts';
import type { RateAnswer } from './rate-limit.ts';
import { SharedRate } from './shared-rate.ts';

export interface ClientLimit {
  /** Calls that one client network may make at once. */
  readonly burst: number;
  /** Calls that it gains per minute, up to the burst; 0: the limit is off. */
  readonly perMinute: number;
  /** The body of the 429. */
  readonly refusal: unknown;
  /** Which calls count; without it all. */
  readonly counts?: (request: Request) => boolean;
  /** Calls that succeed do not count: it is for those who try in vain. */
  readonly failuresOnly?: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The name of a limit that the server of the route has (`limitClients`). */
    clientLimit?: string;
  }
}

/** For the routes of the surface that are mounted from here on. `proxies` is `TRUSTED_PROXY_COUNT`. */
export function limitClients(
  app: App,
  surface: string,
  limits: Readonly<Record<string, ClientLimit>>,
  proxies: number,
  now?: () => number,
): void {
  const rates = new Map(
    Object.entries(limits).map(([name, { burst, perMinute }]) => [
      name,
      perMinute === 0
        ? undefined
        : new SharedRate({
            name: `${surface} ${name}`,
            limit: burst,
            windowMs: (burst / perMinute) * 60_000,
            now,
          }),
    ]),
  );
  app.addHook('onRoute', (route) => {
    const name = route.config?.clientLimit;
    if (name === undefined) return;
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (limit === undefined)
      throw new Error(`${route.url} names the limit "${name}", which there is none of`);
    const rate = rates.get(name);
    if (rate === undefined) return;
    const counts = limit.counts ?? (() => true);
    const address = (request: Request) => clientAddress(request, proxies);
    route.onRequest = [
      ...[route.onRequest ?? []].flat(),
      (request, _reply, done) => {
        if (!counts(request)) return done();
        const decide = ({ allowed, resetSeconds }: RateAnswer): void =>
          done(allowed ? undefined : new HttpError(429, limit.refusal, { retryAfter: resetSeconds }));
        const answer = rate.take(address(request));
        if (answer instanceof Promise) void answer.then(decide);
        else decide(answer);
      },
    ];
    if (limit.failuresOnly !== true) return;
    route.onResponse = [
      ...[route.onResponse ?? []].flat(),
      (request, reply, done) => {
        if (reply.statusCode < 400 && counts(request)) rate.giveBack(address(request));
        done();
      },
    ];
  });
}
