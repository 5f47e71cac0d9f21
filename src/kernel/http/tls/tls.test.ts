import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, get as plainGet } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { request as secureRequest } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { connect as connectTls, rootCertificates } from 'node:tls';
import { eventually } from '../../../../test/support/eventually.ts';
import { rememberingLog, testServer } from '../../testing.ts';
import { type LocalAuthority, openLocalAuthority } from '../../tls/local-authority.ts';
import { holdPorts } from '../held-ports.ts';
import type { HttpServer, HttpServerOptions } from '../server.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-https-'));
let authority: LocalAuthority;
let ca: string;
const servers: HttpServer[] = [];
const sessions: ClientHttp2Session[] = [];

before(async () => {
  authority = await openLocalAuthority(folder);
  ca = authority.certificate.toString();
});
after(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  for (const server of servers.splice(0)) await server.close();
});

/** What the handlers saw. */
interface Seen {
  readonly gate: PromiseWithResolvers<void>;
  readonly closed: string[];
  read: number;
}

async function serve(options: Partial<HttpServerOptions> = {}): Promise<{ server: HttpServer; seen: Seen }> {
  const server = testServer({ tls: authority, ...options });
  servers.push(server);
  const seen: Seen = { gate: Promise.withResolvers(), closed: [], read: 0 };
  const { app } = server;
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.all('/echo', async ({ protocol, host, ip, method, headers, raw }, reply) => {
    reply.header('set-cookie', ['a=1', 'b=2']).header('keep-alive', 'timeout=5');
    return { protocol, host, ip, method, headers, version: raw.httpVersion };
  });
  app.post('/digest', async ({ raw }) => {
    const chunks: Buffer[] = [];
    for await (const chunk of raw) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    return { length: bytes.length, digest: hash('sha256', bytes) };
  });
  app.post('/slow-reader', async ({ raw }) => {
    const first = await new Promise<Buffer>((resolve) => raw.once('readable', () => resolve(raw.read(1))));
    seen.read += first.length;
    await seen.gate.promise;
    for await (const chunk of raw) seen.read += chunk.length;
    return { read: seen.read };
  });
  app.post('/refuse', async (_request, reply) => reply.code(413).send('too much'));
  app.get('/held', async ({ raw }, reply) => {
    raw.on('close', () => seen.closed.push('request'));
    reply.raw.on('close', () => seen.closed.push('answer'));
    seen.read += 1;
    await seen.gate.promise;
    return { held: true };
  });
  app.get('/large', async (_request, reply) => reply.send(Buffer.alloc(8 * 1024 * 1024, 'x')));
  app.get('/torn', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-length': 10 });
    reply.raw.write('12345', () => reply.raw.destroy());
  });
  app.get('/nothing', async (_request, reply) => reply.code(204).send());
  await server.listen();
  return { server, seen };
}

function open(server: HttpServer, host = '127.0.0.1'): ClientHttp2Session {
  const session = connect(`https://${host}:${server.port}`, {
    ca,
    maxSessionMemory: 64,
    lookup: (_name, options, done) =>
      options.all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
  });
  sessions.push(session);
  return session;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  const closed = once(stream, 'close').then(() => assert.fail('closed without an answer'));
  closed.catch(() => {});
  const [headers] = await Promise.race([once(stream, 'response'), closed]);
  let body = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) body += chunk;
  return { status: headers[':status'], headers, body };
}

const ask = (
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body?: Buffer,
): Promise<Answer> => {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return answerOf(stream);
};

