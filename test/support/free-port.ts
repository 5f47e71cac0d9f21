/** A port for a server that must be told of it before it listens. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** From here up the system takes ports for whoever asks for any (Linux's default where it does not say). */
function firstOfSystem(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    return 32_768;
  }
}

const lowest = 20_000;

/**
 * Nobody listens there, and nobody is given it by the system: one of the system's own ports, found and closed again, may
 * be another's before it is used.
 */
export async function freePort(): Promise<number> {
  const count = firstOfSystem() - lowest;
  if (count < 1_000) return await listening(0);
  for (let tries = 0; tries < 100; tries += 1) {
    // Each process begins elsewhere, and goes on by a step of its own.
    const port = lowest + ((process.pid * 7 + next++ * 611) % count);
    if ((await listening(port).catch(() => undefined)) !== undefined) return port;
  }
  throw new Error('no port is free');
}

let next = 0;

/** The port, once it was listened on and left; rejects where it is taken. */
function listening(port: number): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}
