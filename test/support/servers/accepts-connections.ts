import { connect } from 'node:net';

/** Whether somebody listens on a port of loopback. */
export function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((told) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => told(true)).on('error', () => told(false));
    socket.on('connect', () => socket.destroy());
  });
}
