/** Serving with verification: nothing leaves that is not proven, and manifests are resolved from proven bytes. */

import type { Download } from '../../delivery/download.ts';
import { isManifestType } from '../../delivery/manifests.ts';
import { joinPieces } from '../../delivery/streams.ts';
import type { TxId } from '../../formats/base64url.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import { lengthIn } from '../../outside/answer-head.ts';
import { notFound, verificationFailed } from '../errors.ts';
import { discard } from '../gateways/gateway.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { answer } from './answer.ts';
import { onceArrived, unprovenOf } from './arrival.ts';
import type { Content } from './content.ts';
import { type ContentRequest, inManifest, redirectToFolder } from './content-request.ts';
import { typeOf, wholeLimit } from './fetch.ts';
import type { AccessPath } from './headers.ts';
import type { Manifests } from './manifests.ts';
import { fromCache, letGo, type Opened } from './opened.ts';
import type { PassThrough } from './pass-through.ts';
import { type Placements, placementOf } from './placements.ts';
import type { ReadyAnswers } from './ready.ts';
import type { Refusals } from './refusals.ts';

export interface VerifiedParts {
  readonly content: Content;
  readonly passThrough: PassThrough;
  readonly manifests: Manifests;
  readonly placements: Placements;
  readonly ready: ReadyAnswers;
  readonly telemetry: Telemetry | undefined;
  readonly maxManifestBytes: number;
  readonly stallTimeoutMs: number;
  readonly refusals: Refusals;
}

/** How long a question about content waits for the content itself, when that is on its way. */
const headTimeoutMs = 5_000;

export async function serveVerified(
  parts: VerifiedParts,
  request: Request,
  reply: Reply,
  asked: ContentRequest,
): Promise<void> {
  const start = performance.now();
  const isHead = request.method === 'HEAD';
  const { content } = parts;
  const open = (id: TxId): Promise<Opened> =>
    isHead
      ? describeAllowed(parts, id)
      : openAllowed(
          parts,
          id,
          () => content.open(id),
          () => leaving(reply),
        );
  const first = await open(asked.id);
  if (asked.raw || !isManifestType(first.contentType)) {
    if (asked.path === '' || asked.raw) return await send(parts, request, reply, first, asked, start);
    await letGo(first);
    throw notFound(asked.path);
  }
  const hit = await resolveManifest(parts, asked, first);
  if (!asked.slash) return redirectToFolder(reply, asked);
  parts.refusals.id(hit.id);
  await send(parts, request, reply, await open(hit.id), inManifest(asked, hit), start);
}

/** Hash of content in hex, read to its end where nobody knows it. */
export async function digestOf(parts: VerifiedParts, id: TxId): Promise<string | undefined> {
  const { content } = parts;
  const known = await describe(parts, id);
  if (known.digest !== undefined) return known.digest;
  const open = () => content.open(id);
  const hashed = await rereadHashed(content, id, await open(), open, new Promise(() => {}));
  await letGo(hashed);
  return hashed.digest;
}

/** Throws where any of what the reader would be shown is blocked, who is sent on to a gateway for it. */
export async function refuseVerified(parts: VerifiedParts, asked: ContentRequest): Promise<void> {
  const { refusals } = parts;
  const first = await describeAllowed(parts, asked.id);
  let { id } = asked;
  let shown = first;
  if (!asked.raw && isManifestType(first.contentType)) {
    ({ id } = await resolveManifest(parts, asked, first));
    refusals.id(id);
    shown = await describeAllowed(parts, id);
  }
  const region = await refusals.regionOf(id, shown.placement);
  if (region !== undefined) refusals.parts(id, region, undefined);
}

/** What can be said about content that is not blocked by what its bytes are. */
async function describeAllowed(parts: VerifiedParts, id: TxId): Promise<Opened> {
  return await openAllowed(
    parts,
    id,
    () => describe(parts, id),
    () => new Promise(() => {}),
  );
}

/**
 * Content that is not blocked by its hash. Where some hash is blocked and nobody knows that of the content, it is read
 * to its end before its first byte leaves.
 */
async function openAllowed(
  { content, refusals }: VerifiedParts,
  id: TxId,
  open: () => Promise<Opened>,
  left: () => Promise<void>,
): Promise<Opened> {
  const opened = await open();
  if (!refusals.list.wantsHashes) return opened;
  const hashed = opened.digest === undefined ? await rereadHashed(content, id, opened, open, left()) : opened;
  try {
    refusals.digest(hashed.digest);
  } catch (error) {
    await letGo(hashed);
    throw error;
  }
  return hashed;
}

async function rereadHashed(
  content: Content,
  id: TxId,
  opened: Opened,
  open: () => Promise<Opened>,
  left: Promise<void>,
): Promise<Opened> {
  const whole = hasBytes(opened) ? opened : await content.open(id);
  try {
    await readToEnd(whole, left);
  } catch (error) {
    throw verificationFailed(id, 'The content could not be fetched whole', error);
  } finally {
    await letGo(whole);
  }
  const again = await open();
  if (again.digest !== undefined) return again;
  await letGo(again);
  throw verificationFailed(id, 'The hash of the content could not be found out');
}

