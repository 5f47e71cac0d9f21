/** The `Range` header as this surface reads it: interface §4.4 gives its form, and another one is refused. */
import { HttpError } from '../../../kernel/errors.ts';
import { parseRange, type Span } from '../../../kernel/http/byte-ranges.ts';

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
