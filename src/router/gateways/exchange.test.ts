import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { discard, Gateway, readBody } from './gateway.ts';

const limits = {
  failureThreshold: 3,
  resetMs: 1_000,
  connections: 4,
  connectTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  streamTimeoutMs: 60_000,
};
const running: { server: Server; gateway: Gateway; sockets: Set<Socket> }[] = [];
afterEach(async () => {
  for (const { server, gateway, sockets } of running.splice(0)) {
    await gateway.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

/** A gateway whose answers are these bytes, whatever it is asked. */
async function gatewayThatSays(answer: (request: string) => string) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => socket.write(answer(bytes.toString('latin1'))));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  const outcomes: string[] = [];
  const gateway = new Gateway(`http://127.0.0.1:${address.port}`, limits, ({ outcome }) => {
    outcomes.push(outcome);
  });
  running.push({ server, gateway, sockets });
  return { gateway, sockets, outcomes };
}

const head = (length: number) =>
  `HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: ${length}\r\nX-Kind: test\r\n\r\n`;
const askHead = { role: 'digest', method: 'HEAD', path: '/' } as const;

test('questions about large content share a connection', async () => {
  const { gateway, sockets, outcomes } = await gatewayThatSays(() => head(1_000_000));
  for (let count = 0; count < 5; count += 1) {
    const answer = await gateway.ask(askHead);
    discard(answer);
    assert.equal(answer.headers['x-kind'], 'test');
    await new Promise(setImmediate);
  }
  assert.equal(sockets.size, 1);
  assert.deepEqual(new Set(outcomes), new Set(['success']));
  assert.equal(gateway.inFlight, 0);
});

test('they share it also where the answer is let go as soon as it begins', async () => {
  const { gateway, sockets } = await gatewayThatSays(() => head(1_000_000));
  for (let count = 0; count < 5; count += 1) {
    await new Promise<void>((resolve, reject) => {
      gateway.put(askHead, {
        answered(answer) {
          discard(answer);
          resolve();
        },
        failed: reject,
      });
    });
    await new Promise(setImmediate);
  }
  assert.equal(sockets.size, 1);
});

test('a body that comes with the answer to HEAD is taken for no answer', async () => {
  const smuggled = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong';
  const { gateway, outcomes } = await gatewayThatSays((request) =>
    request.startsWith('HEAD') ? `${head(smuggled.length)}${smuggled}` : `${head(5)}right`,
  );
  for (let count = 0; count < 3; count += 1) {
    discard(await gateway.ask(askHead));
    const answer = await gateway.ask({ role: 'content', path: '/' });
    assert.equal(String(await readBody(answer, 100)), 'right');
  }
  assert.deepEqual(new Set(outcomes), new Set(['success']));
});

test('an answer that is longer than may be is a failure, and one that breaks off another', async () => {
  const long = await gatewayThatSays(() => `${head(20)}${'x'.repeat(20)}`);
  const answer = await long.gateway.ask({ role: 'content', path: '/' });
  await assert.rejects(readBody(answer, 10), /too long/);
  const short = await gatewayThatSays(() => `${head(20)}${'x'.repeat(5)}`);
  const begun = await short.gateway.ask({ role: 'content', path: '/' });
  const read = readBody(begun, 20);
  for (const socket of short.sockets) socket.destroy();
  await assert.rejects(read);
});