describe('one port for HTTP, HTTPS and HTTP/2', () => {
  test('a plain client, one of HTTP/1.1 over TLS and one of HTTP/2 get the same, and each its scheme', async () => {
    const { server } = await serve();
    const [plain]: IncomingMessage[] = await once(plainGet(`${server.url}/echo`), 'response');
    assert.equal(JSON.parse(await textOf(plain)).protocol, 'http');
    const outgoing = secureRequest(`https://localhost:${server.port}/echo`, { ca, family: 4 }).end();
    const [secure]: IncomingMessage[] = await once(outgoing, 'response');
    const one = JSON.parse(await textOf(secure));
    assert.deepEqual([one.protocol, one.host, one.ip], ['https', `localhost:${server.port}`, '127.0.0.1']);
    const two = await ask(open(server), { ':path': '/echo?x=%20y', cookie: 'a=1', 'x-own': 'ünï' });
    const told = JSON.parse(two.body);
    assert.deepEqual(
      [told.protocol, told.host, told.ip, told.method, told.version],
      ['https', `127.0.0.1:${server.port}`, '127.0.0.1', 'GET', '1.1'],
    );
    assert.equal(told.headers.cookie, 'a=1');
    assert.deepEqual(two.headers['set-cookie'], ['a=1', 'b=2']);
    for (const name of ['connection', 'keep-alive', 'transfer-encoding'])
      assert.ok(!(name in two.headers), name);
  });

  test('a host below localhost has a certificate of its own, and strangers do not trust any of it', async () => {
    const { server } = await serve();
    const told = await ask(open(server, 'some.gateway.localhost'), { ':path': '/echo' });
    assert.equal(JSON.parse(told.body).host, `some.gateway.localhost:${server.port}`);
    const stranger = connectTls({ port: server.port, host: '127.0.0.1', ca: [...rootCertificates] });
    const [error] = await once(stranger, 'error');
    assert.match(String(error.code), /SELF_SIGNED|UNABLE_TO/);
  });

  test('a request in two pieces, several on one connection, and a silent one that leaves', async () => {
    const { server } = await serve();
    const socket = connectPlain(server.port, '127.0.0.1');
    socket.write('G');
    await once(socket, 'connect');
    socket.write(
      'ET /nothing HTTP/1.1\r\nhost: x\r\n\r\nGET /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    );
    let text = '';
    for await (const chunk of socket) text += chunk;
    assert.equal(text.match(/HTTP\/1.1 204/g)?.length, 2);
    const silent = connectPlain(server.port, '127.0.0.1');
    await once(silent, 'connect');
    silent.end();
    await once(silent, 'close');
  });

  test('who says nothing, or begins a handshake and stops, is cut off in time', async () => {
    const { server } = await serve({ headersTimeoutMs: 200 });
    for (const bytes of [Buffer.alloc(0), Buffer.from([22, 3, 1, 2, 0])]) {
      const socket = connectPlain(server.port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      if (bytes.length > 0) socket.write(bytes);
      socket.resume();
      await once(socket, 'close');
    }
  });

  test('a certificate that cannot be had closes the connection and is told; plain HTTP goes on', async () => {
    const { log, lines } = rememberingLog();
    const broken = { keyPairFor: () => Promise.reject(new Error('no keys here')) };
    const { server } = await serve({ tls: broken, log });
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca });
    await once(socket, 'error');
    await eventually('it is told', () => lines.at(-1)?.msg === 'TLS cannot be answered');
    const [plain]: IncomingMessage[] = await once(plainGet(`${server.url}/nothing`), 'response');
    assert.equal(plain?.statusCode, 204);
  });
});

describe('bodies over HTTP/2', () => {
  test('a body of unknown length arrives whole, and many at once', async () => {
    const { server } = await serve();
    const session = open(server);
    const body = randomBytes(3 * 1024 * 1024);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        ask(session, { ':method': 'POST', ':path': '/digest', 'content-type': 'a/b' }, body),
      ),
    );
    for (const answer of answers) {
      assert.deepEqual(JSON.parse(answer.body), { length: body.length, digest: hash('sha256', body) });
    }
    const empty = await ask(session, { ':method': 'POST', ':path': '/digest', 'content-type': 'a/b' });
    assert.equal(JSON.parse(empty.body).length, 0);
  });

  test('a reader that does not read holds the sender back', async () => {
    const { server, seen } = await serve();
    const stream = open(server).request({
      ':method': 'POST',
      ':path': '/slow-reader',
      'content-type': 'a/b',
    });
    const size = 16 * 1024 * 1024;
    let isSent = false;
    stream.end(Buffer.alloc(size), () => {
      isSent = true;
    });
    await eventually('it has begun', () => seen.read === 1);
    assert.equal(isSent, false);
    seen.gate.resolve();
    assert.deepEqual(JSON.parse((await answerOf(stream)).body), { read: size });
  });

  test('an answer before the end of the body is seen, and the rest of the body is not wanted', async () => {
    const { server } = await serve();
    const stream = open(server).request({ ':method': 'POST', ':path': '/refuse', 'content-type': 'a/b' });
    stream.on('error', () => {});
    stream.write(Buffer.alloc(64 * 1024));
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 413);
    stream.resume();
    await once(stream, 'close');
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  });

  test('an answer that tears is no whole answer', async () => {
    const { server } = await serve();
    await assert.rejects(ask(open(server), { ':path': '/torn' }), /INTERNAL_ERROR/);
  });

  test('HEAD and 204 have no body, a large answer has all of it', async () => {
    const { server } = await serve();
    const session = open(server);
    const head = await ask(session, { ':method': 'HEAD', ':path': '/large' });
    assert.deepEqual([head.status, head.body], [200, '']);
    assert.equal((await ask(session, { ':path': '/nothing' })).status, 204);
    assert.equal((await ask(session, { ':path': '/large' })).body.length, 8 * 1024 * 1024);
  });

  test('Expect: 100-continue is answered before the body is sent', async () => {
    const { server } = await serve();
    const stream = open(server).request({
      ':method': 'POST',
      ':path': '/digest',
      'content-type': 'a/b',
      expect: '100-continue',
    });
    await once(stream, 'continue');
    stream.end('now');
    assert.equal(JSON.parse((await answerOf(stream)).body).length, 3);
  });
});

