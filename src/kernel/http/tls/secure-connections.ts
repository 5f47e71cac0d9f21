/**
 * TLS for a server of node:http. Connections that speak HTTP/1.1 inside are handed to it as they are, WebSockets too;
 * those that speak HTTP/2 request by request. Loaded when the first client speaks TLS.
 */
import { constants, performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, createServer, type Server, type TLSSocket } from 'node:tls';
import type { TlsKeys } from '../../tls/local-authority.ts';
import { bridgeSession } from './http2-bridge.ts';

export interface SecureLimits {
  /** A handshake must be done within this. */
  readonly handshakeTimeoutMs: number;
  /** A connection on which nothing moves for so long is closed. */
  readonly idleTimeoutMs: number;
  /** A client that takes no byte of an answer for so long is cut off. */
  readonly stallTimeoutMs: number;
}

/** Requests of one connection at a time. */
const maxStreams = 100;
/** Of a body that nobody has read yet; with the number of requests it bounds what a connection can fill. */
const windowBytes = 256 * 1024;
/** Of what is buffered for one connection; beyond it new requests are refused. */
const sessionMegabytes = 64;
const renewMs = 24 * 3_600_000;

export class SecureConnections {
  readonly #keys: TlsKeys;
  readonly #server: Server;
  readonly #handOver: (socket: Duplex) => void;
  readonly #limits: SecureLimits;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #freshUntil: number;
  #draining = false;

  private constructor(
    keys: TlsKeys,
    pair: { cert: string; key: string },
    limits: SecureLimits,
    handOver: (socket: Duplex) => void,
  ) {
    this.#keys = keys;
    this.#limits = limits;
    this.#handOver = handOver;
    this.#freshUntil = performance.now() + renewMs;
    this.#server = createServer({
      ...pair,
      ALPNProtocols: ['h2', 'http/1.1'],
      minVersion: 'TLSv1.2',
      handshakeTimeout: limits.handshakeTimeoutMs,
      SNICallback: (name, done) => {
        keys.keyPairFor(name).then(
          (found) => done(null, createSecureContext(found)),
          (error: Error) => done(error),
        );
      },
    });
    // A client that trusts the certificate not yet, or leaves, is nothing to tell of.
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#server.on('secureConnection', (socket) => this.#accept(socket));
  }

  static async open(
    keys: TlsKeys,
    limits: SecureLimits,
    handOver: (socket: Duplex) => void,
  ): Promise<SecureConnections> {
    return new SecureConnections(keys, await keys.keyPairFor(undefined), limits, handOver);
  }

  /** A connection whose first bytes are in its buffer. */
  accept(socket: Socket): void {
    if (this.#draining) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    if (performance.now() > this.#freshUntil) this.#renew();
    this.#server.emit('connection', socket);
  }

  /** Resolves when the requests of all HTTP/2 connections are answered; those of HTTP/1.1 are the server's own. */
  async drain(): Promise<void> {
    this.#draining = true;
    await Promise.all(
      [...this.#sessions].map(
        (session) => new Promise<void>((resolve) => session.once('close', resolve).close()),
      ),
    );
  }

  /** Cuts everything. */
  destroy(): void {
    this.#draining = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: TLSSocket): void {
    if (socket.alpnProtocol !== 'h2') {
      this.#handOver(socket);
      return;
    }
    const session = performServerHandshake(socket, {
      maxSessionMemory: sessionMegabytes,
      settings: { maxConcurrentStreams: maxStreams, initialWindowSize: windowBytes, enablePush: false },
    });
    this.#sessions.add(session);
    session.on('close', () => this.#sessions.delete(session));
    session.on('error', () => session.destroy());
    session.setTimeout(this.#limits.idleTimeoutMs, () => session.close());
    if (this.#draining) session.goaway(constants.NGHTTP2_NO_ERROR);
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    const peer = { remoteAddress, remotePort, localAddress, localPort };
    bridgeSession(session, peer, this.#limits.stallTimeoutMs, this.#handOver);
  }

  #renew(): void {
    this.#freshUntil = performance.now() + renewMs;
    this.#keys.keyPairFor(undefined).then(
      (pair) => this.#server.setSecureContext(pair),
      () => {},
    );
  }
}
