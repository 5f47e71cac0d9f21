/**
 * Subscriptions over WebSocket in the protocol `graphql-transport-ws`. A socket has the limits of an event stream, and a
 * subscription those of a query. Who takes no more gets no more: the rest waits in the log.
 */
import { type ExecutionArgs, GraphQLError, subscribe } from 'graphql';
import { type Context, handleProtocols, makeServer, type Server, type SubscribePayload } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ReaderLimits } from '../../events/streams/reader-limits.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import type { Upgrade } from '../../kernel/http/upgrades.ts';
import type { Logger } from '../../kernel/log.ts';
import type { ErrorCode } from './errors.ts';
import type { GraphqlService } from './execute.ts';
import { selectedFields } from './limits.ts';
import { isObjectOrNothing } from './operation.ts';
import type { SubscriptionContext } from './subscriptions.ts';

export interface GraphqlSocketsOptions {
  readonly service: GraphqlService;
  readonly limits: ReaderLimits;
  readonly log: Logger;
}

/** A subscription's text is a few kilobytes; its list of ids may be longer. */
const maxMessageBytes = 128 * 1024;
const maxSubscriptions = 20;
const initWithinMs = 10_000;
/** Sockets that do not answer one ping before the next are cut off. */
const pingEveryMs = 30_000;
/** Close codes of RFC 6455 §7.4.1. */
const goingAway = 1001;
const internalError = 1011;

export class GraphqlSockets {
  readonly #options: GraphqlSocketsOptions;
  readonly #handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols,
  });
  readonly #protocol: Server<undefined>;
  /** Whether each has answered since the last ping. */
  readonly #sockets = new Map<WebSocket, boolean>();
  #pinging: NodeJS.Timeout | undefined;

  constructor(options: GraphqlSocketsOptions) {
    this.#options = options;
    this.#protocol = makeServer<Record<string, unknown> | undefined, undefined>({
      connectionInitWaitTimeout: initWithinMs,
      onSubscribe: (context, _id, payload) => this.#prepare(context, payload),
      subscribe: follow,
      onError: (_context, _id, _payload, errors) => errors.map((error) => this.#shown(error).toJSON()),
    });
  }

  get count(): number {
    return this.#sockets.size;
  }

  /** Answers a handshake; throws the refusal where there are too many sockets. */
  accept(request: Request, reply: Reply, { socket, head }: Upgrade): void {
    const release = this.#options.limits.enter(request);
    socket.once('close', release);
    reply.hijack();
    this.#handshakes.handleUpgrade(request.raw, socket, head, (opened) => this.#open(opened));
  }

  /** Says good-bye to everybody; clients come back with their cursors. */
  drain(): void {
    clearInterval(this.#pinging);
    for (const socket of this.#sockets.keys()) {
      socket.close(goingAway, 'The gateway is stopping');
      // The peer's half of the good-bye is not waited for.
      setTimeout(() => socket.terminate(), 100).unref();
    }
  }

  #open(socket: WebSocket): void {
    this.#sockets.set(socket, true);
    this.#pinging ??= setInterval(() => this.#ping(), pingEveryMs).unref();
    const closed = this.#protocol.opened(
      {
        protocol: socket.protocol,
        send: (text) =>
          new Promise((resolve) => {
            // A send that fails is followed by the close, which ends the subscriptions.
            if (socket.readyState === socket.OPEN) socket.send(text, () => resolve());
            else resolve();
          }),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (take) =>
          socket.on('message', (data) => {
            take(String(data)).catch((error: unknown) => {
              this.#options.log.error({ err: error }, 'a message over WebSocket failed');
              socket.close(internalError, 'Internal Server Error');
            });
          }),
      },
      undefined,
    );
    socket.on('pong', () => this.#sockets.set(socket, true));
    socket.on('error', () => socket.terminate());
    socket.once('close', (code, reason) => {
      this.#sockets.delete(socket);
      closed(code, reason.toString()).catch((error: unknown) =>
        this.#options.log.error({ err: error }, 'subscriptions did not end'),
      );
    });
  }

  #ping(): void {
    for (const [socket, answered] of this.#sockets) {
      if (!answered) {
        socket.terminate();
        continue;
      }
      this.#sockets.set(socket, false);
      socket.ping();
    }
  }

  #prepare(
    { subscriptions }: Context<Record<string, unknown> | undefined, undefined>,
    payload: SubscribePayload,
  ) {
    if (Object.keys(subscriptions).length > maxSubscriptions) {
      return [refused(`A socket has at most ${maxSubscriptions} subscriptions`)];
    }
    const { query, variables, operationName } = payload;
    if (!isObjectOrNothing(variables)) return [refused('Variables must be an object')];
    return this.#options.service.prepareSubscription({
      query,
      variables: variables ?? undefined,
      operationName: operationName ?? undefined,
    });
  }

  /** Our own failures are logged and not shown. */
  #shown(error: GraphQLError): GraphQLError {
    const original: Error | null | undefined = error.originalError;
    if (original === undefined || original === null || original instanceof GraphQLError) return error;
    this.#options.log.error({ err: original }, 'subscription failed');
    return refused('Internal Server Error', 'INTERNAL_SERVER_ERROR');
  }
}

/** A generator waits for what comes before it can be told to end: the signal is what ends it. */
async function follow(args: ExecutionArgs) {
  const ending = new AbortController();
  const contextValue: SubscriptionContext = {
    wants: selectedFields(args.document),
    signal: ending.signal,
  };
  const results = await subscribe({ ...args, contextValue });
  if (!('next' in results)) return results;
  return {
    next: () => results.next(),
    return: () => {
      ending.abort();
      return results.return(undefined);
    },
    throw: (error: unknown) => {
      ending.abort();
      return results.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const refused = (message: string, code: ErrorCode = 'BAD_REQUEST'): GraphQLError =>
  new GraphQLError(message, { extensions: { code } });
