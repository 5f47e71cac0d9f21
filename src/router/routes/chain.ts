/**
 * Chain reads and GraphQL on the root host, passed on to a gateway or node: clients that are pointed at the router
 * use them to check content for themselves. Nothing of it is kept, since blocks may still change.
 */
import { isolate } from '../../delivery/isolation.ts';
import { isTxId, type TxId } from '../../formats/base64url.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import { sendBuffer, takeOver } from '../../kernel/http/send-bytes.ts';
import { sendStream } from '../../kernel/http/send-stream.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { headerOf, lengthIn } from '../../outside/answer-head.ts';
import type { Refusals } from '../content/refusals.ts';
import type { OwnTarget } from '../content/serve.ts';
import { gatewayError, notFound, pathOf, payloadTooLarge } from '../errors.ts';
import { type Ask, copyHeaders, discard, readBody } from '../gateways/gateway.ts';
import type { HedgedAsks } from '../gateways/hedged-ask.ts';
import type { ChainReaders } from '../gateways/part.ts';

export interface ChainProxyOptions extends ChainReaders {
  readonly attempts: number;
  readonly stallTimeoutMs: number;
  /** Who is asked which transaction a chunk belongs to. */
  readonly contentGateways: HedgedAsks;
  readonly refusals: Refusals;
  /** Throws where data of a transaction may not be served; all of it unless a span is given. */
  readonly refuseData: (id: TxId, span?: Span) => Promise<void>;
}

type ChainTarget = Extract<OwnTarget, { kind: 'chain' }>;

/** A transaction of the first format with the most data that nodes take in it, in base64url. */
const maxTransactionBytes = 20 * 1024 * 1024;

const graphqlBodyLimit = 1024 * 1024;
/** Answers for which another gateway is asked. */
const elsewhere = new Set([404, 410, 429, 451]);
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

  async read(request: Request, reply: Reply, target: ChainTarget): Promise<void> {
    const { refusals } = this.#options;
    const { id, data, chunk } = target;
    if (id !== undefined) refusals.id(id);
    if (!refusals.list.isEmpty) {
      if (id !== undefined && data === 'whole') await this.#options.refuseData(id);
      if (chunk !== undefined) await this.#refuseChunk(chunk, () => reply.raw.destroyed);
    }
    const method = request.method === 'HEAD' ? 'HEAD' : 'GET';
    // Whatever host the absolute form names (RFC 9112 §3.2.2), it is not for the gateway to follow.
    const path = request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, '');
    const ask: Ask = { role: 'chain', method, path };
    const carriesData = data === 'perhaps' && method === 'GET' && !refusals.list.isEmpty ? id : undefined;
    await this.#pass(request, reply, this.#options.nodes, ask, carriesData);
  }

  /**
   * A chunk is bytes of a transaction, and which, gateways tell by `HEAD`. Where none does, the chunk is not passed on:
   * anything might be in it.
   */
  async #refuseChunk(offset: string, gone: () => boolean): Promise<void> {
    const { attempts, contentGateways, refuseData } = this.#options;
    const path = `/chunk/${offset}/data`;
    const answer = await contentGateways.ask(
      { role: 'chain', method: 'HEAD', path },
      {
        attempts,
        tried: new Set(),
        accepts: ({ status }) => status === 200,
        absent: () => notFound(path),
        gone,
      },
    );
    discard(answer);
    const id = headerOf(answer.headers, 'x-arweave-chunk-tx-id');
    const start = Number(headerOf(answer.headers, 'x-arweave-chunk-relative-start-offset'));
    const size = lengthIn(answer.headers);
    if (id === undefined || !isTxId(id) || !Number.isSafeInteger(start) || size === undefined) {
      throw gatewayError('No gateway tells which transaction the chunk belongs to');
    }
    await refuseData(id, { start, end: start + size });
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

  /** `carriesData`: the transaction whose data may be in the answer. */
  async #pass(request: Request, reply: Reply, asks: HedgedAsks, ask: Ask, carriesData?: TxId): Promise<void> {
    const { attempts, stallTimeoutMs, refuseData } = this.#options;
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
    if (carriesData !== undefined) {
      const body = await readBody(answer, maxTransactionBytes);
      const data = memberOf(tryParseJson(body.toString('utf8')), 'data');
      if (data !== undefined && data !== '') await refuseData(carriesData);
      headers['content-length'] = String(body.length);
      await sendBuffer(takeOver(reply, answer.status, headers), body, { stallTimeoutMs });
      return;
    }
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
