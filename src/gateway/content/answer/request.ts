/** What content answers read from a request. */
import { HttpError } from '../../../kernel/errors.ts';
import { parseRange, type Span } from '../../../kernel/http/byte-ranges.ts';
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

/** `Range` as interface §4.4 gives its form; another one is refused. */
const form = /^bytes=(?:\d+-\d*|-\d+)(?:\s*,\s*(?:\d+-\d*|-\d+))*$/i;
const noStore = { 'cache-control': 'no-store' };

export function hasRangeForm(header: string): boolean {
  return form.test(header);
}

/** The spans asked for; undefined for the whole. */
export function readRange(header: string | undefined, size: number): readonly [Span, ...Span[]] | undefined {
  if (header === undefined) return undefined;
  if (!hasRangeForm(header)) throw new HttpError(400, "Malformed 'range' header", { headers: noStore });
  const answer = parseRange(header, size);
  if (answer.kind === 'ranges') return answer.spans;
  throw new HttpError(416, 'Range not satisfiable', {
    headers: { ...noStore, 'content-range': `bytes */${size}` },
  });
}
