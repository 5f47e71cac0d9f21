/** What chain reads are given, and how they answer: in a node's words, with how long a cache may keep them. */

import { isolate } from '../../delivery/isolation.ts';
import type { ForkedChain } from '../../fork/chain.ts';
import { isTxId } from '../../formats/base64url.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import type { NodeAnswer } from '../../outside/arweave/node.ts';
import type { ByteSource } from '../chain/byte-source.ts';
import type { GatewayContext } from '../chain/context.ts';
import type { Blocklist } from '../content/blocklist.ts';
import { blocked, nodeError } from '../errors.ts';
import type { Meter } from '../meter.ts';
import { sendText } from './text-errors.ts';

export interface ChainReadsDeps extends Pick<GatewayContext, 'log' | 'index' | 'nodes' | 'chunks'> {
  readonly meter: Meter;
  readonly blocklist: Blocklist;
  /** Base64url SHA-256 of content that nobody has hashed yet: it is read to its end. undefined where there is none. */
  contentHash(id: string): Promise<string | undefined>;
  /** Content as it is served; throws where it is not to be had. */
  readonly bytes: ByteSource;
  /** Keeps data that came with a posted transaction. */
  keepInline(id: string, data: Buffer): Promise<void>;
  /** What neither the index nor the nodes have is read from there. */
  readonly fork?: ForkedChain | undefined;
}

export function addGet(
  app: App,
  url: string,
  summary: string,
  handler: (request: Request, reply: Reply) => Promise<Reply>,
): void {
  app.get(url, { schema: { summary, tags: ['chain'] } }, handler);
}

export function requireId(text: string, words: unknown): string {
  if (!isTxId(text)) throw nodeError(400, words);
  return text;
}

/** Digits that are a safe integer, without signs, exponents or needless zeros beyond the first digit. */
export function parseDigits(text: string): number | undefined {
  if (!/^[0-9]{1,16}$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

export function cacheFor(reply: Reply, seconds: number): Reply {
  return reply.header('cache-control', `public, max-age=${seconds}`);
}

export function cacheForever(reply: Reply): Reply {
  return reply.header('cache-control', 'public, max-age=31536000, immutable');
}

/** What is stable is cached for good; the rest may still move. */
export function cacheBy(reply: Reply, isStable: boolean): Reply {
  return isStable ? cacheForever(reply) : cacheFor(reply, 30);
}

/**
 * Passes a node's answer on: status, type and body as they came. 0 seconds: no cache keeps it. The body may be an
 * uploader's and the type is what the node says.
 */
export function relay(reply: Reply, answer: NodeAnswer, seconds: number): Reply {
  if (answer.status === 200 && seconds > 0) cacheFor(reply, seconds);
  else reply.header('cache-control', 'no-store');
  const type = relayedType(answer);
  const headers: Record<string, string> = { 'content-type': type };
  isolate(headers, type, 'shared');
  return reply.code(answer.status).headers(headers).send(answer.body);
}

export function relayedType({ contentType }: NodeAnswer): string {
  return contentType === '' ? 'text/plain; charset=utf-8' : contentType;
}

export const pendingAnswer = (reply: Reply): Reply =>
  sendText(reply.code(202).header('cache-control', 'no-store'), 'Pending');

/**
 * The block list on the routes that pass on a node's bytes: throws 451 where the id, its content, or a blocked item in
 * the asked bytes (all, where none are named) is blocked.
 */
export async function refuseBlockedBytes(
  { blocklist, index, contentHash }: ChainReadsDeps,
  id: string,
  asked?: Span,
): Promise<void> {
  if (blocklist.blocksId(id)) throw blocked(id);
  const located = await index.locate(id);
  // A copy that nobody has hashed is no way around: it is read to its end first, as on the content routes.
  const isUnread = located?.hash === undefined && blocklist.wantsHashes && located?.height !== undefined;
  const hash = isUnread ? await contentHash(id) : located?.hash;
  if (hash !== undefined && blocklist.blocksHash(hash)) throw blocked(id);
  await blocklist.lookInto(id, located);
  const { root, dataOffsetInRoot: start } = located?.placement ?? { root: id, dataOffsetInRoot: 0 };
  const content = { start, end: located === undefined ? Number.MAX_SAFE_INTEGER : start + located.size };
  const part = blocklist.blockedPart(root, content, asked ?? content, id);
  if (part !== undefined) throw blocked(part);
}
