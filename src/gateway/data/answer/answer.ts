/** One answer about content: conditions, ranges, headers, then the bytes with back-pressure (RFC 9110). */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { contentRange, multipartRanges, type Span } from '../../../kernel/http/byte-ranges.ts';
import { ifRange, noneMatch, strongETag } from '../../../kernel/http/conditional.ts';
import { sendBuffer, sendFile, takeOver } from '../../../kernel/http/send-bytes.ts';
import type { Reply, Request } from '../../../kernel/http/server.ts';
import type { BlobReader } from '../../../storage/blobs/blobs.ts';
import { blocked, notFound } from '../../errors.ts';
import type { GatewayIndex } from '../../index/gateway-index.ts';
import type { Meter } from '../../metering/meter.ts';
import type { Blocklist } from '../blocklist.ts';
import type { Content, Described, OpenedContent } from '../content.ts';
import type { ContentMetrics } from '../metrics.ts';
import type { Journey } from '../sources/source.ts';
import type { CacheControl, CacheReason } from './cache-control.ts';
import { contentTypeOf, describingHeaders, digestHeader, type Headers } from './headers.ts';
import { readRange } from './range.ts';
import type { ReadyAnswers } from './ready.ts';
import { header, journeyOf } from './request.ts';
import { sendStream } from './send-stream.ts';

/** How the content was reached, for headers and caching. */
export interface Approach {
  readonly reason: CacheReason;
  readonly ttlSeconds?: number;
  readonly headers?: Headers;
  /** In place of 200. */
  readonly status?: number;
  /** Under which the same answer may be given again; absent where it may not. */
  readonly readyKey?: string;
}

export interface AnswerParts {
  readonly content: Content;
  readonly index: GatewayIndex;
  readonly cacheControl: CacheControl;
  readonly metrics: ContentMetrics;
  readonly ready: ReadyAnswers;
  /** Asked anew for each request: the admin part may replace it. */
  readonly blocklist: () => Blocklist;
  /** Asked anew for each request, as the list is. */
  readonly meter: () => Meter;
}

/** Answers GET and HEAD for one id that is neither blocked nor to be resolved any further. */
export async function answerContent(
  parts: AnswerParts,
  request: Request,
  reply: Reply,
  id: string,
  approach: Approach,
): Promise<unknown> {
  const journey = journeyOf(request);
  const described = await parts.content.describe(id, journey);
  const cached = described === undefined ? undefined : await parts.content.cached(described);
  if (cached !== undefined) {
    parts.metrics.cacheHits.inc();
    return await send(parts, request, reply, cached, approach, journey);
  }
  if (described !== undefined && request.method === 'HEAD') {
    const unread = {
      described,
      fromCache: false,
      trusted: true,
      hops: 0,
      reader: undefined,
      stream: undefined,
    };
    return await send(parts, request, reply, unread, approach, journey);
  }
  return await sendFetched(parts, request, reply, id, described, approach, journey);
}

async function sendFetched(
  parts: AnswerParts,
  request: Request,
  reply: Reply,
  id: string,
  described: Described | undefined,
  approach: Approach,
  journey: Journey,
): Promise<unknown> {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort(new Error('the reader left')));
  // A single range of something whose size is known is fetched as a range; anything else as the whole.
  const spans = described === undefined ? undefined : readRange(request.headers.range, described.size);
  const [first] = spans ?? [];
  const opened = await parts.content.open(id, first, journey, gone.signal);
  if (opened === undefined) throw notFound();
  return await send(parts, request, reply, opened, approach, journey, {
    first,
    open: (span) => parts.content.open(id, span, journey, gone.signal),
  });
}

/** What holds for every answer about the same record is put together once. */
const known = new WeakMap<Described, Headers>();

async function learnHeaders(index: GatewayIndex, described: Described): Promise<Headers> {
  const headers = describingHeaders(described, await index.proof(described.id));
  known.set(described, headers);
  return headers;
}

async function send(
  parts: AnswerParts,
  request: Request,
  reply: Reply,
  opened: OpenedContent,
  approach: Approach,
  journey: Journey,
  fetching?: Fetching,
): Promise<unknown> {
  const { described, reader } = opened;
  try {
    const { size } = described;
    const etag = described.hash === undefined ? undefined : strongETag(described.hash);
    const headers: Headers = {
      ...(known.get(described) ?? (await learnHeaders(parts.index, described))),
      ...approach.headers,
      'accept-ranges': 'bytes',
      'x-cache': opened.fromCache ? 'HIT' : 'MISS',
      'x-ar-io-hops': String((opened.hops || journey.hops) + (opened.hops > 0 ? 0 : 1)),
      'x-ar-io-verified': String(described.verified && opened.fromCache),
      'x-ar-io-trusted': String(opened.trusted),
      'cache-control': parts.cacheControl.of({
        ...approach,
        stable: described.stable,
        trusted: opened.trusted,
        size,
        contentType: contentTypeOf(described),
      }),
    };
    if (etag !== undefined) headers.etag = etag;
    if (
      approach.status === undefined &&
      etag !== undefined &&
      noneMatch(request.headers['if-none-match'], etag)
    ) {
      delete headers['content-encoding'];
      return await reply.code(304).headers(headers).send();
    }
    const conditional = header(request, 'if-range');
    const wanted = ifRange(conditional, etag ?? '""') ? request.headers.range : undefined;
    const spans = approach.status === undefined ? readRange(wanted, size) : undefined;
    refuseBlockedParts(parts.blocklist(), described, spans);
    const charged = parts.meter().charge(request, bodyBytes(request, size, spans), `data:${described.id}`);
    if (charged !== undefined) Object.assign(headers, await charged);
    const { readyKey } = approach;
    if (
      readyKey !== undefined &&
      charged === undefined &&
      opened.bytes !== undefined &&
      spans === undefined &&
      journey.hops === 0
    ) {
      const head = { ...headers, ...wholeHeaders(described) };
      parts.ready.keep(readyKey, reply, described, head, opened.bytes);
    }
    const sent = await sendBody({
      request,
      reply,
      opened,
      headers,
      spans,
      status: approach.status ?? 200,
      fetching,
    });
    if (sent === 'cut short') parts.metrics.disconnects.inc();
    return reply;
  } finally {
    await reader?.close();
  }
}