/** Until it is proven, and its hash known. */
async function readToEnd({ download }: Opened, left: Promise<void>): Promise<void> {
  if (download?.isKept === true) await download.whole(left);
  else if (download !== undefined) {
    const gone = new AbortController();
    void left.then(() => gone.abort());
    // What nobody keeps is fetched once more when its hash is known.
    for await (const _piece of download.read(gone.signal));
  }
}

async function resolveManifest(parts: VerifiedParts, { id, path }: ContentRequest, opened: Opened) {
  const { manifests, content, maxManifestBytes } = parts;
  try {
    return await manifests.resolve(id, path, opened.size, async () =>
      readAll(hasBytes(opened) ? opened : await content.open(id), maxManifestBytes),
    );
  } finally {
    await letGo(opened);
  }
}

async function send(
  parts: VerifiedParts,
  request: Request,
  reply: Reply,
  found: Opened,
  accessPath: AccessPath,
  start: number,
): Promise<void> {
  const { telemetry, stallTimeoutMs, content, refusals } = parts;
  let opened = found;
  if (opened.download !== undefined && request.headers.range !== undefined) {
    opened = await finished(content, accessPath.id, opened, opened.download, leaving(reply));
  }
  const { placements } = parts;
  const placement =
    opened.placement ??
    (request.method === 'HEAD' ? await placements.find(accessPath.id) : placements.at(accessPath.id));
  if (placement !== undefined) opened = { ...opened, placement };
  const region = refusals.list.hasPlaces ? await refusals.regionOf(accessPath.id, placement) : undefined;
  const refuseParts = (spans: readonly Span[] | undefined): void => {
    // Last of all, since time has passed.
    refusals.path(accessPath);
    refusals.digest(opened.digest);
    if (region !== undefined) refusals.parts(accessPath.id, region, spans);
  };
  const sent = await answer(request, reply, opened, accessPath, { stallTimeoutMs, refuseParts });
  if (opened.from === 'cache') {
    telemetry?.cacheHit(sent, performance.now() - start);
    parts.ready.keep(request, accessPath);
  } else telemetry?.bytes(opened.from, sent);
}

/** A part of content that is on its way is served once the whole is proven, from the cache where it is kept. */
async function finished(
  content: Content,
  id: TxId,
  opened: Opened,
  download: Download,
  left: Promise<void>,
): Promise<Opened> {
  if (!download.isKept) return opened;
  const whole = await download.whole(left).catch((error: unknown) => {
    throw verificationFailed(id, 'The content could not be fetched whole', error);
  });
  return whole === undefined ? opened : await content.open(id);
}

/** Resolves when the reader is gone. */
function leaving({ raw }: Reply): Promise<void> {
  return new Promise((resolve) => {
    if (raw.destroyed) resolve();
    else raw.once('close', resolve);
  });
}

/** What can be said about content without fetching it. */
async function describe(parts: VerifiedParts, id: TxId): Promise<Opened> {
  const { content } = parts;
  const proven = (await content.proven(id)) ?? (await content.underway(id, headTimeoutMs));
  return proven === undefined ? await onceArrived(() => describeUnread(parts, id)) : fromCache(proven);
}

/** What could not be served is not promised either. */
async function describeUnread({ content, passThrough }: VerifiedParts, id: TxId): Promise<Opened> {
  const search = content.expect(id);
  const upstream = await passThrough.openWhole(id, 'HEAD', () => false);
  discard(upstream);
  const expectation = await search.settleUnread(upstream);
  if (expectation === undefined) throw unprovenOf(id, upstream);
  const { contentEncoding, digest, method, by, size } = expectation;
  const placement = placementOf(upstream);
  const told = lengthIn(upstream.headers);
  // A signature says nothing of the length: what is small is read for it, and what nobody proved is not told.
  if (size === undefined && told !== undefined && told <= wholeLimit) {
    const opened = await content.open(id);
    if (opened.download === undefined) return opened;
    await letGo(opened);
  }
  return {
    ...(placement === undefined ? {} : { placement }),
    size,
    contentType: typeOf(expectation),
    contentEncoding,
    digest,
    method,
    by,
    from: upstream.gateway.origin,
    verifiedAt: undefined,
    verified: false,
  };
}

function hasBytes({ pieces, reader, download }: Opened): boolean {
  return pieces !== undefined || reader !== undefined || download !== undefined;
}

async function readAll(opened: Opened, limit: number): Promise<Buffer> {
  if (opened.pieces !== undefined) return joinPieces(opened.pieces);
  const { reader, download } = opened;
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of reader?.stream() ?? download?.read(new AbortController().signal) ?? []) {
      size += piece.length;
      pieces.push(piece);
      if (size > limit) break;
    }
  } finally {
    await reader?.close();
  }
  return joinPieces(pieces);
}
