/** The body of an answer about content, whole or in parts, from wherever it is open. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { slice } from '../../../delivery/streams.ts';
import { contentRange, multipartRanges, type Span } from '../../../kernel/http/byte-ranges.ts';
import { sendBuffer, sendFile, takeOver } from '../../../kernel/http/send-bytes.ts';
import { sendStream } from '../../../kernel/http/send-stream.ts';
import type { Reply, Request } from '../../../kernel/http/server.ts';
import type { HotParts } from '../hot-parts.ts';
import { type Described, type OpenedContent, streamOf } from '../opened.ts';
import { contentTypeOf, digestHeader, type Headers } from './headers.ts';

/** Content that is not in the cache. */
export interface Fetching {
  /** What of the content the open stream carries; the whole where it is undefined. */
  readonly first: Span | undefined;
  /** Fetches another part of it. */
  open(span: Span): Promise<OpenedContent | undefined>;
}

export interface Body {
  readonly request: Request;
  readonly reply: Reply;
  readonly opened: OpenedContent;
  readonly headers: Headers;
  readonly spans: readonly [Span, ...Span[]] | undefined;
  readonly status: number;
  readonly fetching: Fetching | undefined;
  readonly hot: HotParts;
}

export async function sendBody({
  request,
  reply,
  opened,
  headers,
  spans,
  status,
  fetching,
  hot,
}: Body): Promise<'whole' | 'cut short'> {
  const { described, fromCache } = opened;
  const { size, hash } = described;
  const type = contentTypeOf(described);
  const isHead = request.method === 'HEAD';
  if (spans === undefined) {
    const digest = fromCache || isHead ? wholeHeaders(described) : { 'content-length': String(size) };
    const raw = takeOver(reply, status, { ...headers, 'content-type': type, ...digest });
    if (isHead || size === 0) return await sendHead(raw);
    return await sendSpan(raw, opened, { start: 0, end: size }, hot);
  }
  if (hash !== undefined) headers['repr-digest'] = digestHeader(hash);
  if (spans.length === 1) {
    const [span] = spans;
    headers['content-type'] = type;
    headers['content-range'] = contentRange(span, size);
    headers['content-length'] = String(span.end - span.start);
    const raw = takeOver(reply, 206, headers);
    if (isHead) return await sendHead(raw);
    return await sendSpan(raw, opened, span, hot);
  }
  const parts = multipartRanges(spans, size, type, `${'-'.repeat(26)}${randomBytes(12).toString('hex')}`);
  headers['content-type'] = parts.contentType;
  headers['content-length'] = String(parts.contentLength);
  const raw = takeOver(reply, 206, headers);
  if (isHead) return await sendHead(raw);
  return whole(
    await sendStream(raw, () => multipart(parts, opened, fetching), { length: parts.contentLength }),
    parts.contentLength,
  );
}

/** Of an answer that carries all of it, by what is known before it is sent. */
export function wholeHeaders(described: Described): Headers {
  const headers: Headers = {
    'content-type': contentTypeOf(described),
    'content-length': String(described.size),
  };
  if (described.hash !== undefined) headers['content-digest'] = digestHeader(described.hash);
  return headers;
}

async function sendHead(raw: ServerResponse): Promise<'whole'> {
  await sendBuffer(raw, nothing);
  return 'whole';
}

function whole(sent: number, promised: number): 'whole' | 'cut short' {
  return sent === promised ? 'whole' : 'cut short';
}

async function sendSpan(
  raw: ServerResponse,
  opened: OpenedContent,
  span: Span,
  hot: HotParts,
): Promise<'whole' | 'cut short'> {
  const { bytes, reader, stream, described } = opened;
  const length = span.end - span.start;
  if (bytes !== undefined) {
    const part = length === bytes.length ? bytes : bytes.subarray(span.start, span.end);
    return whole(await sendBuffer(raw, part), length);
  }
  if (reader !== undefined && described.hash !== undefined && hot.takes(span)) {
    return whole(await sendBuffer(raw, await hot.read(reader, described.hash, span)), length);
  }
  if (reader?.fd !== undefined) return whole(await sendFile(raw, reader.fd, span.start, span.end), length);
  if (reader !== undefined)
    return whole(await sendStream(raw, () => reader.stream(span.start, span.end), { length }), length);
  if (stream === undefined) throw new Error('content without bytes');
  // The stream carries what was fetched, which is this span.
  return whole(await sendStream(raw, () => slice(stream, 0, length), { length }), length);
}

/** The parts one after the other: from the cache, or each fetched for itself. */
async function* multipart(
  parts: ReturnType<typeof multipartRanges>,
  opened: OpenedContent,
  fetching: Fetching | undefined,
): AsyncGenerator<Buffer> {
  for (const { head, span } of parts.pieces) {
    yield head;
    const { bytes, reader } = opened;
    if (bytes !== undefined) yield bytes.subarray(span.start, span.end);
    else if (reader !== undefined) yield* reader.stream(span.start, span.end);
    else if (fetching?.first === span) yield* opened.stream ?? [];
    else {
      const part = await fetching?.open(span);
      if (part === undefined) throw new Error('content vanished between two of its parts');
      yield* streamOf(part, span);
    }
  }
  yield parts.tail;
}

const nothing = Buffer.alloc(0);