/** What the meter counts; the separators of several ranges are free. */
function bodyBytes(request: Request, size: number, spans: readonly Span[] | undefined): number {
  if (request.method === 'HEAD') return 0;
  return spans === undefined ? size : spans.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** A bundle is not a way around the block of an item in it. */
function refuseBlockedParts(list: Blocklist, described: Described, spans: readonly Span[] | undefined): void {
  for (const span of spans ?? [{ start: 0, end: described.size }]) {
    const part = blockedPartOf(list, described, span);
    if (part !== undefined) throw blocked(part);
  }
}

/** The blocked item of which a byte is in that part of the content. */
export function blockedPartOf(list: Blocklist, described: Described, span: Span): string | undefined {
  const { id, size, located } = described;
  if (located === undefined) return undefined;
  const start = located.placement?.dataOffsetInRoot ?? 0;
  return list.blockedPart(
    located.placement?.root ?? id,
    { start, end: start + size },
    { start: start + span.start, end: start + span.end },
    id,
  );
}

/** Content that is not in the cache. */
interface Fetching {
  /** What of the content the open stream carries; the whole where it is undefined. */
  readonly first: Span | undefined;
  /** Fetches another part of it. */
  open(span: Span): Promise<OpenedContent | undefined>;
}

interface Body {
  readonly request: Request;
  readonly reply: Reply;
  readonly opened: OpenedContent;
  readonly headers: Headers;
  readonly spans: readonly [Span, ...Span[]] | undefined;
  readonly status: number;
  readonly fetching: Fetching | undefined;
}

async function sendBody({
  request,
  reply,
  opened,
  headers,
  spans,
  status,
  fetching,
}: Body): Promise<'whole' | 'cut short'> {
  const { described, fromCache } = opened;
  const { size, hash } = described;
  const type = contentTypeOf(described);
  const isHead = request.method === 'HEAD';
  if (spans === undefined) {
    const digest = fromCache || isHead ? wholeHeaders(described) : { 'content-length': String(size) };
    const raw = takeOver(reply, status, { ...headers, 'content-type': type, ...digest });
    if (isHead || size === 0) return await sendHead(raw);
    return await sendSpan(raw, opened, { start: 0, end: size }, fetching?.first);
  }
  if (hash !== undefined) headers['repr-digest'] = digestHeader(hash);
  if (spans.length === 1) {
    const [span] = spans;
    headers['content-type'] = type;
    headers['content-range'] = contentRange(span, size);
    headers['content-length'] = String(span.end - span.start);
    const raw = takeOver(reply, 206, headers);
    if (isHead) return await sendHead(raw);
    return await sendSpan(raw, opened, span, fetching?.first);
  }
  const parts = multipartRanges(spans, size, type, `${'-'.repeat(26)}${randomBytes(12).toString('hex')}`);
  headers['content-type'] = parts.contentType;
  headers['content-length'] = String(parts.contentLength);
  const raw = takeOver(reply, 206, headers);
  if (isHead) return await sendHead(raw);
  return whole(
    await sendStream(raw, multipart(parts, opened, fetching), parts.contentLength),
    parts.contentLength,
  );
}

/** Of an answer that carries all of it, by what is known before it is sent. */
function wholeHeaders(described: Described): Headers {
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
  fetched: Span | undefined,
): Promise<'whole' | 'cut short'> {
  const { bytes, reader, stream } = opened;
  const length = span.end - span.start;
  if (bytes !== undefined) {
    const part = length === bytes.length ? bytes : bytes.subarray(span.start, span.end);
    return whole(await sendBuffer(raw, part), length);
  }
  if (reader?.fd !== undefined) return whole(await sendFile(raw, reader.fd, span.start, span.end), length);
  if (reader !== undefined)
    return whole(await sendStream(raw, reader.stream(span.start, span.end), length), length);
  if (stream === undefined) throw new Error('content without bytes');
  // The stream carries what was fetched: the span itself, or the whole of which the span is a part.
  const skip = fetched === undefined ? span.start : 0;
  return whole(await sendStream(raw, cut(stream, skip, length), length), length);
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
      if (part.bytes !== undefined) yield part.bytes.subarray(span.start, span.end);
      else yield* part.stream ?? readAndClose(part.reader, span);
    }
  }
  yield parts.tail;
}

async function* readAndClose(reader: BlobReader | undefined, span: Span): AsyncGenerator<Buffer> {
  try {
    if (reader !== undefined) yield* reader.stream(span.start, span.end);
  } finally {
    await reader?.close();
  }
}

async function* cut(stream: AsyncIterable<Buffer>, skip: number, length: number): AsyncGenerator<Buffer> {
  let position = 0;
  for await (const piece of stream) {
    const from = Math.max(0, skip - position);
    const to = Math.min(piece.length, skip + length - position);
    position += piece.length;
    if (to > from) yield piece.subarray(from, to);
    // A whole read is taken to its end, where the source says whether the bytes were right.
    if (position >= skip + length && skip > 0) return;
  }
}

const nothing = Buffer.alloc(0);
