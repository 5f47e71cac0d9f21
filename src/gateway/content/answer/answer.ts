/** One answer about content: conditions, ranges, headers, then the bytes with back-pressure (RFC 9110). */
import { isolate, type WebOrigin } from '../../../delivery/isolation.ts';
import type { Span } from '../../../kernel/http/byte-ranges.ts';
import { ifRange, noneMatch, strongETag } from '../../../kernel/http/conditional.ts';
import type { Reply, Request } from '../../../kernel/http/server.ts';
import type { GatewayIndex } from '../../chain-index/gateway-index.ts';
import { blocked } from '../../errors.ts';
import type { Meter } from '../../meter.ts';
import type { Blocklist } from '../blocklist.ts';
import type { Content, Read } from '../content.ts';
import type { ContentMetrics } from '../metrics.ts';
import { type Described, isPending, type OpenedContent } from '../opened.ts';
import type { Journey } from '../sources/source.ts';
import { type Fetching, sendBody } from './body.ts';
import type { CacheControl, CacheReason } from './cache-control.ts';
import { contentTypeOf, describingHeaders, type Headers } from './headers.ts';
import type { ReadyAnswers } from './ready.ts';
import { header, journeyOf, readRange } from './request.ts';

/** How the content was reached, for headers and caching. */
export interface AnswerOptions {
  readonly reason: CacheReason;
  /** Whose the host is that it is read at. */
  readonly origin: WebOrigin;
  readonly ttlSeconds?: number;
  readonly headers?: Headers;
  /** In place of 200. */
  readonly status?: number;
  /** Under which the same answer may be given again; absent where it may not. */
  readonly readyKey?: string | undefined;
}

export interface AnswerParts {
  readonly content: Content;
  readonly index: GatewayIndex;
  readonly cacheControl: CacheControl;
  readonly metrics: ContentMetrics;
  readonly ready: ReadyAnswers;
  /** Asked anew for each request: the admin part may replace it. */
  readonly blocklist: Blocklist;
  /** Asked anew for each request, as the list is. */
  readonly meter: Meter;
}

/** Answers GET and HEAD for one id that is neither blocked nor to be resolved any further. */
export async function answerContent(
  parts: AnswerParts,
  request: Request,
  reply: Reply,
  id: string,
  options: AnswerOptions,
): Promise<unknown> {
  const journey = journeyOf(request);
  const described = await parts.content.describe(id, journey);
  const cached = await parts.content.cached.open(described);
  try {
    const asked = askedOf(request, described, options);
    await refuseBlockedParts(parts.blocklist, described, asked.spans);
    const answer: Answer = { parts, request, reply, options, journey, asked };
    if (cached !== undefined) {
      parts.metrics.cacheHits.inc();
      return await send(answer, cached);
    }
    if (asked.unchanged) return await send(answer, unread(described, { trusted: true, hops: 0 }));
    if (request.method === 'HEAD') {
      const read = await parts.content.checkReadable(described, asked.spans?.[0].start ?? 0, journey);
      return await send(answer, unread(described, read));
    }
    return await sendFetched(answer, described);
  } finally {
    await cached?.reader?.close();
  }
}

/** What of the content the request wants. */
interface Asked {
  /** The client has it already. */
  readonly unchanged: boolean;
  /** undefined for the whole. */
  readonly spans: readonly [Span, ...Span[]] | undefined;
}

function askedOf(request: Request, { hash, size }: Described, { status }: AnswerOptions): Asked {
  if (status !== undefined) return { unchanged: false, spans: undefined };
  const etag = hash === undefined ? undefined : strongETag(hash);
  if (etag !== undefined && noneMatch(request.headers['if-none-match'], etag)) {
    return { unchanged: true, spans: undefined };
  }
  const conditional = header(request, 'if-range');
  // Without an entity tag nothing says that the client's part is a part of this.
  const sameContent = conditional === undefined || (etag !== undefined && ifRange(conditional, etag));
  return { unchanged: false, spans: sameContent ? readRange(request.headers.range, size) : undefined };
}

interface Answer {
  readonly parts: AnswerParts;
  readonly request: Request;
  readonly reply: Reply;
  readonly options: AnswerOptions;
  readonly journey: Journey;
  readonly asked: Asked;
}

/** For answers that need none of the bytes. */
function unread(described: Described, { trusted, hops }: Read): OpenedContent {
  return { described, fromCache: false, trusted, hops };
}

/** A range is fetched as a range, anything else as the whole. */
async function sendFetched(answer: Answer, described: Described): Promise<unknown> {
  const { parts, reply } = answer;
  const gone = new AbortController();
  const leave = (): void => gone.abort(new Error('the reader left'));
  // A reader that left before fires no event.
  if (reply.raw.destroyed) leave();
  else reply.raw.once('close', leave);
  try {
    return await sendOpened(answer, described, gone.signal);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
    // There is nobody to answer.
    parts.metrics.disconnects.inc();
    return reply.hijack();
  }
}

