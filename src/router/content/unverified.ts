/** Serving without verification: what the gateway says is passed on, manifests included. */

import { isManifestType } from '../../delivery/manifests.ts';
import type { TxId } from '../../formats/base64url.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import { notFound } from '../errors.ts';
import { discard, type GatewayAnswer, headerOf, readBody } from '../gateways/gateway.ts';
import { type ContentRequest, inManifest, redirectToFolder } from './content-request.ts';
import type { AccessPath } from './headers.ts';
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
  const hit = await manifests.resolve(id, path, undefined, async () =>
    readBody(await passThrough.openWhole(id, 'GET', gone), maxManifestBytes),
  );
  if (!slash) return redirectToFolder(reply, asked);
  parts.refuseBlocked(hit.id);
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

async function send(
  parts: VerifiedParts,
  request: Request,
  reply: Reply,
  answer: GatewayAnswer,
  accessPath: AccessPath,
): Promise<void> {
  try {
    parts.refuseBlockedPath(accessPath);
  } catch (error) {
    discard(answer);
    throw error;
  }
  const { origin } = answer.gateway;
  parts.telemetry?.verification(origin, 'skipped');
  const sent = await parts.passThrough.send(request, reply, answer, accessPath, parts.stallTimeoutMs);
  parts.telemetry?.bytes(origin, sent);
}
