/**
 * Methods, for every server in one place (RFC 9110 §9.3.2, §15.5.6): HEAD is answered wherever GET is, by the same route
 * with the same hooks and limits, and a path that has routes for other methods only is 405 with `Allow`. What a path
 * has is asked of the framework's own router, so that every spelling of a path counts as it does for a request.
 */
import { HttpError } from '../errors.ts';
import type { App, Request } from './app.ts';
import type { ErrorBody } from './error-mapper.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * A GET that does something, such as opening a payment: whoever only looks must not do it. HEAD is 405.
     */
    actsOnGet?: boolean;
  }
  interface FastifyInstance {
    /** What the server knows of its routes' methods. */
    readonly methods: Methods;
  }
}

const asked = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export class Methods {
  readonly #app: App;
  readonly #body: ErrorBody;
  readonly #takesOptions: (request: Request) => boolean;
  readonly #acting: RegExp[] = [];

  /** Called before any route is added. `takesOptions`: whether OPTIONS is answered for such a request. */
  constructor(app: App, body: ErrorBody, takesOptions: (request: Request) => boolean) {
    this.#app = app;
    this.#body = body;
    this.#takesOptions = takesOptions;
    const acting = this.#acting;
    app.addHook('onRoute', function (route) {
      const own = [route.method].flat();
      if (!own.includes('GET') || own.includes('HEAD')) return;
      const acts = route.config?.actsOnGet === true;
      if (acts) acting.push(patternOf(route.url));
      // A prefix is a route with and without a slash at its end; this hook is called once for both.
      const paths =
        route.routePath === '' && route.prefix !== '' ? ['', '/'] : [route.routePath ?? route.url];
      for (const path of paths) {
        const head = {
          ...route,
          method: 'HEAD',
          url: path,
          path,
          schema: { ...route.schema, hide: true },
          ...(acts && { onRequest: refuseHead }),
        };
        this.route(head);
      }
    });
    const refuseHead = async (request: Request): Promise<void> => {
      throw this.refusal(request, this.allowed(request));
    };
  }

  /**
   * The methods that the path of a request has routes for. Where a route for everything that is left answers (`/*`
   * below a guard), `named` leaves out what only matches by such a star.
   */
  allowed(request: Request, { named = false } = {}): string[] {
    const methods = asked.filter((method) => {
      const found = this.#app.findRoute({ method, url: request.url });
      return found !== null && !(named && '*' in found.params);
    });
    const [path = ''] = decoded(request.url).split('?', 1);
    const acts = this.#acting.some((pattern) => pattern.test(path));
    return acts ? methods.filter((method) => method !== 'HEAD') : methods;
  }

  /** The value of `Allow`, in a fixed order. */
  allowHeader(request: Request, allowed: readonly string[]): string {
    const methods = asked.filter((method) => allowed.includes(method));
    return [...methods, ...(this.#takesOptions(request) ? ['OPTIONS'] : [])].join(', ');
  }

  /** 405, in the server's own words. */
  refusal(request: Request, allowed: readonly string[]): HttpError {
    return new HttpError(405, this.#body(405, 'Method Not Allowed', request), {
      headers: { allow: this.allowHeader(request, allowed) },
    });
  }
}

/** A route's path as the router compares it: parameters are what stands between two slashes. */
const patternOf = (url: string): RegExp => new RegExp(`^${url.replace(/:[A-Za-z]+/g, '[^/]+')}$`);

function decoded(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}
