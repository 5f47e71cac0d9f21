/**
 * Chain reads and GraphQL on the root host, passed on to a gateway or node: clients that are pointed at the router
 * use them to check content for themselves. Nothing of it is kept, since blocks may still change.
 */
import { isolate } from '../../delivery/isolation.ts';
import { takeOver } from '../../kernel/http/send-bytes.ts';
import { sendStream } from '../../kernel/http/send-stream.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { gatewayError, notFound, pathOf, payloadTooLarge } from '../errors.ts';
import { type Ask, copyHeaders, discard } from '../gateways/gateway.ts';
import type { HedgedAsks } from '../gateways/hedged-ask.ts';
import type { ChainReaders } from '../gateways/part.ts';

export interface ChainProxyOptions extends ChainReaders {
  readonly attempts: number;
  readonly stallTimeoutMs: number;
}

const graphqlBodyLimit = 1024 * 1024;
/** Answers for which another gateway is asked. */
const elsewhere = new Set([404, 410, 429]);
const relayed = [
  'content-type',
  'content-length',
  'content-encoding',
  'etag',
  // What a chunk is a chunk of: clients that read by chunks go by these.
  'x-arweave-chunk-tx-id',
  'x-arweave-chunk-start-offset',
  'x-arweave-chunk-relative-start-offset',
  'x-arweave-chunk-read-offset',
  'x-arweave-chunk-tx-data-size',
  'x-arweave-chunk-tx-start-offset',
  'x-arweave-chunk-data-path',
  'x-arweave-chunk-data-root',
  'x-arweave-chunk-tx-path',
] as const;

export class ChainProxy {
  readonly #options: ChainProxyOptions;

  constructor(options: ChainProxyOptions) {
    this.#options = options;
  }

  async read(request: Request, reply: Reply): Promise<void> {
    const method = request.method === 'HEAD' ? 'HEAD' : 'GET';
    // Whatever host the absolute form names (RFC 9112 §3.2.2), it is not for the gateway to follow.
    const path = request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, '');
    await this.#pass(request, reply, this.#options.nodes, { role: 'chain', method, path });
  }

  /** `POST /graphql`, and `GET` with the query in the URL. */
  graphqlRoutes(app: App): void {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: graphqlBodyLimit },
      (_request, body, done) => done(null, body),
    );
    app.route({
      method: ['GET', 'POST'],
      url: '/graphql',
      bodyLimit: graphqlBodyLimit,
      schema: { summary: 'GraphQL of a gateway' },
      errorHandler: (error, _request, reply) => {
        if ('statusCode' in error && error.statusCode === 413) throw payloadTooLarge();
        return reply.send(error);
      },
      handler: async (request, reply) => {
        const { graphql, graphqlPath } = this.#options;
        const mark = request.url.indexOf('?');
        const path = graphqlPath + (mark === -1 ? '' : request.url.slice(mark));
        const isPost = request.method === 'POST';
        const headers: Record<string, string> = {};
        copyHeaders(request.headers, ['content-type', 'accept'], headers);
        await this.#pass(request, reply, graphql, {
          role: 'chain',
          method: isPost ? 'POST' : 'GET',
          path,
          headers,
          ...(isPost && Buffer.isBuffer(request.body) ? { body: request.body } : {}),
        });
      },
    });
  }

  async #pass(request: Request, reply: Reply, asks: HedgedAsks, ask: Ask): Promise<void> {
    const { attempts, stallTimeoutMs } = this.#options;
    const answer = await asks.ask(ask, {
      attempts,
      tried: new Set(),
      // What one does not have, another may: they learn of blocks at different times.
      accepts: ({ status }) => status < 300 || (status >= 400 && status < 500 && !elsewhere.has(status)),
      absent: () => notFound(pathOf(request.url)),
      gone: () => reply.raw.destroyed,
    });
    const headers: Record<string, string> = {
      'cache-control': 'no-store',
      'x-router-mode': 'proxy',
      'x-router-verified': 'false',
      'x-router-routed-via': answer.gateway.origin,
    };
    copyHeaders(answer.headers, relayed, headers);
    // The body may be an uploader's, and the type is what the gateway says.
    isolate(headers, headers['content-type'] ?? '', 'shared');
    const raw = takeOver(reply, answer.status, headers);
    if (request.method === 'HEAD') {
      discard(answer);
      raw.end();
      return;
    }
    const length = headers['content-length'];
    await sendStream(raw, (gone) => answer.body.until(gone), {
      length: length === undefined ? undefined : Number(length),
      stallTimeoutMs,
    }).catch((error: unknown) => {
      throw gatewayError('The gateway broke off', error);
    });
  }
}
