import type { Request } from '../../kernel/http/server.ts';

/**
 * Who is asking. `X-Forwarded-For` is anybody's to write, so only as many entries from its right are believed as
 * there are proxies of ours in front.
 */
export function clientAddress(request: Request, proxies: number): string {
  const forwarded = request.headers['x-forwarded-for'];
  if (proxies === 0 || forwarded === undefined) return request.ip;
  const hops = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded)
    .split(',')
    .map((hop) => hop.trim());
  return hops.at(-proxies) || request.ip;
}