describe('bounds of HTTP/2', () => {
  test('heads that HTTP/1.1 would refuse are refused alike', async () => {
    const { server } = await serve();
    const session = open(server);
    assert.equal((await ask(session, { ':path': '/echo', 'x-long': 'x'.repeat(20_000) })).status, 431);
    await assert.rejects(ask(session, { ':path': '/e cho' }), /PROTOCOL_ERROR/);
    const tunnel = session.request({ ':method': 'CONNECT', ':authority': 'example.com:443' });
    const [headers] = await once(tunnel, 'response');
    assert.equal(headers[':status'], 405);
    assert.equal((await ask(session, { ':path': '/nothing' })).status, 204);
  });

  test('a client that gives up ends the work for it, the connection stays', async () => {
    const { server, seen } = await serve();
    const session = open(server);
    const stream = session.request({ ':path': '/held' });
    await eventually('it has begun', () => seen.read === 1);
    stream.close(constants.NGHTTP2_CANCEL);
    await eventually('the answer is given up', () => seen.closed.includes('answer'));
    assert.equal((await ask(session, { ':path': '/nothing' })).status, 204);
  });

  test('a client that takes no byte is cut off', async () => {
    const { server } = await serve({ stallTimeoutMs: 200 });
    const stream = open(server).request({ ':path': '/large' });
    stream.on('error', () => {});
    await once(stream, 'response');
    // Nothing is read, so that the window closes.
    await eventually('it is cut off', () => stream.closed);
    assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
  });

  test('a drain lets requests finish, takes no new connection, and frees the port', async () => {
    const { server, seen } = await serve();
    const session = open(server);
    const held = ask(session, { ':path': '/held' });
    await eventually('it has begun', () => seen.read === 1);
    const drained = server.drain(10_000);
    seen.gate.resolve();
    assert.deepEqual(JSON.parse((await held).body), { held: true });
    assert.equal(await drained, true);
    await once(session, 'close');
    await server.close();
  });

  test('a drain cuts what does not end', async () => {
    const { server, seen } = await serve();
    const session = open(server);
    session.on('error', () => {});
    const held = ask(session, { ':path': '/held' });
    held.catch(() => {});
    await eventually('it has begun', () => seen.read === 1);
    assert.equal(await server.drain(50), false);
    await assert.rejects(held);
    await server.close();
    seen.gate.resolve();
  });
});

test('on a held port an HTTP/2 connection outlives the server behind it', async (t) => {
  const ports = holdPorts();
  t.after(() => ports.close());
  const first = await serve();
  const session = open(first.server);
  assert.equal((await ask(session, { ':path': '/nothing' })).status, 204);
  const { port } = first.server;
  await first.server.close();
  const waiting = ask(session, { ':path': '/nothing' });
  const second = await serve();
  assert.equal(second.server.port, port);
  assert.equal((await waiting).status, 204);
  ports.ending = true;
  assert.equal(await second.server.drain(10_000), true);
  await eventually('the connection is closed', () => session.closed);
});

test('WebSockets work over TLS', async () => {
  const { server } = await serve();
  server.app.server.on('upgrade', (_request, stream) => {
    stream.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\nhello');
  });
  const outgoing = secureRequest(`https://127.0.0.1:${server.port}/`, {
    ca,
    headers: { connection: 'upgrade', upgrade: 'websocket' },
  }).end();
  const [, socket, head] = await once(outgoing, 'upgrade');
  let text = String(head);
  for await (const chunk of socket) text += chunk;
  assert.equal(text, 'hello');
});

async function textOf(answer: IncomingMessage | undefined): Promise<string> {
  let text = '';
  for await (const chunk of answer ?? []) text += chunk;
  return text;
}
