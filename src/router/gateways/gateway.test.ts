import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { after, test } from 'node:test';
import { Gateway, GatewayFailure, readBody } from './gateway.ts';

const limits = {
  failureThreshold: 3,
  resetMs: 1_000,
  connections: 4,
  connectTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  streamTimeoutMs: 60_000,
};
let server: Server;
const closing: (() => unknown)[] = [];
after(async () => {
  for (const close of closing) await close();
});

async function gatewayOf(answer: Parameters<typeof createServer>[1]): Promise<Gateway> {
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const gateway = new Gateway(`http://127.0.0.1:${address.port}`, limits, () => {});
  const own = server;
  closing.push(
    () => gateway.close(),
    () => own.close(),
    () => own.closeAllConnections(),
  );
  return gateway;
}

test('a body that drips is given up, although a byte comes before every time-out', async () => {
  const gateway = await gatewayOf((_request, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write('x'), 5);
    response.on('close', () => clearInterval(drip));
  });
  const answer = await gateway.ask({ role: 'content', path: '/' });
  await assert.rejects(
    readBody(answer, 1_000_000, 60),
    (error) => error instanceof GatewayFailure && /too slowly/.test(error.message),
  );
});

test('a body longer than it may be is given up', async () => {
  const gateway = await gatewayOf((_request, response) => {
    response.writeHead(200);
    const more = () => {
      while (response.write(Buffer.alloc(64 * 1024)));
      response.once('drain', more);
    };
    more();
  });
  const answer = await gateway.ask({ role: 'content', path: '/' });
  await assert.rejects(readBody(answer, 100_000), /too long/);
});
