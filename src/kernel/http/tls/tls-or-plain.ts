/**
 * Lets a server of node:http answer TLS on its one port: the first byte of a connection tells a TLS handshake (22, RFC
 * 8446 §5.1) from the letters that HTTP begins with. Nothing of TLS is loaded before a client speaks it.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TlsKeys } from '../../tls/local-authority.ts';
import type { SecureConnections, SecureLimits } from './secure-connections.ts';

const handshake = 22;

export interface TlsSource {
  readonly keys: TlsKeys;
  /** Why no certificate can be had; the connection is closed. */
  readonly onFailure: (error: unknown) => void;
}

type TlsOptions = TlsSource & SecureLimits;

export interface TlsListener {
  /** No new connection; resolves when HTTP/2 requests are answered. */
  drain(): Promise<void>;
  /** Cuts all that is not the server's own connection. */
  destroy(): void;
}

/** Called once, before the server listens. */
export function answerTls(server: Server, options: TlsOptions): TlsListener {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const handOver = (socket: Duplex): void => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  };
  /** Connections that have said nothing yet. */
  const silent = new Set<Socket>();
  let secure: Promise<SecureConnections> | undefined;
  let opened: SecureConnections | undefined;
  let isDraining = false;

  const open = (): Promise<SecureConnections> => {
    secure ??= import('./secure-connections.ts')
      .then((module) => module.SecureConnections.open(options.keys, options, handOver))
      .then((made) => {
        opened = made;
        return made;
      })
      .catch((error: unknown) => {
        secure = undefined;
        throw error;
      });
    return secure;
  };

  server.on('connection', (socket: Socket) => {
    if (isDraining) {
      socket.destroy();
      return;
    }
    const leave = (): void => void socket.destroy();
    const failed = (): void => {};
    silent.add(socket);
    socket.on('close', () => silent.delete(socket));
    socket.on('end', leave).on('error', failed).on('timeout', leave).setTimeout(options.handshakeTimeoutMs);
    socket.once('data', (first: Buffer) => {
      silent.delete(socket);
      socket.pause();
      socket.unshift(first);
      socket.off('end', leave).off('timeout', leave).setTimeout(0);
      if (first[0] !== handshake) {
        socket.off('error', failed);
        handOver(socket);
        socket.resume();
        return;
      }
      open().then(
        (ready) => {
          socket.off('error', failed);
          if (isDraining || socket.destroyed) socket.destroy();
          else ready.accept(socket);
        },
        (error: unknown) => {
          socket.destroy();
          options.onFailure(error);
        },
      );
    });
  });

  return {
    async drain() {
      isDraining = true;
      for (const socket of silent) socket.destroy();
      await opened?.drain();
    },
    destroy() {
      isDraining = true;
      for (const socket of silent) socket.destroy();
      opened?.destroy();
    },
  };
}
