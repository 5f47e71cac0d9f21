/** Serving without verification: what the gateway says is passed on, manifests included. */
import type { Reply, Request } from '../../kernel/http/server.ts';
import { notFound } from '../errors.ts';
import { discard, type GatewayAnswer, headerOf, readBody } from '../gateways/gateway.ts';
import type { Approach } from './headers.ts';
import { isManifestType } from './manifests.ts';
import type { VerifiedParts } from './verified.ts';
import { approachOf, redirectToFolder, type Wanted } from './wanted.ts';

export async function serveUnverified(
  parts: VerifiedParts,
  request: Request,
  reply: Reply,
  wanted: Wanted,
): Promise<void> {
  const { passThrough, manifests, maxManifestBytes } = parts;
  const gone = (): boolean => reply.raw.destroyed;
  const { id, path, slash, raw } = wanted;
  const first = manifests.has(id) && !raw ? undefined : await passThrough.open(request, id, gone);
  const isManifest = first === undefined || isManifestType(headerOf(first.headers, 'content-type') ?? '');
  if (first !== undefined && (raw || !isManifest)) {
    if (path === '' || raw) return await send(parts, request, reply, first, approachOf(wanted));
    discard(first);
    throw notFound(path);
  }
  if (first !== undefined) discard(first);
  const hit = await manifests.resolve(id, path, undefined, async () =>
    readBody(await passThrough.openWhole(id, 'GET', gone), maxManifestBytes),
  );
  if (!slash) return redirectToFolder(reply, wanted);
  parts.refuseBlocked(hit.id);
  const child = await passThrough.open(request, hit.id, gone);
  const approach = { ...approachOf(wanted), id: hit.id, manifestId: id, byFallback: hit.by === 'fallback' };
  await send(parts, request, reply, child, approach);
}

async function send(
  parts: VerifiedParts,
  request: Request,
  reply: Reply,
  answer: GatewayAnswer,
  approach: Approach,
): Promise<void> {
  parts.refuseBlocked(approach.id);
  const { origin } = answer.gateway;
  parts.telemetry?.verification(origin, 'skipped');
  const sent = await parts.passThrough.send(request, reply, answer, approach, parts.stallTimeoutMs);
  parts.telemetry?.bytes(origin, sent);
}
