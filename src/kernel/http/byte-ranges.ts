/**
 * `Range` and `If-Range` (RFC 9110 §14, §13.1.5), for every surface that serves bytes.
 *
 * A header that is not a byte-range set is ignored, as the standard says; one that is and that nothing of the
 * content satisfies is 416. Many small or overlapping ranges are an attack on the server, not a wish of a
 * reader: beyond the limits the whole content is sent.
 */

/** Bytes `start` (inclusive) to `end` (exclusive). */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type RangeAnswer =
  | { readonly kind: 'whole' }
  | { readonly kind: 'ranges'; readonly spans: readonly [Span, ...Span[]] }
  | { readonly kind: 'unsatisfiable' };

/** More ranges than this in one request are answered with the whole content. */
export const MAX_RANGES = 16;
const headerLimit = 1024;
const whole: RangeAnswer = { kind: 'whole' };
const rangeSet = /^bytes=\s*((?:\d*-\d*\s*,\s*)*\d*-\d*)\s*$/i;

/** What a request for these ranges of `size` bytes is answered with. */
export function parseRange(header: string | undefined, size: number): RangeAnswer {
  if (header === undefined || header.length > headerLimit) return whole;
  const set = rangeSet.exec(header)?.[1];
  if (set === undefined) return whole;
  const parts = set.split(',');
  if (parts.length > MAX_RANGES) return whole;
  const spans: Span[] = [];
  for (const part of parts) {
    const span = parseSpan(part.trim(), size);
    if (span === 'malformed') return whole;
    if (span !== undefined) spans.push(span);
  }
  const [first, ...rest] = spans;
  if (first === undefined) return { kind: 'unsatisfiable' };
  if (rest.length > 0 && overlaps(spans)) return whole;
  return { kind: 'ranges', spans: [first, ...rest] };
}

/** undefined: well formed, but outside of the content. */
function parseSpan(part: string, size: number): Span | undefined | 'malformed' {
  const [from = '', to = ''] = part.split('-');
  if (from === '' && to === '') return 'malformed';
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? undefined : { start: size - length, end: size };
  }
  const start = Number(from);
  const last = to === '' ? Number.POSITIVE_INFINITY : Number(to);
  if (last < start) return 'malformed';
  return start >= size ? undefined : { start, end: Math.min(last + 1, size) };
}

function overlaps(spans: readonly Span[]): boolean {
  const sorted = spans.toSorted((a, b) => a.start - b.start);
  return sorted.some((span, index) => index > 0 && span.start < (sorted[index - 1]?.end ?? 0));
}

/** `Content-Range` of one span. */
export function contentRange(span: Span, size: number): string {
  return `bytes ${span.start}-${span.end - 1}/${size}`;
}

/** One piece of a multi-range answer: the head to write, then the span's bytes. */
export interface MultipartPiece {
  readonly head: Buffer;
  readonly span: Span;
}

export interface MultipartRanges {
  readonly contentType: string;
  readonly contentLength: number;
  readonly pieces: readonly MultipartPiece[];
  readonly tail: Buffer;
}

/** How several spans travel in one answer (RFC 9110 §14.6). The boundary must not occur in the content. */
export function multipartRanges(
  spans: readonly Span[],
  size: number,
  contentType: string,
  boundary: string,
): MultipartRanges {
  const pieces = spans.map((span, index) => ({
    span,
    head: Buffer.from(
      `${index === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Type: ${contentType}\r\nContent-Range: ${contentRange(span, size)}\r\n\r\n`,
      'latin1',
    ),
  }));
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`, 'latin1');
  const contentLength = pieces.reduce(
    (sum, { head, span }) => sum + head.length + span.end - span.start,
    tail.length,
  );
  return { contentType: `multipart/byteranges; boundary=${boundary}`, contentLength, pieces, tail };
}
