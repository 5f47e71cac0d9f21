import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { whileAwake } from '../../../test/support/awake.ts';
import { Metrics } from '../metrics.ts';
import { rememberingLog, testServer } from '../testing.ts';
import type { HttpServer, HttpServerOptions } from './server.ts';

const open: HttpServer[] = [];
const sockets: Socket[] = [];
const drips: NodeJS.Timeout[] = [];
afterEach(async () => {
  for (const drip of drips.splice(0)) clearInterval(drip);
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of open.splice(0)) await server.close();
});

async function listening(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = testServer(options);
  server.app.get('/', async () => ({ ok: true }));
  server.app.post('/', async (request) => request.body);
  open.push(server);
  await server.listen();
  return server;
}

/** A bare connection that remembers what it was told. */
async function dial(
  server: HttpServer,
): Promise<{ socket: Socket; heard: () => string; closed: Promise<unknown> }> {
  const socket = connect({ port: server.port, host: '127.0.0.1' });
  sockets.push(socket);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => {
    socket.on('close', resolve);
  });
  await once(socket, 'connect');
  return { socket, heard: () => text, closed };
}

/** A connection that a request was answered on: what it sends at once from now on is not late, whenever it is read. */
async function dialServed(server: HttpServer): Promise<Awaited<ReturnType<typeof dial>>> {
  for (;;) {
    const dialled = await dial(server);
    dialled.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const answered = () => dialled.heard().endsWith('{"ok":true}');
    while (!answered() && !dialled.socket.destroyed) await sleep(2);
    if (answered()) return dialled;
  }
}

describe('slow clients', { timeout: 120_000 }, () => {
  test('a head that drips in is cut off with 408, other clients are served meanwhile', async () => {
    const drip = async (server: HttpServer) => {
      const slow = await dial(server);
      slow.socket.write('GET / HTTP/1.1\r\nhost: x\r\n');
      drips.push(setInterval(() => slow.socket.write('x-a: b\r\n'), 20));
      return slow;
    };
    const server = await listening({ headersTimeoutMs: 200 });
    const slow = await drip(server);
    await slow.closed;
    assert.match(slow.heard(), /^HTTP\/1\.1 408 Request Timeout\r\n/);
    assert.match(slow.heard(), /\r\n\r\n"Request Timeout"$/);
    await dialServed(server);
    const patient = await listening({ headersTimeoutMs: 60_000 });
    await drip(patient);
    assert.equal((await fetch(patient.url)).status, 200);
  });

  test('a client that does not take its answer is cut off, one that is slow is not', async () => {
    const size = 30_000_000;
    await whileAwake(200, async () => {
      const server = testServer({ stallTimeoutMs: 500 });
      open.push(server);
      const left = Promise.withResolvers<void>();
      server.app.get('/large', async (request, reply) => {
        if (request.headers['x-reads'] === undefined) reply.raw.once('close', () => left.resolve());
        return reply.type('text/plain').send('x'.repeat(size));
      });
      await server.listen();
      const stuck = await dial(server);
      stuck.socket.pause();
      stuck.socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n');
      const slow = await dial(server);
      slow.socket.write('GET /large HTTP/1.1\r\nhost: x\r\nx-reads: yes\r\nconnection: close\r\n\r\n');
      drips.push(
        setInterval(() => {
          slow.socket.pause();
          setTimeout(() => slow.socket.resume(), 80);
        }, 100),
      );
      await Promise.all([left.promise, slow.closed]);
      assert.ok(slow.heard().length > size, `${slow.heard().length} bytes`);
    });
  });

  test('a connection that says nothing is closed', async () => {
    const server = await listening({ headersTimeoutMs: 200 });
    const silent = await dial(server);
    await silent.closed;
  });

  test('a body that drips in is cut off', async () => {
    const server = await listening({ headersTimeoutMs: 200, requestTimeoutMs: 300 });
    const slow = await dial(server);
    slow.socket.write(
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"',
    );
    drips.push(setInterval(() => slow.socket.write('x'), 20));
    await slow.closed;
    assert.match(slow.heard(), /^HTTP\/1\.1 (408|400) /);
  });

  test('a body that drips in while its answer has begun is cut off without a second answer inside it', async () => {
    const server = testServer({ headersTimeoutMs: 100, requestTimeoutMs: 200 });
    open.push(server);
    server.app.get('/', async () => ({ ok: true }));
    server.app.post('/early', async (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, { 'content-length': 1_000 });
      reply.raw.write('begun');
    });
    server.app.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null));
    await server.listen();
    const slow = await dialServed(server);
    const before = slow.heard().length;
    slow.socket.write(
      'POST /early HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ncontent-length: 1000\r\n\r\n',
    );
    drips.push(setInterval(() => slow.socket.write('x'), 20));
    await slow.closed;
    const answer = slow.heard().slice(before);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.ok(answer.endsWith('\r\n\r\nbegun'), answer);
  });

  test('an idle kept-alive connection is closed after its time', async () => {
    const server = await listening({ keepAliveTimeoutMs: 50 });
    const idle = await dial(server);
    idle.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await idle.closed;
    assert.match(idle.heard(), /^HTTP\/1\.1 200 OK\r\n/);
  });
});

