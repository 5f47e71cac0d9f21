/**
 * Cross-origin reading for every page on the web: nothing here relies on cookies, so any origin may call.
 * Preflights are answered before routing, so that no route has to know of them (Fetch standard, §3.2).
 */
import type { Reply, Request } from './app.ts';

export interface CorsOptions {
  readonly methods?: readonly string[];
  /** Request headers that pages may send; without it, whatever the preflight asks for. */
  readonly allowHeaders?: readonly string[];
  /** Answer headers that pages may read; `x-request-id` joins them. Without it no such header is sent. */
  readonly exposeHeaders?: readonly string[];
}

const saneHeaderList = /^[\w!#$%&'*+.^`|~, -]{1,1024}$/;

export function createCors(options: CorsOptions) {
  const methods = (options.methods ?? ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).join(
    ', ',
  );
  const allowed = options.allowHeaders?.join(', ');
  const exposed =
    options.exposeHeaders && [...new Set(['x-request-id', ...options.exposeHeaders])].join(', ');
  return {
    exposed,
    /** Answers an OPTIONS request and says so; false when it is no preflight and a route wants it. */
    answerOptions(request: Request, reply: Reply): boolean {
      if (request.headers['access-control-request-method'] === undefined && !request.is404) return false;
      const asked = request.headers['access-control-request-headers'];
      reply.header('access-control-allow-methods', methods);
      if (allowed !== undefined) reply.header('access-control-allow-headers', allowed);
      else if (asked !== undefined && saneHeaderList.test(asked)) {
        reply.header('access-control-allow-headers', asked).header('vary', 'access-control-request-headers');
      }
      reply.header('access-control-max-age', '86400').code(204).send();
      return true;
    },
  };
}
