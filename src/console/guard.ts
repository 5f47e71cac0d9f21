/**
 * Which requests are the page's own. A browser lets any page send requests to loopback, and the owner of a name can
 * point it here: so the host must be one of the console's, and what changes something must come from the console's own
 * page, by a header that no page of another origin can set.
 */
import type { Request } from '../kernel/http/app.ts';
import { isLoopbackHost } from '../kernel/http/loopback.ts';
import { foreignPage, unknownHost } from './errors.ts';

/** The page sends it with every request to its server. */
export const pageHeader = 'x-turnpike-console';

export interface PageGuard {
  /** For every request. */
  checkHost(request: Pick<Request, 'host' | 'hostname'>): void;
  /** For whatever changes something, and for what is not for everybody's eyes. */
  checkPage(request: Pick<Request, 'headers' | 'host' | 'protocol'>): void;
}

/** Besides loopback names those of `allowed`. */
export function createPageGuard(allowed: readonly string[]): PageGuard {
  const hosts = new Set(allowed.map((host) => host.toLowerCase()));
  return {
    checkHost({ hostname }) {
      const name = hostname.toLowerCase();
      if (!isOwnLoopbackName(name) && !hosts.has(name)) throw unknownHost();
    },
    checkPage({ headers, host, protocol }) {
      const { origin } = headers;
      const site = headers['sec-fetch-site'];
      if (headers[pageHeader] === undefined) throw foreignPage();
      if (origin !== undefined && origin !== `${protocol}://${host}`) throw foreignPage();
      if (site !== undefined && site !== 'same-origin') throw foreignPage();
    },
  };
}

/** Names below localhost are origins of stored content, never the console's. */
const isOwnLoopbackName = (name: string): boolean => isLoopbackHost(name) && !name.endsWith('.localhost');
