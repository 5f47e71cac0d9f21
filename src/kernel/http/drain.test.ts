import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import { Metrics } from '../metrics.ts';
import { testServer } from '../testing.ts';
import type { HttpServer } from './server.ts';

const open: HttpServer[] = [];
const agents: Agent[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  for (const server of open.splice(0)) await server.close();
});

/** A server whose `/held` waits until the test lets it go, and whose `/stream` has begun before it waits. */
async function holding(): Promise<{ server: HttpServer; release: () => void; entered: () => number }> {
  const server = testServer();
  open.push(server);
  const gate = Promise.withResolvers<void>();
  let entered = 0;
  server.app.get('/quick', async () => ({ ok: true }));
  server.app.get('/held', async () => {
    entered += 1;
    await gate.promise;
    return { held: true };
  });
  server.app.get('/stream', async (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-length': 10 });
    reply.raw.write('12345');
    entered += 1;
    await gate.promise;
    reply.raw.end('67890');
  });
  await server.listen();
  return { server, release: gate.resolve, entered: () => entered };
}

function keepAlive(): Agent {
  const agent = new Agent({ keepAlive: true });
  agents.push(agent);
  return agent;
}

async function ask(
  url: string,
  agent: Agent,
): Promise<{ status: number | undefined; connection: string | undefined; body: string }> {
  const [answer]: IncomingMessage[] = await once(get(url, { agent }), 'response');
  assert.ok(answer !== undefined);
  let body = '';
  for await (const chunk of answer) body += chunk;
  return { status: answer.statusCode, connection: answer.headers.connection, body };
}

/** Resolves when the connection is gone, however it went. */
function closing(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => {
    socket.on('error', () => {}).on('close', resolve);
  });
}

describe('drain', { timeout: 180_000 }, () => {
  test('lets requests in flight finish, tells them to close, and takes no new connection', async () => {
    const { server, release, entered } = await holding();
    const agent = keepAlive();
    const held = [ask(`${server.url}/held`, agent), ask(`${server.url}/stream`, agent)];
    await eventually('both requests are in', () => entered() === 2);
    let drained = false;
    const draining = server.drain(60_000).finally(() => {
      drained = true;
    });
    await assert.rejects(once(connect(server.port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
    assert.equal(drained, false);
    release();
    const [whole, streamed] = await Promise.all(held);
    assert.deepEqual(whole, { status: 200, connection: 'close', body: '{"held":true}' });
    assert.equal(streamed?.body, '1234567890');
    assert.equal(await draining, true, 'nothing was cut');
  });

  test('closes idle connections at once', async () => {
    const { server } = await holding();
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    const agent = keepAlive();
    await ask(`${server.url}/quick`, agent);
    const closed = closing(socket.resume());
    await server.drain(60_000);
    await closed;
  });

  test('a connection whose answer had begun before the drain is closed after it', async () => {
    const { server, release, entered } = await holding();
    const socket = connect(server.port, '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString();
    });
    socket.write('GET /stream HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually('the request is in', () => entered() === 1);
    const closed = closing(socket);
    const draining = server.drain(60_000);
    release();
    await Promise.all([draining, closed]);
    assert.ok(heard.endsWith('1234567890'));
  });

  test('an answer that is ended but has not left is not taken for an idle connection', async () => {
    const server = testServer();
    open.push(server);
    const body = Buffer.alloc(32 * 1024 * 1024, 'more than the system keeps for a reader that waits ');
    let ended = 0;
    server.app.get('/large', (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, { 'content-length': body.length }).end(body);
      ended += 1;
    });
    await server.listen();
    const socket = connect(server.port, '127.0.0.1').pause();
    socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually('one connection ended', () => ended === 1);
    const draining = server.drain(60_000);
    let heard = 0;
    socket.on('data', (chunk) => {
      heard += chunk.length;
    });
    const closed = closing(socket.resume());
    assert.equal(await draining, true, 'nothing was cut');
    await closed;
    assert.ok(heard > body.length, `${heard} bytes arrived`);
  });

  test('cuts what is not done in time', async () => {
    const { server, entered } = await holding();
    const held = ask(`${server.url}/held`, keepAlive());
    const refused = assert.rejects(held, { code: 'ECONNRESET' });
    await eventually('the request is in', () => entered() === 1);
    assert.equal(await server.drain(20), false, 'something was cut');
    await refused;
  });

  test('with nothing in flight it is done at once, and asking twice is fine', async () => {
    const { server } = await holding();
    await Promise.all([server.drain(60_000), server.drain(60_000)]);
    await server.drain(60_000);
  });

  test('under load no answer is lost: every request that a connection took is answered whole', async () => {
    const metrics = new Metrics();
    const server = testServer({ metrics });
    open.push(server);
    let taken = 0;
    server.app.get('/work', async () => {
      taken += 1;
      await sleep(1 + (taken % 5));
      return { padding: 'x'.repeat(20_000) };
    });
    await server.listen();
    const agent = keepAlive();
    let whole = 0;
    let stopped = false;
    const clients = Array.from({ length: 20 }, async () => {
      while (!stopped) {
        try {
          const answer = await ask(`${server.url}/work`, agent);
          assert.equal(answer.body.length, 20_014);
          whole += 1;
        } catch {
          // Refused, or the connection was closed before the request was taken: the client may ask elsewhere.
          return;
        }
      }
    });
    await eventually('the reader has taken some', () => taken > 200);
    await server.drain(60_000);
    stopped = true;
    await Promise.all(clients);
    assert.equal(whole, taken);
    assert.ok(!(await metrics.text()).includes('status="499"'));
  });
});
