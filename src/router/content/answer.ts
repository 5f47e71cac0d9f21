/** One answer with proven content: conditions, ranges, then the bytes (RFC 9110 §13, §14). */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { holdLast, slice, slicePieces } from '../../delivery/streams.ts';
import {
  contentRange,
  multipartRanges,
  parseRange,
  type RangeAnswer,
  type Span,
} from '../../kernel/http/byte-ranges.ts';
import { ifRange, noneMatch } from '../../kernel/http/conditional.ts';
import { sendBuffer, sendFile, takeOver } from '../../kernel/http/send-bytes.ts';
import { sendStream } from '../../kernel/http/send-stream.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import { type Approach, describe, type Headers } from './headers.ts';
import { letGo, type Opened } from './opened.ts';

export interface AnswerOptions {
  readonly stallTimeoutMs: number;
  /** False for an answer about content that was not fetched. Default true. */
  readonly verified?: boolean;
}

const nothing = Buffer.alloc(0);

/** Sends the content, or as much of it as was asked for; answers the number of bytes. */
export async function answer(
  request: Request,
  reply: Reply,
  opened: Opened,
  approach: Approach,
  options: AnswerOptions,
): Promise<number> {
  const headers = describe(opened, approach, options.verified ?? true);
  try {
    const { etag } = headers;
    if (etag !== undefined && noneMatch(request.headers['if-none-match'], etag)) {
      delete headers['content-type'];
      delete headers['content-encoding'];
      return await empty(takeOver(reply, 304, headers));
    }
    const wanted = rangeOf(request, opened, etag);
    if (wanted.kind === 'unsatisfiable') {
      delete headers['content-type'];
      delete headers['content-encoding'];
      return await empty(
        takeOver(reply, 416, {
          ...headers,
          // A cache in between would show it to those who ask for the whole.
          'cache-control': 'no-store',
          'content-range': `bytes */${opened.size ?? '*'}`,
          'content-length': '0',
        }),
      );
    }
    if (wanted.kind === 'whole') return await sendWhole(request, reply, opened, headers, options);
    return await sendRanges(reply, opened, headers, wanted.spans, options);
  } finally {
    await letGo(opened);
  }
}

/** What of the content is asked for. Ranges of something on its way are served once it is there. */
function rangeOf(request: Request, opened: Opened, etag: string | undefined): RangeAnswer {
  const { range } = request.headers;
  const condition = request.headers['if-range'];
  const conditional = Array.isArray(condition) ? condition[0] : condition;
  if (request.method === 'HEAD' || range === undefined || opened.size === undefined) return { kind: 'whole' };
  if (!ifRange(conditional, etag ?? '""')) return { kind: 'whole' };
  const wanted = parseRange(range, opened.size);
  // Content that is only passing can be cut once.
  return opened.download !== undefined && wanted.kind === 'ranges' && wanted.spans.length > 1
    ? { kind: 'whole' }
    : wanted;
}

async function sendWhole(
  request: Request,
  reply: Reply,
  opened: Opened,
  headers: Headers,
  options: AnswerOptions,
): Promise<number> {
  const { size, pieces, reader, download } = opened;
  if (size !== undefined) headers['content-length'] = String(size);
  const raw = takeOver(reply, 200, headers);
  if (request.method === 'HEAD') return await empty(raw);
  if (pieces !== undefined) return await sendPieces(raw, pieces, options);
  if (reader !== undefined) return await sendSpan(raw, opened, { start: 0, end: reader.size }, options);
  if (download === undefined) throw new Error('content without bytes');
  return await sendStream(raw, (gone) => download.read(gone), { ...options, length: size });
}

async function sendRanges(
  reply: Reply,
  opened: Opened,
  headers: Headers,
  spans: readonly [Span, ...Span[]],
  options: AnswerOptions,
): Promise<number> {
  const size = opened.size ?? 0;
  const [span] = spans;
  if (spans.length === 1) {
    headers['content-range'] = contentRange(span, size);
    headers['content-length'] = String(span.end - span.start);
    return await sendSpan(takeOver(reply, 206, headers), opened, span, options);
  }
  const boundary = `${'-'.repeat(26)}${randomBytes(12).toString('hex')}`;
  const parts = multipartRanges(spans, size, opened.contentType, boundary);
  const raw = takeOver(reply, 206, {
    ...headers,
    'content-type': parts.contentType,
    'content-length': String(parts.contentLength),
  });
  async function* pieces(): AsyncGenerator<Buffer> {
    for (const part of parts.pieces) {
      yield part.head;
      const { start, end } = part.span;
      if (opened.pieces !== undefined) yield* slicePieces(opened.pieces, start, end);
      else if (opened.reader !== undefined) yield* opened.reader.stream(start, end);
    }
    yield parts.tail;
  }
  return await sendStream(raw, pieces, { ...options, length: parts.contentLength });
}

async function sendSpan(
  raw: ServerResponse,
  opened: Opened,
  span: Span,
  options: AnswerOptions,
): Promise<number> {
  const { pieces, reader, download } = opened;
  if (pieces !== undefined) return await sendPieces(raw, slicePieces(pieces, span.start, span.end), options);
  if (reader?.fd !== undefined) return await sendFile(raw, reader.fd, span.start, span.end, options);
  const length = span.end - span.start;
  const read = (gone: AbortSignal): AsyncIterable<Buffer> => {
    if (reader !== undefined) return reader.stream(span.start, span.end);
    if (download === undefined) throw new Error('content without bytes');
    // The last piece of a part waits until the whole is proven.
    return holdLast(slice(download.read(gone), span.start, span.end));
  };
  return await sendStream(raw, read, { ...options, length });
}

/** All in one go: the connection takes them together. */
async function sendPieces(
  raw: ServerResponse,
  pieces: readonly Buffer[],
  options: AnswerOptions,
): Promise<number> {
  const last = pieces.at(-1) ?? nothing;
  let before = 0;
  raw.cork();
  for (const piece of pieces) {
    if (piece === last) break;
    before += piece.length;
    raw.write(piece);
  }
  const sent = await sendBuffer(raw, last, options);
  return sent === last.length ? before + sent : sent;
}

async function empty(raw: ServerResponse): Promise<number> {
  await sendBuffer(raw, nothing);
  return 0;
}
