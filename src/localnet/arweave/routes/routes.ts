/** The node's HTTP side: bodies as bytes, refusals in the node's own words, faults before anything else. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ForkedChain } from '../../../fork/chain.ts';
import type { App, Reply, Request } from '../../../kernel/http/server.ts';
import type { Metrics } from '../../../kernel/metrics.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { badRequest, NodeError, payloadTooLarge, unknownRequest } from '../errors.ts';
import { Faults } from '../faults.ts';
import type { ChainReaders } from '../readers.ts';
import type { RequestLog } from '../request-log.ts';
import { sendNodeError, sendText } from './answers.ts';
import { blockRoutes } from './blocks.ts';
import { chunkRoutes } from './chunks.ts';
import { controlRoutes } from './controls.ts';
import { sendForked } from './forked.ts';
import { infoRoutes, priceAndWalletRoutes } from './info.ts';
import { postTxRoute, transactionRoutes } from './transactions.ts';

export interface NodeRoutesDeps {
  readonly node: LocalNode;
  readonly metrics: Metrics;
  readonly readers: ChainReaders;
  readonly log: RequestLog;
  /** Ends what hangs on purpose. */
  readonly stopping: AbortSignal;
  /** Has what the node has not. */
  readonly fork?: ForkedChain | undefined;
}

/** Registers everything the node answers. */
export function nodeRoutes(app: App, { node, metrics, readers, log, stopping, fork }: NodeRoutesDeps): void {
  const faults = new Faults();
  app.removeAllContentTypeParsers();
  // A node does not ask what type a body says it has.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setErrorHandler(async (error, request, reply) => {
    const refusal = asRefusal(error);
    if (refusal === undefined) throw error;
    const isForked = fork !== undefined && refusal.status === 404;
    const forked = isForked ? await sendForked(fork, request, reply) : undefined;
    return forked ?? sendNodeError(reply, refusal);
  });

  app.register(async (scope: App) => controlRoutes(scope, { node, faults, log, readers }));
  app.register(async (scope: App) => {
    scope.addHook('onRequest', (request, reply, done) => {
      const fault = faults.take(request);
      if (fault === undefined) return done();
      misbehave(request, reply, fault, stopping).then((answered) => answered || done(), done);
    });
    infoRoutes(scope, node, faults, metrics);
    blockRoutes(scope, node);
    priceAndWalletRoutes(scope, node);
    transactionRoutes(scope, node);
    postTxRoute(scope, node, readers);
    chunkRoutes(scope, node, faults);
    scope.all('/*', { schema: { hide: true } }, () => {
      throw unknownRequest();
    });
  });
}

/** Does what the switches say; true when the request is thereby answered. */
async function misbehave(
  request: Request,
  reply: Reply,
  fault: NonNullable<ReturnType<Faults['take']>>,
  stopping: AbortSignal,
): Promise<boolean> {
  if (fault.latencyMs !== undefined) {
    await sleep(fault.latencyMs, undefined, { signal: stopping }).catch(() => {});
  }
  if (fault.hang === true) {
    reply.hijack();
    const cut = () => request.raw.destroy();
    stopping.addEventListener('abort', cut, { once: true });
    reply.raw.once('close', () => stopping.removeEventListener('abort', cut));
    return true;
  }
  if (fault.status === undefined) return false;
  sendText(reply, 'A fault that was asked for.', fault.status);
  return true;
}

/** What a failure says to the client; undefined when it is ours. */
function asRefusal(error: unknown): NodeError | undefined {
  if (error instanceof NodeError) return error;
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return payloadTooLarge();
  if ('validation' in error && error.validation !== undefined) return badRequest(error.message);
  return undefined;
}
