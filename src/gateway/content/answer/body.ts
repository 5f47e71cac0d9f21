/** The body of an answer about content, whole or in parts, from wherever it is open. */
import type { ServerResponse } from 'node:http';
import { multipart, type OpenBytes, sendMultipart, sendSpan } from '../../../delivery/send.ts';
import { slice } from '../../../delivery/streams.ts';
import { contentRange, type Span } from '../../../kernel/http/byte-ranges.ts';
import { sendBuffer, takeOver } from '../../../kernel/http/send-bytes.ts';
import type { Reply, Request } from '../../../kernel/http/server.ts';
import type { BlockCache } from '../block-cache.ts';
import { type Described, type OpenedContent, streamOf } from '../opened.ts';
import { contentTypeOf, digestHeader, type Headers } from './headers.ts';

/** Content that is not in the cache. */
export interface Fetching {
  /** What of the content the open stream carries; the whole where it is undefined. */
  readonly first: Span | undefined;
  /** Fetches another part of it. */
  open(span: Span): Promise<OpenedContent>;
}

export interface Body {
  readonly request: Request;
  readonly reply: Reply;
  readonly opened: OpenedContent;
  readonly headers: Headers;
  readonly spans: readonly [Span, ...Span[]] | undefined;
  readonly status: number;
  readonly fetching: Fetching | undefined;
  readonly blocks: BlockCache;
}

export async function sendBody({
  request,
  reply,
  opened,
  headers,
  spans,
  status,
  fetching,
  blocks,
}: Body): Promise<'whole' | 'cut short'> {
  const { described, fromCache } = opened;
  const { size, hash } = described;
  const type = contentTypeOf(described);
  const isHead = request.method === 'HEAD';
  if (spans === undefined) {
    const digest = fromCache || isHead ? wholeHeaders(described) : { 'content-length': String(size) };
    const raw = takeOver(reply, status, { ...headers, 'content-type': type, ...digest });
    if (isHead || size === 0) return await sendHead(raw);
    return await sendPart(raw, opened, { start: 0, end: size }, blocks);
  }
  if (hash !== undefined) headers['repr-digest'] = digestHeader(hash);
  if (spans.length === 1) {
    const [span] = spans;
    headers['content-type'] = type;
    headers['content-range'] = contentRange(span, size);
    headers['content-length'] = String(span.end - span.start);
    const raw = takeOver(reply, 206, headers);
    if (isHead) return await sendHead(raw);
    return await sendPart(raw, opened, span, blocks);
  }
  const parts = multipart(spans, size, type);
  headers['content-type'] = parts.contentType;
  headers['content-length'] = String(parts.contentLength);
  const raw = takeOver(reply, 206, headers);
  if (isHead) return await sendHead(raw);
  const open = openBytes(opened, (span) => fetchedPart(opened, fetching, span));
  return whole(await sendMultipart(raw, parts, open), parts.contentLength);
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

async function sendPart(
  raw: ServerResponse,
  opened: OpenedContent,
  span: Span,
  blocks: BlockCache,
): Promise<'whole' | 'cut short'> {
  const { reader, stream, described } = opened;
  const length = span.end - span.start;
  if (reader !== undefined && described.hash !== undefined && blocks.takes(span)) {
    const part = await blocks.read(reader, described.hash, span).catch((error: unknown) => {
      raw.destroy();
      throw error;
    });
    return whole(await sendBuffer(raw, part), length);
  }
  // The stream carries what was fetched, which is this span.
  const open = openBytes(opened, () => slice(stream ?? noContent(), 0, length));
  return whole(await sendSpan(raw, open, span), length);
}

function openBytes({ bytes, reader }: OpenedContent, stream: NonNullable<OpenBytes['stream']>): OpenBytes {
  return { pieces: bytes && [bytes], reader, stream };
}

/** One of several parts that are not in the cache: each is fetched for itself. */
async function* fetchedPart(
  { stream }: OpenedContent,
  fetching: Fetching | undefined,
  span: Span,
): AsyncGenerator<Buffer> {
  if (fetching?.first === span) {
    yield* stream ?? noContent();
    return;
  }
  const part = await fetching?.open(span);
  if (part === undefined) throw new Error('content vanished between two of its parts');
  yield* streamOf(part, span);
}

function noContent(): never {
  throw new Error('content without bytes');
}

const nothing = Buffer.alloc(0);
