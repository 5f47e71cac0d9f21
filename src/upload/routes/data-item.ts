/**
 * `GET|HEAD /data-item/:id`: the raw bytes of an item that is held here, for the gateway to serve before the
 * bundle is mined. One byte range per request (RFC 9110 §14); the bytes of an id never change.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Type } from 'typebox';
import { sendSpan } from '../../delivery/send.ts';
import { holdLast } from '../../delivery/streams.ts';
import { isTxId } from '../../formats/base64url.ts';
import { parseRange, type Span } from '../../kernel/http/byte-ranges.ts';
import { type SendOptions, sendBuffer, takeOver } from '../../kernel/http/send-bytes.ts';
import { sendStream } from '../../kernel/http/send-stream.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { postedBundle } from '../bundler/bundle-rows.ts';
import { translateError, uploadErrors } from '../errors.ts';
import { findItem, readHead, type StoredItem } from '../items/item-rows.ts';
import type { BlockedItems } from '../items/refuse-blocked.ts';
import { loadItem, openBlob, piecesOf, readItemBytes } from '../items/segments.ts';

const none = Buffer.alloc(0);
/** Items of no more than this are read and compared whole for any part of them. */
const comparedBytes = 256 * 1024;

export interface DataItemDeps extends SendOptions {
  readonly sql: Sql;
  readonly blobs: BlobStore;
  /** What is not given back. */
  readonly blocked: BlockedItems;
}

export function dataItemRoutes(app: App, deps: DataItemDeps): void {
  app.route({
    method: 'GET',
    url: '/data-item/:id',
    schema: {
      summary: 'The raw bytes of an item that is held here',
      params: Type.Object({ id: Type.String({ description: 'Data item id' }) }),
    },
    handler: async (request, reply) => {
      const { id } = request.params;
      try {
        await answer(request, id, reply, deps);
      } catch (error) {
        if (!reply.raw.headersSent) throw translateError(error, id);
        request.log.warn({ err: error, id }, 'an item was cut off while it was sent');
        reply.raw.destroy();
      }
      return reply;
    },
  });
}

async function answer(request: Request, id: string, reply: Reply, held: DataItemDeps): Promise<void> {
  const { sql, blocked } = held;
  if (!isTxId(id)) throw uploadErrors.invalidId();
  blocked.refuseId(id);
  const item = await findItem(sql, id);
  const head = item?.held === true ? await readHead(sql, id) : undefined;
  if (item === undefined || head === undefined) throw uploadErrors.unknownItem();
  const bundle = await postedBundle(sql, item.bundle);
  const headers = headersOf(item, bundle?.txId);
  const range = readRange(request.headers.range, item.size);
  const { start, end } = range ?? { start: 0, end: item.size };
  await blocked.refuse({ item, head, span: { start, end }, root: bundle?.txId });
  if (request.headers['if-none-match'] === headers.etag) {
    await sendBuffer(takeOver(reply, 304, { etag: headers.etag }), none);
    return;
  }
  const send =
    request.method === 'HEAD'
      ? (raw: ServerResponse) => sendBuffer(raw, none)
      : await openItem(held, head, item, { start, end });
  const raw = takeOver(reply, range === undefined ? 200 : 206, {
    ...headers,
    'content-length': end - start,
    ...(range === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${item.size}` }),
  });
  await send(raw);
}

function headersOf(item: StoredItem, root: string | undefined): OutgoingHttpHeaders & { etag: string } {
  const place =
    root === undefined || item.bundleOffset === null
      ? {}
      : { 'x-root-transaction-id': root, 'x-root-offset': item.bundleOffset };
  return {
    'content-type': 'application/octet-stream',
    // The bytes are a stranger's: no browser is to guess that they are a page.
    'x-content-type-options': 'nosniff',
    'content-security-policy': 'sandbox',
    'accept-ranges': 'bytes',
    'cache-control': 'public, max-age=60',
    etag: `"${item.id}"`,
    'x-payload-offset': item.payloadStart,
    'x-payload-content-type': item.contentType,
    ...place,
  };
}

/**
 * What sends a range of an item. What is read of a blob to its end is compared with its digest before the last of it is sent, a
 * small item always: a gateway notes the hash of what it gets here for good. A part of a large blob goes straight from its file,
 * where it has one. It is read from before the answer begins, so that bytes which are not there are answered as such.
 */
async function openItem(
  { blobs, ...options }: DataItemDeps,
  head: Buffer,
  { size, segments }: StoredItem,
  span: Span,
): Promise<(raw: ServerResponse) => Promise<unknown>> {
  const { start, end } = span;
  const [first, ...others] = piecesOf(head.length, segments, span);
  if (first?.head === true && others.length === 0) {
    return (raw) => sendBuffer(raw, head.subarray(start, end), options);
  }
  if (size <= comparedBytes) {
    const bytes = await loadItem(blobs, head, segments);
    return (raw) => sendBuffer(raw, bytes.subarray(start, end), options);
  }
  if (first?.head === false && !first.isWhole && others.length === 0) {
    const reader = await openBlob(blobs, first.digest, first.blobSize);
    if (reader.fd !== undefined) {
      return (raw) => sendSpan(raw, { reader }, first, options).finally(() => reader.close());
    }
    await reader.close();
  }
  const bytes = holdLast(readItemBytes(blobs, head, segments, { span }));
  const begun = await beginReading(bytes, Math.max(0, head.length - start));
  return (raw) => sendStream(raw, () => begun, { ...options, length: end - start });
}

/** The same bytes, when the first that are not in memory have come. */
async function beginReading(bytes: AsyncGenerator<Buffer>, inMemory: number): Promise<AsyncIterable<Buffer>> {
  const first: Buffer[] = [];
  for (let length = 0; length <= inMemory; ) {
    const { done, value } = await bytes.next();
    if (done === true) break;
    first.push(value);
    length += value.length;
  }
  return (async function* () {
    try {
      yield* first;
      yield* bytes;
    } finally {
      await bytes.return(undefined);
    }
  })();
}

/** The range that is answered; undefined for the whole, also where several ranges are asked for. */
function readRange(header: string | undefined, size: number): Span | undefined {
  const range = parseRange(header, size);
  if (range.kind === 'unsatisfiable') throw uploadErrors.badRange(size);
  return range.kind === 'ranges' && range.spans.length === 1 ? range.spans[0] : undefined;
}
