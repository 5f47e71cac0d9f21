/**
 * From a request to content: which id a host and path mean, whether it may be served, and what a manifest makes
 * of the path. Blocked content is refused on every way to it.
 */

import type { WebOrigin } from '../../delivery/isolation.ts';
import { isManifestType } from '../../delivery/manifests.ts';
import { isTxId } from '../../formats/base64url.ts';
import { tryDecodePercent } from '../../formats/percent-encoding.ts';
import { HttpError } from '../../kernel/errors.ts';
import { namesOneHost } from '../../kernel/http/one-host.ts';
import type { AnswerFirst, Reply, Request } from '../../kernel/http/server.ts';
import { blocked, invalidId, notFound, UpstreamRefusal } from '../errors.ts';
import { type AnswerOptions, type AnswerParts, answerContent, blockedPartOf } from './answer/answer.ts';
import { contentTypeOf, nameHeaders } from './answer/headers.ts';
import type { PlainRequest, Ready } from './answer/ready.ts';
import { journeyOf } from './answer/request.ts';
import type { Content } from './content.ts';
import type { Manifests } from './manifests.ts';
import { splitLabel } from './names/host.ts';
import type { NameResolver, ResolvedTarget } from './names/resolver.ts';
import type { Described } from './opened.ts';
import type { Journey } from './sources/source.ts';

export interface ServeParts extends AnswerParts {
  readonly manifests: Manifests;
  readonly names: NameResolver;
  readonly enforceUndernameLimit: boolean;
}

const noStore = { 'cache-control': 'no-store' };

/** Answers a request like one that was answered before, without its route and the framework. */
export function serveAgain(parts: ServeParts): AnswerFirst {
  const { ready: answers, meter, metrics } = parts;
  return (request, response, newId) => {
    const asked = answers.asked(request);
    const ready = asked && findReady(parts, request, asked.key, asked.id);
    if (asked === undefined || ready === undefined || !namesOneHost(request)) return undefined;
    const answer = answers.answer(request, ready);
    if (answer === undefined) return undefined;
    // A refusal is the framework's to answer.
    if (!meter.chargeNow(request, answer.body?.length ?? 0, `data:${ready.id}`)) return undefined;
    metrics.cacheHits.inc();
    const requestId = newId(request);
    answers.send(response, answer, requestId);
    return { requestId, timings: asked.timings };
  };
}

/** What is at hand under the key and may still be served; `id` is the one in the URL. */
function findReady(parts: ServeParts, request: PlainRequest, key: string, id: string): Ready | undefined {
  const ready = parts.ready.find(request, key);
  if (ready === undefined || parts.blocklist.blocksId(id)) return undefined;
  return isStillServed(parts, ready.described) ? ready : undefined;
}

/** `/raw/{id}`: the bytes as they are. */
export async function serveRaw(
  parts: ServeParts,
  request: Request,
  reply: Reply,
  id: string,
  origin: WebOrigin,
): Promise<unknown> {
  const readyKey = `${origin}/raw/${id}`;
  const ready = findReady(parts, request, readyKey, id);
  const sent = ready && sendReady(parts, request, reply, ready);
  if (sent !== undefined) {
    parts.ready.note(request, origin, id, readyKey);
    return sent;
  }
  if (!isTxId(id)) throw invalidId(id);
  await refuseBlocked(parts, request, id);
  return await answerContent(parts, request, reply, id, { reason: 'content', origin, readyKey });
}

/** Where in the path space the content lies. */
export interface Place {
  readonly id: string;
  /** Below the id, as it stands in the URL; '' where there is none. */
  readonly path: string;
  /** Where a manifest opened without a trailing slash is sent to; undefined where it never is. */
  readonly slashRedirect?: string | undefined;
}

