/** What chain reads are given, and how they answer: in a node's words, with how long a cache may keep them. */
import { isTxId } from '../../formats/base64url.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import type { NodeAnswer } from '../../outside/arweave/node.ts';
import type { NodePool } from '../../outside/arweave/node-pool.ts';
import type { NodeChunks } from '../chain/node-chunks.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { Blocklist } from '../content/blocklist.ts';
import { nodeError } from '../errors.ts';
import type { Meter } from '../meter.ts';

export interface ChainReadsDeps {
  readonly log: Logger;
  readonly index: SqlGatewayIndex;
  readonly nodes: NodePool;
  readonly chunks: NodeChunks;
  readonly meter: Meter;
  readonly blocklist: Blocklist;
  /** Base64url SHA-256 of content that nobody has hashed yet: it is read to its end. undefined where there is none. */
  contentHash(id: string): Promise<string | undefined>;
}

/** Registers GET and HEAD. */
export function addGet(
  app: App,
  url: string,
  summary: string,
  handler: (request: Request, reply: Reply) => Promise<Reply>,
): void {
  app.get(url, { schema: { summary, tags: ['chain'] } }, handler);
  app.head(url, { schema: { hide: true } }, handler);
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

/** Passes a node's answer on: status, type and body as they came. 0 seconds: no cache keeps it. */
export function relay(reply: Reply, answer: NodeAnswer, seconds: number): Reply {
  if (answer.status === 200 && seconds > 0) cacheFor(reply, seconds);
  else reply.header('cache-control', 'no-store');
  const type = answer.contentType === '' ? 'text/plain; charset=utf-8' : answer.contentType;
  return reply.code(answer.status).header('content-type', type).send(answer.body);
}

export const pendingAnswer = (reply: Reply): Reply =>
  reply
    .code(202)
    .header('cache-control', 'no-store')
    .header('content-type', 'text/plain; charset=utf-8')
    .send('Pending');
