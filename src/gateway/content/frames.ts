/**
 * Frames (interface §4.4): the content record of an id shaped as a chain transaction, or, for clients that prefer
 * HTML, the content itself.
 */
import { Type } from 'typebox';
import type { WebOrigin } from '../../delivery/isolation.ts';
import { isTxId } from '../../formats/base64url.ts';
import { memberOf } from '../../formats/json.ts';
import { HttpError, hasCode } from '../../kernel/errors.ts';
import { prefersType } from '../../kernel/http/accept.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { readLimited } from '../../outside/http.ts';
import { bundledItemJson } from '../chain/bundled-header.ts';
import { itemJson } from '../chain-index/item-json.ts';
import { invalidId, Unavailable } from '../errors.ts';
import { largeAnswers } from '../held-bytes.ts';
import { refuseBlockedParts } from './answer/answer.ts';
import { contentTypeOf } from './answer/headers.ts';
import { journeyOf } from './answer/request.ts';
import { type Described, isPending, streamOf } from './opened.ts';
import { refuseBlocked, type ServeParts, servePlace } from './serve.ts';
import type { Journey } from './sources/source.ts';

/** Larger content is not put into the record. */
const inlineLimit = 12 * 1024 * 1024;
const bodyLimit = 64 * 1024;
const varying = { vary: 'Accept' };
const Params = Type.Object({ txId: Type.String() });

/** `origin`: of the hosts that have these routes. */
export function frameRoutes(app: App, parts: ServeParts, origin: WebOrigin): void {
  // The body of a frame's POST says who clicked; nothing here depends on it.
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, _body, done) => done(null));
    // As every refusal of the route; others are answered by the handler outside.
    scope.setErrorHandler((error) => {
      if (!hasCode(error, 'FST_ERR_CTP_BODY_TOO_LARGE')) throw error;
      throw new HttpError(413, 'Payload too large');
    });
    for (const path of ['social', 'farcaster']) {
      for (const method of ['GET', 'POST'] as const) {
        scope.route({
          method,
          url: `/local/${path}/frame/:txId`,
          bodyLimit,
          schema: {
            summary: 'Frame of an id',
            hide: path !== 'social',
            params: Params,
          },
          handler: (request, reply) => serveFrame(parts, request, reply, request.params.txId, origin),
        });
      }
    }
  });
}

async function serveFrame(
  parts: ServeParts,
  request: Request,
  reply: Reply,
  id: string,
  origin: WebOrigin,
): Promise<unknown> {
  if (!isTxId(id)) throw invalidId(id);
  if (prefersHtml(request)) {
    // A header of its own: the answer is not shared with the content's own address, which does not vary.
    const options = { reason: 'content', origin, headers: varying } as const;
    return await servePlace(parts, request, reply, { id, path: '' }, options);
  }
  reply.headers(varying);
  await refuseBlocked(parts, request, id);
  const journey = journeyOf(request);
  const described = await parts.content.describe(id, journey);
  const record = await recordOf(parts, id);
  // Another gateway has the content. Nobody is asked for records.
  if (record === undefined) throw new Unavailable('not-asked');
  await refuseBlockedParts(parts.blocklist, described, undefined);
  const isInline = described.size <= inlineLimit;
  if (request.method === 'HEAD') {
    if (isInline) await checkReadable(parts, described, journey);
    const rest = JSON.stringify({ ...record, data_tree: [], data: '' });
    const dataLength = isInline ? Math.ceil((described.size * 4) / 3) : 0;
    return await reply
      .header('cache-control', cacheControlOf(parts, described))
      .header('content-type', 'application/json; charset=utf-8')
      .header('content-length', String(Buffer.byteLength(rest) + dataLength))
      .send();
  }
  // Before they are read: who is refused costs no memory.
  const charged = parts.meter.charge(
    request,
    isInline ? described.size : 0,
    `data:${id}`,
    'application/json',
  );
  if (charged !== undefined) reply.headers(await charged);
  // As bytes, as base64url, and as JSON.
  largeAnswers.hold(reply.raw, isInline ? described.size * 3 : 0);
  const data = isInline ? await readAll(parts, described, journey) : Buffer.alloc(0);
  return await reply
    .header('cache-control', request.method === 'POST' ? 'no-store' : cacheControlOf(parts, described))
    .send({ ...record, data_tree: [], data: data.toString('base64url') });
}

/** As of the content, which is all that could change in the record. */
function cacheControlOf({ cacheControl }: ServeParts, described: Described): string {
  const { stable, size } = described;
  const contentType = contentTypeOf(described);
  const pending = isPending(described);
  return cacheControl.of({ reason: 'content', pending, stable, trusted: true, size, contentType });
}

async function recordOf(parts: ServeParts, id: string): Promise<Record<string, unknown> | undefined> {
  const transaction = await parts.index.chainTransaction(id);
  if (transaction !== undefined) return { ...transaction };
  const located = await parts.index.locate(id);
  if (located === undefined) return undefined;
  if (located.isPruned === true) return await bundledItemJson(parts.content, located);
  const proof = await parts.index.proof(id);
  // Where the history does not answer any more, the item itself has its signature.
  if (proof === undefined && located.isMoved === true) return await bundledItemJson(parts.content, located);
  return itemJson(located, proof);
}

async function readAll({ content }: ServeParts, described: Described, journey: Journey): Promise<Buffer> {
  try {
    const opened = await content.open(described, undefined, journey, new AbortController().signal);
    const bytes = await readLimited(streamOf(opened), inlineLimit);
    content.noteRead(described.id, journey, opened);
    return bytes;
  } catch (error) {
    content.noteRead(described.id, journey, 'failed');
    throw error;
  }
}

/** Throws as reading it would. */
async function checkReadable({ content }: ServeParts, described: Described, journey: Journey): Promise<void> {
  const cached = await content.cached.open(described);
  if (cached === undefined) await content.checkReadable(described, 0, journey);
  await cached?.reader?.close();
}

function prefersHtml(request: Request): boolean {
  const asked = memberOf(request.query, 'format') === 'content';
  return asked || prefersType(request.headers.accept, 'text/html', 'application/json');
}