/** `/{id}` and paths below it, a name, or the apex: a manifest is resolved, anything else served as it is. */
export async function servePlace(
  parts: ServeParts,
  request: Request,
  reply: Reply,
  place: Place,
  options: AnswerOptions,
): Promise<unknown> {
  const { id } = place;
  // A name's answer carries the moment it was resolved: it is put together anew each time. What is said at one host
  // is not said at another.
  const how = place.slashRedirect === undefined ? options.reason : 'bare';
  const key = `${options.origin}/${how}/${id}/${place.path}`;
  const readyKey = options.headers === undefined ? key : undefined;
  const ready = readyKey === undefined ? undefined : findReady(parts, request, readyKey, id);
  const sent = ready && sendReady(parts, request, reply, ready);
  if (readyKey !== undefined && sent !== undefined) {
    parts.ready.note(request, options.origin, id, readyKey);
    return sent;
  }
  if (!isTxId(id)) throw invalidId(id);
  await refuseBlocked(parts, request, id);
  const described = await parts.content.describe(id, journeyOf(request));
  if (!isManifestType(described.contentType)) {
    if (place.path !== '') throw notFound();
    return await answerContent(parts, request, reply, id, { ...options, readyKey });
  }
  const hit = await parts.manifests.resolve(described, decodePath(place.path));
  if (hit === undefined) throw notFound();
  if (hit.by === 'index' && place.slashRedirect !== undefined) {
    return await redirectTo(reply.header('cache-control', 'public, max-age=60'), place.slashRedirect, 301);
  }
  await refuseBlocked(parts, request, hit.id);
  const reason = hit.by === 'fallback' ? hit.by : options.reason;
  return await answerContent(parts, request, reply, hit.id, { ...options, reason, readyKey });
}

/** The same head for HEAD as for GET, which the framework leaves a header out of. */
export function redirectTo(reply: Reply, location: string, status: 301 | 302): Reply {
  return reply.header('content-length', '0').redirect(location, status);
}

/** What a name points at; the content of `path` there. */
export async function serveName(
  parts: ServeParts,
  request: Request,
  reply: Reply,
  label: string,
  path: string,
): Promise<unknown> {
  const target = await resolveLabel(parts, request, label);
  const { name, undername } = splitLabel(label);
  const { undernameLimit, recordIndex } = target;
  const beyond = undernameLimit !== undefined && recordIndex !== undefined && recordIndex > undernameLimit;
  if (parts.enforceUndernameLimit && beyond) {
    const text = 'ArNS undername limit exceeded. Purchase additional undernames to continue.';
    throw new HttpError(402, text, { headers: noStore });
  }
  const headers = nameHeaders(label, name, undername, target);
  const options = { reason: 'name', origin: 'own', ttlSeconds: target.ttlSeconds, headers } as const;
  // Where the name points is an answer too where its content is not to be had.
  reply.headers(headers);
  return await servePlace(parts, request, reply, { id: target.id, path }, options);
}

/** Throws `NameAbsent` where the name points nowhere. */
export async function resolveLabel(
  parts: ServeParts,
  request: Request,
  label: string,
): Promise<ResolvedTarget> {
  if (parts.blocklist.blocksName(label)) throw blocked(label);
  const { name, undername } = splitLabel(label);
  return await parts.names.resolve(name, undername, journeyOf(request));
}

/** undefined where the request asks for what is not at hand. */
function sendReady(
  { ready: answers, meter, metrics }: ServeParts,
  request: Request,
  reply: Reply,
  ready: Ready,
): Promise<Reply> | Reply | undefined {
  const answer = answers.answer(request, ready);
  if (answer === undefined) return undefined;
  const charged = meter.charge(
    request,
    answer.body?.length ?? 0,
    `data:${ready.id}`,
    contentTypeOf(ready.described),
  );
  metrics.cacheHits.inc();
  const send = (more?: Readonly<Record<string, string>>): Reply => {
    answers.send(reply.hijack().raw, answer, request.id, more);
    return reply;
  };
  return charged === undefined ? send() : charged.then(send);
}

/** Whether an answer that was given before may be given again. */
function isStillServed({ blocklist: list }: ServeParts, described: Described): boolean {
  const { id, hash, size } = described;
  if (list.blocksId(id) || (hash !== undefined && list.blocksHash(hash))) return false;
  return blockedPartOf(list, described, { start: 0, end: size }) === undefined;
}

/** By id, and by what the bytes are: a copy under another id is no way around. */
export async function refuseBlocked(
  { blocklist: list, content }: AnswerParts,
  request: Request,
  id: string,
): Promise<void> {
  if (list.blocksId(id)) throw blocked(id);
  if (!list.wantsHashes) return;
  const journey = journeyOf(request);
  const { hash = await hashOf(content, id, journey) } = await content.describe(id, journey);
  if (hash !== undefined && list.blocksHash(hash)) throw blocked(id);
}

/** Who has it and will not give it to us refuses for the reason that we would: the upload service obeys this list. */
async function hashOf(content: Content, id: string, journey: Journey): Promise<string | undefined> {
  return content.hashOf(id, journey).catch((error: unknown) => {
    throw error instanceof UpstreamRefusal ? blocked(id) : error;
  });
}

function decodePath(path: string): string {
  const decoded = tryDecodePercent(path);
  if (decoded === undefined)
    throw new HttpError(400, 'Bad Request: Invalid URL encoding', { headers: noStore });
  return decoded;
}
