/** Sends parts of content from wherever it is open: memory, a file, or on its way. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type MultipartRanges, multipartRanges, type Span } from '../kernel/http/byte-ranges.ts';
import { endNow, type SendOptions, sendBuffer, sendFile } from '../kernel/http/send-bytes.ts';
import { sendStream } from '../kernel/http/send-stream.ts';
import type { BlobReader } from '../storage/blobs/blobs.ts';
import { slicePieces } from './streams.ts';

export interface OpenBytes {
  /** The whole in memory, in the pieces in which it came: to join them would be to copy them. */
  readonly pieces?: readonly Buffer[] | undefined;
  readonly reader?: BlobReader | undefined;
  /** One part, where it is neither in memory nor in a file. */
  stream?(span: Span, gone: AbortSignal): AsyncIterable<Buffer>;
}

/** Ends the answer with one part. Says how many bytes went out. */
export async function sendSpan(
  raw: ServerResponse,
  open: OpenBytes,
  span: Span,
  options: SendOptions = {},
): Promise<number> {
  const { start, end } = span;
  if (open.pieces !== undefined) return await sendPieces(raw, slicePieces(open.pieces, start, end), options);
  const { reader } = open;
  if (reader?.fd !== undefined) {
    return await sendFile(raw, reader.fd, start, end, { ...options, check: () => reader.check() });
  }
  return await sendStream(raw, (gone) => readSpan(open, span, gone), { ...options, length: end - start });
}

/** Several parts in one body, with a boundary that no content can foresee. */
export function multipart(spans: readonly Span[], size: number, contentType: string): MultipartRanges {
  return multipartRanges(spans, size, contentType, `${'-'.repeat(26)}${randomBytes(12).toString('hex')}`);
}

/** Ends the answer with several parts. Says how many bytes went out. */
export async function sendMultipart(
  raw: ServerResponse,
  { pieces, tail, contentLength }: MultipartRanges,
  open: OpenBytes,
  options: SendOptions = {},
): Promise<number> {
  async function* body(gone: AbortSignal): AsyncGenerator<Buffer> {
    for (const { head, span } of pieces) {
      yield head;
      if (open.pieces === undefined) yield* readSpan(open, span, gone);
      else yield* slicePieces(open.pieces, span.start, span.end);
    }
    yield tail;
  }
  return await sendStream(raw, body, { ...options, length: contentLength });
}

function readSpan(open: OpenBytes, span: Span, gone: AbortSignal): AsyncIterable<Buffer> {
  if (open.reader !== undefined) return open.reader.stream(span.start, span.end);
  if (open.stream === undefined) throw new Error('content without bytes');
  return open.stream(span, gone);
}

/** All in one go: the connection takes them together. */
async function sendPieces(
  raw: ServerResponse,
  pieces: readonly Buffer[],
  options: SendOptions,
): Promise<number> {
  const last = pieces.at(-1) ?? nothing;
  if (pieces.length < 2) {
    return last.length <= smallBytes ? endNow(raw, last, options) : await sendBuffer(raw, last, options);
  }
  let before = 0;
  raw.cork();
  for (const piece of pieces.slice(0, -1)) {
    before += piece.length;
    raw.write(piece);
  }
  const sent = await sendBuffer(raw, last, options);
  return sent === last.length ? before + sent : sent;
}

const nothing = Buffer.alloc(0);
/** A connection takes as much at once, so that nobody waits until it has. */
const smallBytes = 16 * 1024;
