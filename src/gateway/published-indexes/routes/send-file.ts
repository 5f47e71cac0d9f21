/** Serves one listed file from its pinned bytes: conditional, by range, priced, and only while it is what was signed. */
import { contentRange, parseRange, type Span } from '../../../kernel/http/byte-ranges.ts';
import { ifRange, noneMatch, strongETag } from '../../../kernel/http/conditional.ts';
import { sendFile, takeOver } from '../../../kernel/http/send-bytes.ts';
import type { Reply, Request } from '../../../kernel/http/server.ts';
import type { Meter } from '../../meter.ts';
import { malformedRange, unsatisfiableRange } from '../errors.ts';
import type { BandFile } from '../publication/document.ts';
import type { PinnedFiles } from '../publication/pinned-files.ts';

export interface SendOptions {
  readonly pinned: PinnedFiles;
  /** Asked once it is certain what will be sent, so that 304, 400, 404, 416 and 503 cost nothing. */
  readonly meter: Meter;
  /** Without `public` or `private`: `no-cache`, or a year for what a digest names. */
  readonly caching: string;
}

const contentType = 'application/octet-stream';

export async function sendIndexFile(
  request: Request,
  reply: Reply,
  file: BandFile,
  options: SendOptions,
): Promise<Reply> {
  const pinned = await options.pinned.open(file);
  try {
    const { meter } = options;
    const etag = strongETag(file.sha256);
    const digest = `sha-256=:${Buffer.from(file.sha256, 'hex').toString('base64')}:`;
    const caching = `${meter.enabled ? 'private' : 'public'}, ${options.caching}`;
    const headers = { etag, 'repr-digest': digest, 'cache-control': caching };
    if (noneMatch(request.headers['if-none-match'], etag)) {
      return await reply.code(304).headers(headers).send();
    }
    const isHead = request.method === 'HEAD';
    const wanted =
      isHead || !ifRange(headerOf(request, 'if-range'), etag) ? undefined : request.headers.range;
    const span = spanOf(wanted, file.size);
    const start = span?.start ?? 0;
    const end = span?.end ?? file.size;
    const charged = meter.charge(request, isHead ? 0 : end - start, file.sha256, contentType);
    if (charged !== undefined) reply.headers(await charged);
    const raw = takeOver(reply, span === undefined ? 200 : 206, {
      ...headers,
      'accept-ranges': 'bytes',
      'content-type': contentType,
      'content-length': end - start,
      ...(span === undefined
        ? { 'content-digest': digest }
        : { 'content-range': contentRange(span, file.size) }),
      'x-ar-io-index-file': file.sha256,
    });
    if (isHead || start === end) raw.end();
    else await sendFile(raw, pinned.fd, start, end, { check: pinned.check });
    return reply;
  } finally {
    await pinned.close();
  }
}

/** Zeros that a torrent has between two files; less than one piece of them. */
export async function sendPadding(
  request: Request,
  reply: Reply,
  size: number,
  meter: Meter,
  caching: string,
): Promise<Reply> {
  const span = spanOf(request.headers.range, size);
  const { start, end } = span ?? { start: 0, end: size };
  const charged = meter.charge(request, end - start, 'padding', contentType);
  if (charged !== undefined) reply.headers(await charged);
  return reply
    .code(span === undefined ? 200 : 206)
    .headers({
      'cache-control': `${meter.enabled ? 'private' : 'public'}, ${caching}`,
      'content-type': contentType,
      'accept-ranges': 'bytes',
      ...(span !== undefined && { 'content-range': contentRange(span, size) }),
    })
    .send(Buffer.alloc(end - start));
}

function headerOf(request: Request, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

const one = /^(?:(\d+)-(\d*)|-(\d+))$/;
const maxHeader = 1024;

/**
 * The span to send, or undefined for the whole file: one range is served, and what is no byte range at all is refused
 * (interface §4.4).
 */
function spanOf(header: string | undefined, size: number): Span | undefined {
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
