import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { PreparedHead } from './prepared-head.ts';

const pairs = ['content-type', 'text/plain', 'content-length', '5', 'x-two', 'a', 'x-two', 'b'];
const head = new PreparedHead(200, pairs);
let wrapped = false;

describe('a prepared head', () => {
  const server = createServer({ keepAliveTimeout: 7_000 }, (request, response) => {
    if (wrapped) wrap(response);
    const more = ['x-request-id', 'one'];
    if (request.url === '/plain') response.writeHead(200, pairs.concat(more));
    else head.write(response, more);
    if (request.method === 'HEAD') response.end();
    else response.end('h\xe4llo', 'latin1');
  });
  let port = 0;
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    port = address.port;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  /** Everything that comes back until the server closes the connection. */
  async function talk(text: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    const pieces: Buffer[] = [];
    socket.on('data', (piece) => pieces.push(piece));
    socket.write(text);
    await once(socket, 'close');
    return Buffer.concat(pieces)
      .toString('latin1')
      .replaceAll(/^Date: .*$/gm, 'Date: …');
  }
  const ask = (method: string, path: string, lines = '') =>
    `${method} ${path} HTTP/1.1\r\nhost: x\r\n${lines}\r\n`;
  const last = ask('GET', '/plain', 'connection: close\r\n');

  it('is on the wire what writeHead writes, one request after the other and several at once', async () => {
    for (const method of ['GET', 'HEAD']) {
      const prepared = await talk(ask(method, '/') + ask(method, '/') + last);
      assert.equal(prepared, await talk(ask(method, '/plain') + ask(method, '/plain') + last));
      assert.match(prepared, /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Keep-Alive: timeout=7\r\n/);
    }
  });

  it('leaves a connection that closes, an old client and a wrapped writeHead to writeHead', async () => {
    for (const request of [ask('GET', '/', 'connection: close\r\n'), 'GET / HTTP/1.0\r\n\r\n']) {
      assert.equal(await talk(request), await talk(request.replace('GET / ', 'GET /plain ')));
      assert.match(await talk(request), /Connection: close/i);
    }
    wrapped = true;
    assert.match(await talk(ask('GET', '/', 'connection: close\r\n')), /x-wrapped: yes/);
    assert.match(await talk(ask('GET', '/') + last), /^HTTP\/1\.1 200 OK\r\nx-wrapped: yes/);
    wrapped = false;
  });

  it('refuses what may not stand in a head', () => {
    assert.throws(() => new PreparedHead(200, ['x-name', 'a\r\nset-cookie: b']));
    assert.throws(() => new PreparedHead(200, ['x name', 'a']));
  });
});

function wrap(response: ServerResponse): void {
  const { writeHead } = response;
  response.writeHead = (status: number, ...rest: unknown[]): ServerResponse => {
    const given = rest.at(-1);
    return writeHead.call(response, status, ['x-wrapped', 'yes', ...(Array.isArray(given) ? given : [])]);
  };
}
