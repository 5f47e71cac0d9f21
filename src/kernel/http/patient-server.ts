/** The node:http server under every surface: it knows its connections, and which of their answers have not left yet. */
import { type IncomingMessage, Server, type ServerOptions, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { answerTls, type TlsListener, type TlsSource } from './tls/tls-or-plain.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface PatientServerOptions extends ServerOptions {
  /** A client that takes no byte of an answer for this long is cut off: what waits for it waits in our memory. */
  readonly stallTimeoutMs: number;
  readonly maxConnections: number;
  /** TLS is answered on the port too. */
  readonly tls?: TlsSource | undefined;
}

/**
 * node:http takes a connection for idle when its answer was ended, though much of it may still wait for its reader,
 * and closes it when the server closes. As long as there are such answers nothing is idle; the drain asks again
 * whenever one is out.
 */
export class PatientServer extends Server {
  readonly sockets = new Set<Socket>();
  readonly options: PatientServerOptions;
  /** Listens in place of this server, where its port is held. */
  front: PatientServer | undefined;
  /** Looks for answers that do not leave; a timer for each answer would cost every one of them. */
  readonly #looking: NodeJS.Timeout;
  readonly #watched = new WeakSet<ServerResponse>();
  #tls: TlsListener | undefined;

  constructor(options: PatientServerOptions, handler: Handler) {
    super(options, handler);
    this.options = options;
    this.maxConnections = options.maxConnections;
    const { stallTimeoutMs } = options;
    this.#looking = setInterval(() => this.#watchStalled(), Math.min(15_000, stallTimeoutMs)).unref();
    this.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  listenAt(host: string, port: number, reusePort = false): Promise<void> {
    const { tls, headersTimeout = 15_000, keepAliveTimeout = 72_000, stallTimeoutMs } = this.options;
    if (tls !== undefined) {
      this.#tls = answerTls(this, {
        ...tls,
        handshakeTimeoutMs: headersTimeout,
        idleTimeoutMs: keepAliveTimeout,
        stallTimeoutMs,
      });
    }
    return new Promise((resolve, reject) => {
      this.once('error', reject);
      this.listen({ host, port, backlog: 1024, reusePort }, () => {
        this.off('error', reject);
        resolve();
      });
    });
  }

  override address(): string | AddressInfo | null {
    return this.front === undefined ? super.address() : this.front.address();
  }

  override closeIdleConnections(): void {
    for (const socket of this.sockets) {
      const response = currentResponse(socket);
      if (response !== undefined && isLeaving(response)) return;
    }
    super.closeIdleConnections();
  }

  /** Takes no new request over HTTP/2; resolves when those that there are have been answered. */
  async drainTls(): Promise<void> {
    await this.#tls?.drain();
  }

  /** Cuts every connection, and looks after none any more. */
  cutAll(): void {
    this.closeAllConnections();
    this.#tls?.destroy();
    clearInterval(this.#looking);
  }

  /** Whole answers that are still here. The socket's own time-out knows of progress within a write: a slow client stays. */
  #watchStalled(): void {
    for (const socket of this.sockets) {
      const response = currentResponse(socket);
      if (response === undefined || !isLeaving(response) || this.#watched.has(response)) continue;
      this.#watched.add(response);
      response.setTimeout(this.options.stallTimeoutMs, () => response.destroy());
    }
  }
}

/** Ended, and not yet out of our hands. */
function isLeaving(response: ServerResponse): boolean {
  return response.writableEnded && !response.writableFinished;
}

/**
 * The answer a connection is working on, as node:http itself notes it. Keeping our own note of it for every
 * request would cost more than the rest of what we do to a request.
 */
export function currentResponse(socket: Socket): ServerResponse | undefined {
  const noted: unknown = Reflect.get(socket, '_httpMessage');
  return noted instanceof ServerResponse ? noted : undefined;
}
