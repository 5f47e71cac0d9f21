/** What content answers read from a request. */
import type { Request } from '../../../kernel/http/server.ts';
import type { Journey } from '../sources/source.ts';

export function header(request: Request, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

const maxVia = 16;

/** Through which gateways the request came, so that none is asked twice. */
export function journeyOf(request: Request): Journey {
  const hops = header(request, 'x-ar-io-hops');
  const via = header(request, 'x-ar-io-via')?.slice(0, 4_096) ?? '';
  return {
    hops: hops !== undefined && /^[0-9]{1,3}$/.test(hops) ? Number(hops) : 0,
    via: via
      .split(',')
      .map((one) => one.trim().toLowerCase())
      .filter((one) => one !== '')
      .slice(0, maxVia),
  };
}