describe('odd clients', { timeout: 120_000 }, () => {
  test('what is not HTTP gets a 400 and is closed', async () => {
    const server = await listening();
    const odd = await dial(server);
    odd.socket.write('\x16\x03\x01 hello\r\n\r\n');
    await odd.closed;
    assert.match(odd.heard(), /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\n\r\n"Bad Request"$/);
  });

  test('a head beyond its limit gets a 431 that scripts can read and no cache keeps', async () => {
    const server = await listening({ maxHeaderSize: 2048 });
    const big = await dial(server);
    big.socket.write(`GET / HTTP/1.1\r\nhost: x\r\nx-big: ${'b'.repeat(4096)}\r\n\r\n`);
    await big.closed;
    const [head = '', body = ''] = big.heard().split('\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    assert.match(head, /\r\nCache-Control: no-store(\r\n|$)/);
    assert.match(head, /\r\nAccess-Control-Allow-Origin: \*(\r\n|$)/);
    assert.equal(body, '"Request Header Fields Too Large"');
  });

  test('a request with two lengths (smuggling) is refused', async () => {
    const server = await listening();
    const sly = await dial(server);
    sly.socket.write(
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n',
    );
    await sly.closed;
    assert.match(sly.heard(), /^HTTP\/1\.1 400 /);
    assert.equal(sly.heard().match(/HTTP\/1\.1/g)?.length, 1);
  });

  test('a client that leaves while it sends is counted as such and is no error of ours', async () => {
    const { log, lines } = rememberingLog();
    const metrics = new Metrics();
    const server = await listening({ log, metrics });
    const leaving = await dial(server);
    leaving.socket.write(
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"x',
    );
    while (metrics.requests.inFlight === 0) await sleep(2);
    leaving.socket.destroy();
    while (metrics.requests.inFlight > 0) await sleep(2);
    assert.ok((await metrics.text()).includes('_count{route="/",method="POST",status="499"} 1'));
    assert.deepEqual(lines, []);
  });

  test('the surface words these refusals too', async () => {
    const server = await listening({ errorBody: (status, message) => ({ status, message }) });
    const odd = await dial(server);
    odd.socket.write('nonsense\r\n\r\n');
    await odd.closed;
    assert.ok(odd.heard().endsWith('{"status":400,"message":"Bad Request"}'));
  });

  test('a request beyond the connection limit is not served, and the limit frees again', async () => {
    const server = await listening({ maxConnections: 1 });
    const first = await dial(server);
    const second = await dial(server);
    await second.closed;
    first.socket.destroy();
    await first.closed;
    while ((await fetch(server.url).catch(() => undefined))?.status !== 200) await sleep(5);
  });
});

describe('requests that are sent ahead', { timeout: 120_000 }, () => {
  const ahead = (count: number) => 'GET /held HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(count);
  async function holding(options: Partial<HttpServerOptions> = {}) {
    const gate = Promise.withResolvers<void>();
    const state = { entered: 0, left: 0 };
    const server = testServer(options);
    open.push(server);
    server.app.get('/held', async () => {
      state.entered += 1;
      await gate.promise;
      state.left += 1;
      return { held: true };
    });
    await server.listen();
    return { server, state, release: gate.resolve };
  }

  test('are answered in order, as many as clients send', async () => {
    const { server, state, release } = await holding();
    const client = await dial(server);
    for (let round = 1; round <= 3; round += 1) {
      client.socket.write(ahead(90));
      while (state.entered < round * 90) await sleep(5);
      release();
      while (client.heard().split('{"held":true}').length <= round * 90) await sleep(5);
    }
  });

  test('are given up with their connection, also those whose turn had not come', async () => {
    const metrics = new Metrics();
    const { server, state, release } = await holding({ metrics });
    const client = await dial(server);
    client.socket.write(ahead(50));
    while (state.entered < 50) await sleep(5);
    const inFlight = async () => /^http_requests_in_flight ([0-9]+)$/m.exec(await metrics.text())?.[1];
    assert.equal(await inFlight(), '50');
    client.socket.destroy();
    while ((await inFlight()) !== '0') await sleep(5);
    release();
    while (state.left < 50) await sleep(5);
    // What a handler returns is taken up within a few turns.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    assert.equal(await inFlight(), '0', 'and counted once');
  });

  test('are too many when they are hundreds: the connection is closed, and little of it is worked on', async () => {
    const { server, state, release } = await holding();
    const client = await dial(server);
    client.socket.write(ahead(2_000));
    await client.closed;
    assert.ok(state.entered > 0 && state.entered <= 101, `${state.entered} were worked on`);
    release();
  });
});
