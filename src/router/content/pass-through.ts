/**
 * Content without verification: the gateway's answer, passed on as it comes. Ranges and conditions are the
 * gateway's to answer; nothing is kept. What a gateway says about itself is not repeated as the router's word.
 */
import { createHash } from 'node:crypto';
import { isolate } from '../../delivery/isolation.ts';
import { withMinimumSpeed } from '../../delivery/minimum-speed.ts';
import type { TxId } from '../../formats/base64url.ts';
import { endNow, takeOver } from '../../kernel/http/send-bytes.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import { lengthIn } from '../../outside/answer-head.ts';
import { giveBack } from '../../outside/read-buffers.ts';
import { contentNotFound, gatewayError } from '../errors.ts';
import { copyHeaders, discard, type GatewayAnswer, readBody } from '../gateways/gateway.ts';
import type { HedgedAsks } from '../gateways/hedged-ask.ts';
import { type AccessPath, addAccessPath, cacheControl, contentSafety, type Headers } from './headers.ts';
import { placementOf } from './placements.ts';
import { relay } from './relay.ts';

const forwarded = ['range', 'if-none-match', 'if-modified-since', 'if-range'] as const;
const relayed = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'content-digest',
  'x-ar-io-digest',
] as const;
const accepts = ({ status }: GatewayAnswer): boolean =>
  status === 200 || status === 206 || status === 304 || status === 416;
const wholeLimit = 64 * 1024;

export class PassThrough {
  readonly #asks: HedgedAsks;
  readonly #attempts: number;

  constructor(asks: HedgedAsks, attempts: number) {
    this.#asks = asks;
    this.#attempts = attempts;
  }

  /** Asks for the content as the reader did. The caller sends the answer or discards it. */
  open(request: Request, id: TxId, gone: () => boolean): Promise<GatewayAnswer> {
    const headers: Headers = {};
    copyHeaders(request.headers, forwarded, headers);
    return this.#ask(id, request.method === 'HEAD' ? 'HEAD' : 'GET', headers, gone);
  }

  /** The whole of it, or what is said about the whole, whatever the reader asked for. */
  openWhole(id: TxId, method: 'GET' | 'HEAD', gone: () => boolean): Promise<GatewayAnswer> {
    return this.#ask(id, method, {}, gone);
  }

  /** SHA-256 of the bytes as a gateway sends them, in hex. */
  async digestOf(id: TxId, gone: () => boolean): Promise<string> {
    const answer = await this.openWhole(id, 'GET', gone);
    const hash = createHash('sha256');
    try {
      for await (const piece of withMinimumSpeed(answer.body)) {
        hash.update(piece);
        giveBack(piece);
      }
    } catch (error) {
      const failure = answer.gateway.failed('content', error);
      answer.judge(failure.outcome);
      throw gatewayError('The gateway broke off', failure);
    }
    answer.judge('success');
    return hash.digest('hex');
  }

  async send(
    request: Request,
    reply: Reply,
    answer: GatewayAnswer,
    accessPath: AccessPath,
    stallTimeoutMs: number,
  ): Promise<number> {
    const headers: Headers = {
      ...contentSafety,
      'cache-control': answer.status === 416 ? 'no-store' : cacheControl(accessPath),
      'x-cache': 'MISS',
      'x-router-mode': 'proxy',
      'x-router-verified': 'false',
      'x-router-routed-via': answer.gateway.origin,
      'x-router-txid': accessPath.id,
      'x-ar-io-data-id': accessPath.id,
    };
    copyHeaders(answer.headers, relayed, headers);
    Object.assign(headers, placementOf(answer));
    isolate(headers, headers['content-type'] ?? '', accessPath.origin);
    headers['content-type'] ??= 'application/octet-stream';
    addAccessPath(headers, accessPath);
    if (request.method === 'HEAD' || answer.status === 304) {
      discard(answer);
      // It may say how long the content is, but clients then wait for it.
      if (answer.status === 304) delete headers['content-length'];
      takeOver(reply, answer.status, headers).end();
      return 0;
    }
    const length = lengthIn(answer.headers);
    try {
      if (length !== undefined && length <= wholeLimit) {
        // Read before the head leaves, so that one that breaks off can still be an error.
        const bytes = await readBody(answer, length);
        return endNow(takeOver(reply, answer.status, headers), bytes, { stallTimeoutMs });
      }
      const sent = await relay(answer.body, takeOver(reply, answer.status, headers), length, stallTimeoutMs);
      answer.judge('success');
      return sent;
    } catch (error) {
      const failure = answer.gateway.failed('content', error);
      answer.judge(failure.outcome);
      throw gatewayError('The gateway broke off', failure);
    }
  }

  #ask(id: TxId, method: 'GET' | 'HEAD', headers: Headers, gone: () => boolean): Promise<GatewayAnswer> {
    return this.#asks.ask(
      { role: 'content', judged: true, method, path: `/raw/${id}`, headers },
      {
        attempts: this.#attempts,
        tried: new Set(),
        accepts,
        absent: (state) => contentNotFound(id, state),
        gone,
      },
    );
  }
}
