/** `Range` on index files: one range is served; what is no byte range at all is refused (interface §4.4). */
import { parseRange, type Span } from '../../../kernel/http/byte-ranges.ts';
import { malformedRange, unsatisfiableRange } from '../errors.ts';

const one = /^(?:(\d+)-(\d*)|-(\d+))$/;
const maxHeader = 1024;

/** The span to send, or undefined for the whole file. */
export function spanOf(header: string | undefined, size: number): Span | undefined {
  if (header === undefined || size === 0) return undefined;
  const [unit = '', set] = split(header);
  if (unit.toLowerCase() !== 'bytes') return undefined;
  if (set === undefined || header.length > maxHeader) throw malformedRange();
  for (const part of set.split(',')) {
    const [, first, last] = one.exec(part.trim()) ?? [];
    if (!one.test(part.trim())) throw malformedRange();
    if (first !== undefined && last !== undefined && last !== '' && BigInt(last) < BigInt(first))
      throw malformedRange();
  }
  const answer = parseRange(header.replace(/\s+/g, ''), size);
  if (answer.kind === 'unsatisfiable') throw unsatisfiableRange(size);
  return answer.kind === 'whole' ? undefined : merged(answer.spans);
}

function split(header: string): [string, string | undefined] {
  const at = header.indexOf('=');
  return at === -1 ? [header.trim(), undefined] : [header.slice(0, at).trim(), header.slice(at + 1)];
}

/** Ranges that touch are one; if several remain the whole file is sent. */
function merged(spans: readonly Span[]): Span | undefined {
  const sorted = spans.toSorted((a, b) => a.start - b.start);
  let [span] = sorted;
  for (const next of sorted.slice(1)) {
    if (span === undefined || next.start > span.end) return undefined;
    span = { start: span.start, end: Math.max(span.end, next.end) };
  }
  return span;
}
