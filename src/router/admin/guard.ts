/**
 * Who may use the admin page. It listens on loopback by default, where any web page the operator opens could
 * still reach it; so the host must be the page's own (no rebinding of names), requests must not come from another
 * origin, and every call carries the token in a header, which no foreign page can set.
 */
import { isIPv6 } from 'node:net';
import type { Guard, Request } from '../../kernel/http/server.ts';
import { managementError } from '../errors.ts';
import { createBearerGuard } from '../request/bearer.ts';

export interface AdminGuard extends Guard {
  /** For every request, the page's own files included; `check` asks for the token. */
  checkOrigin(request: Pick<Request, 'headers'>): void;
}

export function createAdminGuard(host: string, token: () => string): AdminGuard {
  const bearer = createBearerGuard('admin token', token);
  const own = host.toLowerCase();
  const hosts = new Set([isIPv6(own) ? `[${own}]` : own, 'localhost', '127.0.0.1', '[::1]']);
  const isOpen = host === '0.0.0.0' || host === '::';
  return {
    checkOrigin(request) {
      const authority = (request.headers.host ?? '').toLowerCase();
      const name = authority.replace(/:[0-9]+$/, '');
      // Bound to every address, it is reached by names only the operator knows; the token still stands.
      if (!isOpen && !hosts.has(name)) throw managementError(403, 'Forbidden host');
      const { origin } = request.headers;
      if (origin !== undefined && !sameOrigin(origin, authority))
        throw managementError(403, 'Forbidden origin');
      const site = request.headers['sec-fetch-site'];
      if (site !== undefined && site !== 'same-origin' && site !== 'none') {
        throw managementError(403, 'Forbidden origin');
      }
    },
    check: (request) => bearer.require(request, request.ip),
    noSuchRoute: () => managementError(404, 'Not Found'),
  };
}

function sameOrigin(origin: string, authority: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === authority;
}
