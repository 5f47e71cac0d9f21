/** One answer with proven content: conditions, ranges, then the bytes (RFC 9110 §13, §14). */
import type { ServerResponse } from 'node:http';
import { multipart, type OpenBytes, sendMultipart, sendSpan } from '../../delivery/send.ts';
import { holdLast, slice } from '../../delivery/streams.ts';
import { contentRange, parseRange, type RangeAnswer, type Span } from '../../kernel/http/byte-ranges.ts';
import { ifRange, noneMatch } from '../../kernel/http/conditional.ts';
import { type SendOptions, sendBuffer, takeOver } from '../../kernel/http/send-bytes.ts';
import { sendStream } from '../../kernel/http/send-stream.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import { type AccessPath, describe, type Headers, servedType } from './headers.ts';
import { letGo, type Opened } from './opened.ts';

const nothing = Buffer.alloc(0);

export interface AnswerOptions extends SendOptions {
  /** Throws where one of the parts may not leave; undefined for the whole. */
  readonly refuseParts: (spans: readonly Span[] | undefined) => void;
}

/** Sends the content, or as much of it as was asked for; answers the number of bytes. */
export async function answer(
  request: Request,
  reply: Reply,
  opened: Opened,
  accessPath: AccessPath,
  options: AnswerOptions,
): Promise<number> {
  const headers = describe(opened, accessPath);
  try {
    const { etag } = headers;
    const wanted = rangeOf(request, opened, etag);
    if (wanted.kind !== 'unsatisfiable') {
      options.refuseParts(wanted.kind === 'ranges' ? wanted.spans : undefined);
    }
    if (etag !== undefined && noneMatch(request.headers['if-none-match'], etag)) {
      delete headers['content-type'];
      delete headers['content-encoding'];
      return await empty(takeOver(reply, 304, headers));
    }
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
  options: SendOptions,
): Promise<number> {
  const { size, download } = opened;
  if (size !== undefined) headers['content-length'] = String(size);
  const raw = takeOver(reply, 200, headers);
  if (request.method === 'HEAD') return await empty(raw);
  if (download === undefined) return await sendSpan(raw, opened, { start: 0, end: size ?? 0 }, options);
  const sent = (piece: Buffer): void => download.sent(piece);
  return await sendStream(raw, (gone) => download.read(gone), { ...options, length: size, sent });
}

async function sendRanges(
  reply: Reply,
  opened: Opened,
  headers: Headers,
  spans: readonly [Span, ...Span[]],
  options: SendOptions,
): Promise<number> {
  const size = opened.size ?? 0;
  const [span] = spans;
  if (spans.length === 1) {
    headers['content-range'] = contentRange(span, size);
    headers['content-length'] = String(span.end - span.start);
    return await sendSpan(takeOver(reply, 206, headers), openBytes(opened), span, options);
  }
  const parts = multipart(spans, size, servedType(opened));
  const raw = takeOver(reply, 206, {
    ...headers,
    'content-type': parts.contentType,
    'content-length': String(parts.contentLength),
  });
  return await sendMultipart(raw, parts, openBytes(opened), options);
}

function openBytes({ pieces, reader, download }: Opened): OpenBytes {
  return {
    pieces,
    reader,
    // The last piece of a part waits until the whole is proven.
    ...(download && { stream: ({ start, end }, gone) => holdLast(slice(download.read(gone), start, end)) }),
  };
}

async function empty(raw: ServerResponse): Promise<number> {
  await sendBuffer(raw, nothing);
  return 0;
}
