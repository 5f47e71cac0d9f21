/**
 * The connections of a surface: time-outs that no slow client can hold open, a count of what is in flight, and a drain
 * that lets it finish.
 */
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { TlsKeys } from '../tls/local-authority.ts';
import { fellows } from '../workers/fellows.ts';
import type { ErrorBody } from './error-mapper.ts';
import { type HeldPort, openPort } from './held-ports.ts';
import { currentResponse, type Handler, PatientServer } from './patient-server.ts';

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
  /** TLS, with HTTP/2 for clients that speak it, is answered on the same port. */
  readonly tls?: TlsKeys | undefined;
}

/** Whether processes can listen on one port. Else the first process accepts connections and hands them on. */
export const canReusePorts = ['linux', 'freebsd', 'sunos', 'aix'].includes(process.platform);

/** Requests that a connection may send ahead. */
const maxAhead = 100;

export class Connections {
  readonly server: PatientServer;
  /** Counted by `watchRequests`. */
  readonly #inFlight: InFlight;
  /** Requests of a connection that wait for their turn to be answered, where there are any. */
  readonly #ahead = new WeakMap<Socket, number>();
  /** Listens in place of the server. */
  #held: HeldPort | undefined;
  #draining = false;
  /** Resolves when the port is free and every connection closed. */
  #closed: Promise<void> | undefined;

  constructor(
    handler: Handler,
    limits: ConnectionLimits,
    errorBody: ErrorBody,
    inFlight: InFlight,
    onTlsFailure: (error: unknown) => void,
  ) {
    const headersTimeout = limits.headersTimeoutMs ?? 15_000;
    this.#inFlight = inFlight;
    this.server = new PatientServer(
      {
        headersTimeout,
        requestTimeout: limits.requestTimeoutMs ?? 120_000,
        keepAliveTimeout: limits.keepAliveTimeoutMs ?? 72_000,
        maxHeaderSize: limits.maxHeaderSize ?? 16 * 1024,
        connectionsCheckingInterval: Math.min(5_000, Math.max(50, headersTimeout / 4)),
        noDelay: true,
        // Other protocols, such as HTTP/2 without TLS, are offered by clients that take a plain answer as well.
        shouldUpgradeCallback: ({ headers }) =>
          this.server.listenerCount('upgrade') > 0 && headers.upgrade?.toLowerCase() === 'websocket',
        stallTimeoutMs: limits.stallTimeoutMs ?? 60_000,
        maxConnections: limits.maxConnections ?? 16_384,
        tls: limits.tls && { keys: limits.tls, onFailure: onTlsFailure },
      },
      (request, response) => {
        if (this.#draining) response.shouldKeepAlive = false;
        // Only an answer that waits behind another of its connection has no socket yet.
        if (response.socket === null && !this.#mayWait(request.socket, response)) return;
        handler(request, response);
      },
    );
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // Bytes of another answer in the middle of one that has begun would be taken for its body.
      if (currentResponse(socket)?.headersSent === true) socket.destroy();
      else refuse(error, socket, errorBody);
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

  /**
   * `name` is the same for every server that follows another on a held port. Processes of one start listen on the same
   * ports, and the system shares the connections out between them.
   */
  async listen(name: string, host: string, port: number): Promise<void> {
    if (fellows() !== undefined) await this.server.listenAt(host, port, canReusePorts);
    else this.#held = await openPort(name, this.server, host, port);
  }

  /**
   * Takes no new connection, lets what is in flight finish for at most `timeoutMs`, then cuts what is left. True when
   * nothing was. On a held port new requests wait for the next server.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#draining = true;
    const held = this.#held;
    if (held === undefined || held.isEnding)
      return await this.#drainFrom(held?.front ?? this.server, timeoutMs);
    held.detach(this.server);
    const finished = await this.#finishes(timeoutMs);
    held.cut(this.server);
    this.server.cutAll();
    return finished;
  }

  async #drainFrom(listener: PatientServer, timeoutMs: number): Promise<boolean> {
    if (listener.listening) {
      this.#closed = new Promise((resolve) => {
        listener.close(() => resolve());
      });
    }
    for (const socket of listener.sockets) {
      const response = currentResponse(socket);
      if (response !== undefined) response.shouldKeepAlive = false;
    }
    // A head that was out before the drain has promised to keep its connection; it is idle once answered.
    this.#inFlight.onEnd = () => setImmediate(() => listener.closeIdleConnections());
    listener.closeIdleConnections();
    const finished = await this.#finishes(timeoutMs, listener.drainTls());
    listener.cutAll();
    this.server.cutAll();
    return finished;
  }

  async #finishes(timeoutMs: number, others?: Promise<void>): Promise<boolean> {
    this.#inFlight.onEnd ??= () => {};
    const all = Promise.all([this.#inFlight.none(), others]).then(() => true);
    return await Promise.race([all, after(timeoutMs).then(() => this.#inFlight.count === 0 && !others)]);
  }

  async close(): Promise<void> {
    await this.drain(0);
    await this.#closed;
  }
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
