/**
 * WebSocket handshakes pass through the routes like every request: who asks is known, hosts and hooks are looked at, and
 * where a path takes no handshake it answers as it always does.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { App, Request } from './app.ts';

export interface Upgrade {
  readonly socket: Socket;
  /** Bytes that came behind the request. */
  readonly head: Buffer;
}

const offered = new WeakMap<IncomingMessage, Upgrade>();

/** Called once for an app, by who has a route that takes handshakes. */
export function routeUpgrades(app: App): void {
  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!(socket instanceof Socket)) {
      socket.destroy();
      return;
    }
    const response = new ServerResponse(request);
    // Nobody parses what comes next on this connection.
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    socket.on('error', () => socket.destroy());
    offered.set(request, { socket, head });
    app.routing(request, response);
  });
}

/** The handshake of a request, for a route that takes it and hijacks the reply; undefined where there is none. */
export const upgradeOf = (request: Request): Upgrade | undefined => offered.get(request.raw);
