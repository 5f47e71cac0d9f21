/**
 * `GET|HEAD /data-item/:id`: the raw bytes of an item that is held here, for the gateway to serve before the
 * bundle is mined. One byte range per request (RFC 9110 §14); the bytes of an id never change.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Type } from 'typebox';
import { sendSpan } from '../../delivery/send.ts';
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
import { openBlob, piecesOf, readItemBytes } from '../items/segments.ts';

const none = Buffer.alloc(0);

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
      try {
        await answer(request, request.params.id, reply, deps);
      } catch (error) {
        throw translateError(error, request.params.id);
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
  const raw = takeOver(reply, range === undefined ? 200 : 206, {
    ...headers,
    'content-length': end - start,
    ...(range === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${item.size}` }),
  });
  if (request.method === 'HEAD') await sendBuffer(raw, none);
  else await sendItem(raw, held, head, item, { start, end });
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

/** Straight from the file where the range lies in one; else piece by piece. */
async function sendItem(
  raw: ServerResponse,
  { blobs, ...options }: DataItemDeps,
  head: Buffer,
  item: StoredItem,
  { start, end }: Span,
): Promise<void> {
  try {
    const pieces = [...piecesOf(head.length, item.segments, start, end)];
    const [only] = pieces;
    if (pieces.length === 1 && only?.head === true) {
      await sendBuffer(raw, head.subarray(only.start, only.end), options);
      return;
    }
    if (pieces.length === 1 && only?.head === false) {
      const reader = await openBlob(blobs, only.digest, only.blobSize);
      try {
        await sendSpan(raw, { reader }, only, options);
        return;
      } finally {
        await reader.close();
      }
    }
    const bytes = () => readItemBytes(blobs, head, item.segments, start, end);
    await sendStream(raw, bytes, { ...options, length: end - start });
  } catch (error) {
    raw.destroy();
    throw error;
  }
}

/** The range that is answered; undefined for the whole, also where several ranges are asked for. */
function readRange(header: string | undefined, size: number): Span | undefined {
  const range = parseRange(header, size);
  if (range.kind === 'unsatisfiable') throw uploadErrors.badRange(size);
  return range.kind === 'ranges' && range.spans.length === 1 ? range.spans[0] : undefined;
}
