import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { openLocalAuthority } from '../kernel/tls/local-authority.ts';
import { giveBack, onread } from './read-buffers.ts';

const random = seededRandom(3_141);

/** Where a server listens that sends these bytes to whoever connects. */
async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

const sending = (bytes: Buffer) => (socket: Socket) => void socket.on('error', () => {}).end(bytes);

/** All that comes; of each piece a copy, and `seen` may do with it what it likes. */
async function readAll(socket: Socket, seen: (piece: Buffer) => void): Promise<Buffer> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => {
    pieces.push(Buffer.from(piece));
    seen(piece);
  });
  await once(socket, 'end');
  return Buffer.concat(pieces);
}

test('what is given back is read into again, and nothing is lost or mixed up', async (t) => {
  const bytes = random.bytes(16 * 1024 * 1024);
  const port = await listening(t, createServer(sending(bytes)));
  const memory = new Set<ArrayBufferLike>();
  let large = 0;
  const got = await readAll(connect({ port, host: '127.0.0.1', onread }), (piece) => {
    if (piece.length > 100_000) {
      large += 1;
      memory.add(piece.buffer);
    }
    giveBack(piece);
  });
  assert.ok(got.equals(bytes));
  assert.ok(large > 10, `${large} large pieces`);
  assert.ok(memory.size <= 3, `${large} pieces in ${memory.size} buffers`);
});

test('what is held stays as it was, whatever else is read and given back, wholly, in parts or twice', async (t) => {
  const held = random.bytes(4 * 1024 * 1024);
  const passing = random.bytes(8 * 1024 * 1024);
  const first = await listening(t, createServer(sending(held)));
  const second = await listening(t, createServer(sending(passing)));
  const pieces: Buffer[] = [];
  const [, other] = await Promise.all([
    readAll(connect({ port: first, host: '127.0.0.1', onread }), (piece) => {
      pieces.push(piece);
      giveBack(piece.subarray(0, piece.length - 1));
      giveBack(piece.subarray(1));
      giveBack(Buffer.from(piece));
    }),
    readAll(connect({ port: second, host: '127.0.0.1', onread }), (piece) => {
      giveBack(piece);
      giveBack(piece);
    }),
  ]);
  assert.ok(other.equals(passing));
  assert.ok(Buffer.concat(pieces).equals(held));
});

test('a little is copied: a connection that rests shares its buffer with all others', async (t) => {
  const sockets: Socket[] = [];
  const port = await listening(
    t,
    createServer((socket) => void sockets.push(socket)),
  );
  const readers = await Promise.all(
    ['one', 'two'].map(async () => {
      const socket = connect({ port, host: '127.0.0.1', onread });
      await once(socket, 'connect');
      return socket;
    }),
  );
  t.after(() => {
    for (const socket of [...readers, ...sockets]) socket.destroy();
  });
  const got = readers.map(async (socket) => (await once(socket, 'data')) as [Buffer]);
  while (sockets.length < 2) await new Promise(setImmediate);
  for (const [index, socket] of sockets.entries()) socket.write(`answer ${index}`);
  const texts = (await Promise.all(got)).map(([piece]) => piece.toString());
  assert.deepEqual(texts.toSorted(), ['answer 0', 'answer 1']);
});

test('over TLS it is the same', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-read-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const authority = await openLocalAuthority(folder);
  const bytes = random.bytes(2 * 1024 * 1024);
  const port = await listening(t, createTlsServer(await authority.keyPairFor('localhost'), sending(bytes)));
  const ca = authority.certificate.toString();
  const options = { port, host: '127.0.0.1', servername: 'localhost', ca, onread };
  assert.ok((await readAll(connectTls(options), giveBack)).equals(bytes));
});
