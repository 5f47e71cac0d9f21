/**
 * `POST /tx` and `POST /chunk`, passed on to a node. A transaction that the node took is indexed as pending at
 * once, so that GraphQL shows it before it is mined, and data that came with it can be read here.
 */
import { hash } from 'node:crypto';
import { tryParseJson } from '../../formats/json.ts';
import { hasCode } from '../../kernel/errors.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { nodeError } from '../errors.ts';
import { HeldBytes } from '../held-bytes.ts';
import { indexPending, inlineData } from '../import/pending.ts';
import { type ChainReadsDeps, relay } from './answers.ts';
import { sendText } from './text-errors.ts';

/** 10 MiB of inline data in base64url and the header. */
const maxTxBytes = 14 * 1024 * 1024;
const maxChunkBytes = 750_000;
/** What the bodies of one route may be together; a client says before how large its own is, or has it counted as such. */
const maxTogether = 128 * 1024 * 1024;

export type TakeInDeps = Pick<ChainReadsDeps, 'index' | 'blocklist' | 'keepInline'>;

/** Makes a transaction known that a node accepted, by its JSON, with the data that came along. */
export async function takeIn({ index, blocklist, keepInline }: TakeInDeps, json: unknown): Promise<void> {
  const transaction = await indexPending(index, json);
  if (transaction === undefined) return;
  const id = transaction.id.toString('base64url');
  const data = inlineData(transaction);
  // What the operator removed does not come back by being posted again.
  if (
    data === undefined ||
    blocklist.blocksId(id) ||
    blocklist.blocksHash(hash('sha256', data, 'base64url'))
  ) {
    return;
  }
  await keepInline(id, data);
}

export function postRoutes(app: App, deps: ChainReadsDeps): void {
  const { nodes, log } = deps;
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.setErrorHandler((error, _request, reply) => {
      if (hasCode(error, 'FST_ERR_CTP_BODY_TOO_LARGE')) {
        return sendText(reply.code(413).header('cache-control', 'no-store'), 'Payload too large');
      }
      throw error;
    });

    scope.post(
      '/tx',
      {
        bodyLimit: maxTxBytes,
        schema: { summary: 'Post a transaction', tags: ['chain'] },
        onRequest: holding(maxTxBytes),
      },
      async (request, reply) => {
        const body = bodyOf(request);
        const json = tryParseJson(body.toString('utf8'));
        if (json === undefined) throw nodeError(400, 'Invalid JSON.');
        const answer = await nodes.post('/tx', body, 'application/json', { lane: 'bytes' });
        if (answer.status === 200 || answer.status === 208) {
          await takeIn(deps, json).catch((error: unknown) => {
            log.warn({ err: error }, 'a posted transaction could not be indexed');
          });
          // Whoever posted it and looks for it finds it, whichever gateway answers.
          await deps.index.sql.visible();
        }
        return relay(reply, answer, 0);
      },
    );

    scope.post(
      '/chunk',
      {
        bodyLimit: maxChunkBytes,
        schema: { summary: 'Post a chunk', tags: ['chain'] },
        onRequest: holding(maxChunkBytes),
      },
      async (request: Request, reply: Reply) => {
        const answer = await nodes.post('/chunk', bodyOf(request), 'application/json', { lane: 'bytes' });
        // 303 is "taken for now" to a node; published clients count only 200.
        return relay(reply, answer.status === 303 ? { ...answer, status: 200 } : answer, 0);
      },
    );
  });
}

/** Refuses a body before it is read where there is no room for it. */
function holding(limit: number): (request: Request, reply: Reply) => Promise<void> {
  const bodies = new HeldBytes(maxTogether, 'bodies');
  return async (request, reply) => {
    const said = request.headers['content-length'];
    bodies.hold(reply.raw, Math.min(limit, said === undefined ? limit : Number(said)));
  };
}

function bodyOf(request: Request): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}
