/**
 * The node:http server under a surface: time-outs that no slow client can hold open, a count of what is in
 * flight, and a drain that lets it finish.
 */
import { type IncomingMessage, Server, type ServerOptions, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { TlsKeys } from '../tls/local-authority.ts';
import type { ErrorBody } from './error-mapper.ts';
import { answerTls, type TlsListener } from './tls/tls-or-plain.ts';

export interface ConnectionLimits {
  /** A whole request, body included, must have arrived within this. 0 = no limit, for long uploads. */
  readonly requestTimeoutMs?: number;
  /** The head of a request must have arrived within this. */
  readonly headersTimeoutMs?: number;
  /** An idle kept-alive connection is closed after this; longer than the 60 s of common load balancers. */
  readonly keepAliveTimeoutMs?: number;
  /** A client that takes no byte of an answer for this long is cut off: what waits for it waits in our memory. */
  readonly stallTimeoutMs?: number;
  /** Bytes of a request's head. */
  readonly maxHeaderSize?: number;
  readonly maxConnections?: number;
  /** Several processes listen on the port, and the system shares the connections out between them. */
  readonly sharePort?: boolean;
  /** TLS, with HTTP/2 for clients that speak it, is answered on the same port. */
  readonly tls?: TlsKeys | undefined;
}

/** Requests that a connection may send ahead. */
const maxAhead = 100;

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export class Connections {
  readonly server: PatientServer;
  /** Counted by `watchRequests`. */
  readonly #inFlight: InFlight;
  readonly #reusePort: boolean;
  readonly #stallTimeoutMs: number;
  /** Looks for answers that do not leave; a timer for each answer would cost every one of them. */
  readonly #looking: NodeJS.Timeout;
  readonly #watched = new WeakSet<ServerResponse>();
  readonly #tls: TlsListener | undefined;
  /** Requests of a connection that wait for their turn to be answered, where there are any. */
  readonly #ahead = new WeakMap<Socket, number>();
  #draining = false;
  /** Resolves when the port is free and every connection closed. */
  #closed: Promise<void> | undefined;

  constructor(
    handler: Handler,
    limits: ConnectionLimits,
    errorBody: ErrorBody,
    inFlight: InFlight,
    onTlsFailure: (error: unknown) => void = () => {},
  ) {
    const headersTimeout = limits.headersTimeoutMs ?? 15_000;
    const keepAliveTimeout = limits.keepAliveTimeoutMs ?? 72_000;
    this.#inFlight = inFlight;
    this.#reusePort = limits.sharePort ?? false;
    this.#stallTimeoutMs = limits.stallTimeoutMs ?? 60_000;
    this.#looking = setInterval(() => this.#watchStalled(), Math.min(15_000, this.#stallTimeoutMs)).unref();
    this.server = new PatientServer(
      {
        headersTimeout,
        requestTimeout: limits.requestTimeoutMs ?? 120_000,
        keepAliveTimeout,
        maxHeaderSize: limits.maxHeaderSize ?? 16 * 1024,
        connectionsCheckingInterval: Math.min(5_000, Math.max(50, headersTimeout / 4)),
        noDelay: true,
      },
      (request, response) => {
        if (this.#draining) response.shouldKeepAlive = false;
        // Only an answer that waits behind another of its connection has no socket yet.
        if (response.socket === null && !this.#mayWait(request.socket, response)) return;
        handler(request, response);
      },
    );
    this.server.maxConnections = limits.maxConnections ?? 16_384;
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // Bytes of another answer in the middle of one that has begun would be taken for its body.
      if (currentResponse(socket)?.headersSent === true) socket.destroy();
      else refuse(error, socket, errorBody);
    });
    this.#tls =
      limits.tls &&
      answerTls(this.server, {
        keys: limits.tls,
        handshakeTimeoutMs: headersTimeout,
        idleTimeoutMs: keepAliveTimeout,
        stallTimeoutMs: this.#stallTimeoutMs,
        onFailure: onTlsFailure,
      });
  }

  /**
   * Requests that are sent ahead of the answers to earlier ones (RFC 9112 §9.3.2) are all worked on at once: without a
   * bound, one connection could have as much work under way as all others together.
   */
  #mayWait(socket: Socket, response: ServerResponse): boolean {
    const waiting = (this.#ahead.get(socket) ?? 0) + 1;
    if (waiting > maxAhead) {
      socket.destroy();
      return false;
    }
    this.#ahead.set(socket, waiting);
    response.once('socket', () => this.#ahead.set(socket, (this.#ahead.get(socket) ?? 1) - 1));
    return true;
  }

  /** Whole answers that are still here. The socket's own time-out knows of progress within a write: a slow client stays. */
  #watchStalled(): void {
    for (const socket of this.server.sockets) {
      const response = currentResponse(socket);
      if (response === undefined || !isLeaving(response) || this.#watched.has(response)) continue;
      this.#watched.add(response);
      response.setTimeout(this.#stallTimeoutMs, () => response.destroy());
    }
  }

  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port, backlog: 1024, reusePort: this.#reusePort }, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
  }

  /**
   * Takes no new connection, lets what is in flight finish for at most `timeoutMs`, then cuts what is left. True when
   * nothing was.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#draining = true;
    if (this.server.listening) {
      this.#closed = new Promise((resolve) => {
        this.server.close(() => resolve());
      });
    }
    for (const socket of this.server.sockets) {
      const response = currentResponse(socket);
      if (response !== undefined) response.shouldKeepAlive = false;
    }
    // A head that was out before the drain has promised to keep its connection; it is idle once answered.
    this.#inFlight.onEnd = () => setImmediate(() => this.server.closeIdleConnections());
    this.server.closeIdleConnections();
    let isTlsDone = this.#tls === undefined;
    const tlsDone = this.#tls?.drain().then(() => {
      isTlsDone = true;
    });
    await Promise.race([Promise.all([this.#inFlight.none(), tlsDone]), after(timeoutMs)]);
    const finished = this.#inFlight.count === 0 && isTlsDone;
    this.server.closeAllConnections();
    this.#tls?.destroy();
    clearInterval(this.#looking);
    return finished;
  }

  async close(): Promise<void> {
    await this.drain(0);
    await this.#closed;
  }
}

/**
 * node:http takes a connection for idle when its answer was ended, though much of it may still wait for its reader,
 * and closes it when the server closes. As long as there are such answers nothing is idle; the drain asks again
 * whenever one is out.
 */
class PatientServer extends Server {
  readonly sockets = new Set<Socket>();

  constructor(options: ServerOptions, handler: Handler) {
    super(options, handler);
    this.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  override closeIdleConnections(): void {
    for (const socket of this.sockets) {
      const response = currentResponse(socket);
      if (response !== undefined && isLeaving(response)) return;
    }
    super.closeIdleConnections();
  }
}

/** Ended, and not yet out of our hands. */
function isLeaving(response: ServerResponse): boolean {
  return response.writableEnded && !response.writableFinished;
}

/** Resolves after the time, without keeping the process alive for it. */
function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}

/** How many answers are not out yet. */
export class InFlight {
  count = 0;
  onEnd: (() => void) | undefined;
  #whenNone: (() => void) | undefined;

  begin(): void {
    this.count += 1;
  }

  end(): void {
    this.count -= 1;
    if (this.onEnd === undefined) return;
    this.onEnd();
    if (this.count === 0) this.#whenNone?.();
  }

  none(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenNone = resolve;
    });
  }
}

/**
 * The answer a connection is working on, as node:http itself notes it. Keeping our own note of it for every
 * request would cost more than the rest of what we do to a request.
 */
function currentResponse(socket: Socket): ServerResponse | undefined {
  const noted: unknown = Reflect.get(socket, '_httpMessage');
  return noted instanceof ServerResponse ? noted : undefined;
}

/**
 * What a connection gets whose bytes are not HTTP, whose head is too large, or that is too slow. No route is known, so
 * that it has what every refusal has: a JSON string (interface §7), to be read by scripts and kept by no cache.
 */
function refuse(error: NodeJS.ErrnoException, socket: Socket, errorBody: ErrorBody): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
  const reason = STATUS_CODES[status] ?? '';
  const body = JSON.stringify(errorBody(status, reason));
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      'Access-Control-Allow-Origin: *\r\nCache-Control: no-store\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