async function sendOpened(answer: Answer, described: Described, gone: AbortSignal): Promise<unknown> {
  const { parts, journey, asked } = answer;
  const first = asked.spans?.[0];
  const open = (span?: Span) => parts.content.open(described, span, journey, gone);
  const { opened, started } = await begin(answer, described.id, () => open(first), gone);
  try {
    return await send(answer, { ...opened, stream: started?.stream }, { first, open });
  } finally {
    await started?.end();
    await opened.reader?.close();
  }
}

/** A source that fails before its first byte is still an answer of its own; HEAD is told of it by the next. */
async function begin(
  { parts: { content }, journey }: Answer,
  id: string,
  open: () => Promise<OpenedContent>,
  gone: AbortSignal,
): Promise<{ opened: OpenedContent; started: StartedStream | undefined }> {
  try {
    const opened = await open();
    const started = opened.stream === undefined ? undefined : await startStream(opened.stream);
    content.noteRead(id, journey, opened);
    return { opened, started };
  } catch (error) {
    if (!gone.aborted) content.noteRead(id, journey, 'failed');
    throw error;
  }
}

interface StartedStream {
  readonly stream: AsyncGenerator<Buffer>;
  end(): Promise<void>;
}

/** The same stream, its first piece at hand; `end` lets go of the source, also where nobody read a piece. */
async function startStream(stream: AsyncIterable<Buffer>): Promise<StartedStream> {
  const iterator = stream[Symbol.asyncIterator]();
  let next = await iterator.next();
  async function* rest(): AsyncGenerator<Buffer> {
    try {
      for (; next.done !== true; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return {
    stream: rest(),
    // Not by the generator, which has no end to run before it has begun.
    end: async () => void (await iterator.return?.()),
  };
}

/** What holds for every answer about the same record is put together once. */
const known = new WeakMap<Described, Headers>();

async function learnHeaders(index: GatewayIndex, described: Described): Promise<Headers> {
  const headers = describingHeaders(described, await index.proof(described.id));
  known.set(described, headers);
  return headers;
}

async function send(answer: Answer, opened: OpenedContent, fetching?: Fetching): Promise<unknown> {
  const { parts, request, reply, options, journey, asked } = answer;
  const { described } = opened;
  const { size, hash } = described;
  const contentType = contentTypeOf(described);
  const headers: Headers = {
    ...(known.get(described) ?? (await learnHeaders(parts.index, described))),
    ...options.headers,
    'accept-ranges': 'bytes',
    'x-cache': opened.fromCache ? 'HIT' : 'MISS',
    'x-ar-io-hops': String(opened.hops > 0 ? opened.hops : journey.hops + 1),
    'x-ar-io-verified': String(described.verified && opened.fromCache),
    'x-ar-io-trusted': String(opened.trusted),
    'cache-control': parts.cacheControl.of({
      ...options,
      pending: isPending(described),
      stable: described.stable,
      trusted: opened.trusted,
      size,
      contentType,
    }),
  };
  isolate(headers, contentType, options.origin);
  if (hash !== undefined) headers.etag = strongETag(hash);
  if (asked.unchanged) {
    delete headers['content-encoding'];
    return await reply.code(304).headers(headers).send();
  }
  const { spans } = asked;
  const charged = parts.meter.charge(
    request,
    bodyBytes(request, size, spans),
    `data:${described.id}`,
    contentTypeOf(described),
  );
  if (charged !== undefined) Object.assign(headers, await charged);
  const { readyKey } = options;
  const again = charged === undefined && opened.fromCache && journey.hops === 0;
  if (readyKey !== undefined && again) parts.ready.keep(readyKey, reply, described, headers, opened.bytes);
  const status = options.status ?? 200;
  const { blocks } = parts.content.cached;
  const sent = await sendBody({ request, reply, opened, headers, spans, status, fetching, blocks });
  if (sent === 'cut short') parts.metrics.disconnects.inc();
  return reply;
}

/** What the meter counts; the separators of several ranges are free. */
function bodyBytes(request: Request, size: number, spans: readonly Span[] | undefined): number {
  if (request.method === 'HEAD') return 0;
  return spans === undefined ? size : spans.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** A bundle is not a way around the block of an item in it. */
export async function refuseBlockedParts(
  list: Blocklist,
  described: Described,
  spans: readonly Span[] | undefined,
): Promise<void> {
  const looking = list.lookInto(described.id, described.located);
  if (looking !== undefined) await looking;
  for (const span of spans ?? [{ start: 0, end: described.size }]) {
    const part = blockedPartOf(list, described, span);
    if (part !== undefined) throw blocked(part);
  }
}

/** The blocked item of which a byte is in that part of the content. */
export function blockedPartOf(list: Blocklist, described: Described, span: Span): string | undefined {
  const { id, size, located } = described;
  // Of what the index does not have it is known all the same where items lie in it.
  const start = located?.placement?.dataOffsetInRoot ?? 0;
  return list.blockedPart(
    located?.placement?.root ?? id,
    { start, end: start + size },
    { start: start + span.start, end: start + span.end },
    id,
  );
}
