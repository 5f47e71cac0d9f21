/** Serving without verification: what the gateway says is passed on, manifests included. */

import { isManifestType } from '../../delivery/manifests.ts';
import { type TxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import { headerOf, partIn } from '../../outside/answer-head.ts';
import { notFound } from '../errors.ts';
import { discard, type GatewayAnswer, readBody } from '../gateways/gateway.ts';
import { type ContentRequest, inManifest, redirectToFolder } from './content-request.ts';
import type { AccessPath } from './headers.ts';
import { placementOf } from './placements.ts';
import type { VerifiedParts } from './verified.ts';

export async function serveUnverified(
  parts: VerifiedParts,
  request: Request,
  reply: Reply,
  asked: ContentRequest,
): Promise<void> {
  const { passThrough, manifests, maxManifestBytes } = parts;
  const gone = (): boolean => reply.raw.destroyed;
  const { id, path, slash, raw } = asked;
  // Below an id, conditions and ranges are about what the path leads to.
  const itself = path === '' || raw;
  const ask = () => (itself ? passThrough.open(request, id, gone) : passThrough.openWhole(id, 'GET', gone));
  const first = manifests.has(id) && !raw ? undefined : await ask();
  const isManifest =
    first === undefined || (first.status === 416 ? await isManifestId(parts, id, gone) : saysManifest(first));
  if (first !== undefined && (raw || !isManifest)) {
    if (itself) return await send(parts, request, reply, first, asked);
    discard(first);
    throw notFound(path);
  }
  if (first !== undefined) discard(first);
  await refuseHash(parts, id, undefined, gone);
  const hit = await manifests.resolve(id, path, undefined, async () =>
    readBody(await passThrough.openWhole(id, 'GET', gone), maxManifestBytes),
  );
  if (!slash) return redirectToFolder(reply, asked);
  parts.refusals.id(hit.id);
  const child = await passThrough.open(request, hit.id, gone);
  await send(parts, request, reply, child, inManifest(asked, hit));
}

function saysManifest({ headers }: GatewayAnswer): boolean {
  return isManifestType(headerOf(headers, 'content-type') ?? '');
}

/** A range that a manifest does not have may be one of its index page. */
async function isManifestId({ passThrough }: VerifiedParts, id: TxId, gone: () => boolean): Promise<boolean> {
  const head = await passThrough.openWhole(id, 'HEAD', gone);
  discard(head);
  return saysManifest(head);
}

/** Throws where any of what the reader would be shown is blocked, who is sent on to a gateway for it. */
export async function refuseUnverified(parts: VerifiedParts, asked: ContentRequest): Promise<void> {
  const { passThrough, manifests, refusals, maxManifestBytes } = parts;
  const gone = (): boolean => false;
  let head = await passThrough.openWhole(asked.id, 'HEAD', gone);
  discard(head);
  await refuseHash(parts, asked.id, head, gone);
  let { id } = asked;
  if (!asked.raw && saysManifest(head)) {
    ({ id } = await manifests.resolve(id, asked.path, undefined, async () =>
      readBody(await passThrough.openWhole(asked.id, 'GET', gone), maxManifestBytes),
    ));
    refusals.id(id);
    head = await passThrough.openWhole(id, 'HEAD', gone);
    discard(head);
    await refuseHash(parts, id, head, gone);
  }
  const region = await refusals.regionOf(id, placementOf(head));
  if (region !== undefined) refusals.parts(id, region, undefined);
}

/** By the hash that the gateway tells, which is believed here; where it tells none, by what it sends. */
async function refuseHash(
  { passThrough, refusals }: VerifiedParts,
  id: TxId,
  told: GatewayAnswer | undefined,
  gone: () => boolean,
): Promise<void> {
  if (!refusals.list.wantsHashes) return;
  const stated = told && headerOf(told.headers, 'x-ar-io-digest');
  const bytes = stated === undefined ? undefined : tryDecodeBase64url(stated);
  refusals.digest(bytes?.length === 32 ? bytes.toString('hex') : await passThrough.digestOf(id, gone));
}

async function send(
  parts: VerifiedParts,
  request: Request,
  reply: Reply,
  answer: GatewayAnswer,
  accessPath: AccessPath,
): Promise<void> {
  if (!parts.refusals.list.isEmpty) await refuseAnswer(parts, reply, answer, accessPath);
  const { origin } = answer.gateway;
  parts.telemetry?.verification(origin, 'skipped');
  const sent = await parts.passThrough.send(request, reply, answer, accessPath, parts.stallTimeoutMs);
  parts.telemetry?.bytes(origin, sent);
}

async function refuseAnswer(
  parts: VerifiedParts,
  reply: Reply,
  answer: GatewayAnswer,
  accessPath: AccessPath,
): Promise<void> {
  const { refusals } = parts;
  const { id } = accessPath;
  try {
    await refuseHash(parts, id, answer, () => reply.raw.destroyed);
    const region = await refusals.regionOf(id, placementOf(answer));
    refusals.path(accessPath);
    if (region !== undefined && answer.status !== 416) refusals.parts(id, region, spansOf(answer));
  } catch (error) {
    discard(answer);
    throw error;
  }
}

/** Which bytes an answer has; undefined for all, also where it does not say. */
function spansOf({ status, headers }: GatewayAnswer): Span[] | undefined {
  const part = status === 206 ? partIn(headers) : undefined;
  return part && [part];
}
