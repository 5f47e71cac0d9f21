import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { testServer } from '../testing.ts';
import { type HeldPorts, holdPorts } from './held-ports.ts';
import type { HttpServer } from './server.ts';

let ports: HeldPorts | undefined;
const made: HttpServer[] = [];
afterEach(async () => {
  for (const server of made.splice(0)) await server.close();
  await ports?.close();
  ports = undefined;
});

/** The servers of a test are on one port, as those of one surface are. */
async function answering(text: string, routes: (server: HttpServer) => void = () => {}): Promise<HttpServer> {
  ports = holdPorts();
  const server = testServer();
  made.push(server);
  server.app.get('/', async () => ({ text }));
  routes(server);
  await server.listen();
  return server;
}

const ask = async (url: string): Promise<unknown> => (await fetch(url)).json();

describe('a held port', () => {
  test('stays open between two servers, and who asks meanwhile waits for the next', async () => {
    const first = await answering('first');
    const { url } = first;
    assert.deepEqual(await ask(url), { text: 'first' });
    assert.equal(await first.drain(1_000), true);
    await first.close();
    const waiting = Promise.all([ask(url), ask(url)]);
    const second = await answering('second');
    assert.equal(second.url, url);
    assert.deepEqual(await waiting, [{ text: 'second' }, { text: 'second' }]);
  });

  test('lets what is in flight finish, and cuts what does not', async () => {
    const gate = Promise.withResolvers<void>();
    let entered = 0;
    const first = await answering('first', ({ app }) => {
      app.get('/slow', async () => {
        entered += 1;
        await gate.promise;
        return { slow: true };
      });
      app.get('/never', async () => {
        entered += 1;
        await new Promise(() => {});
      });
    });
    const slow = ask(`${first.url}/slow`);
    await eventually('it is in flight', () => entered === 1);
    const drained = first.drain(5_000);
    gate.resolve();
    assert.deepEqual(await slow, { slow: true });
    assert.equal(await drained, true);
    const { url } = first;
    await first.close();

    const second = await answering('second', ({ app }) => {
      app.get('/never', async () => {
        entered += 1;
        await new Promise(() => {});
      });
    });
    const never = assert.rejects(fetch(`${url}/never`));
    await eventually('it is in flight', () => entered === 2);
    assert.equal(await second.drain(10), false);
    await never;
  });

  test('hands on other protocols, and requests that are for another server', async () => {
    const other = testServer();
    made.push(other);
    other.app.get('/other', async () => ({ text: 'other' }));
    await other.app.ready();
    ports = holdPorts();
    ports.choose('TEST_PORT', ({ url }) => (url === '/other' ? other.app.server : undefined));
    const first = await answering('first', ({ app }) => {
      app.server.on('upgrade', (_request, stream) =>
        stream.end('HTTP/1.1 101 Switching Protocols\r\n\r\nhello'),
      );
    });
    assert.deepEqual(await ask(`${first.url}/other`), { text: 'other' });
    assert.deepEqual(await ask(first.url), { text: 'first' });
    const offer = async (head: string) => {
      const socket = connect(first.port, '127.0.0.1');
      socket.write(`GET / HTTP/1.1\r\nhost: a\r\n${head}\r\n\r\n`);
      let received = '';
      socket.setEncoding('utf8').on('data', (text: string) => {
        received += text;
        if (/\{.*\}$/.test(received)) socket.end();
      });
      await once(socket, 'close');
      return received;
    };
    assert.match(await offer('connection: upgrade\r\nupgrade: WebSocket'), /hello$/);
    // What nobody here speaks is offered for nothing.
    assert.match(await offer('connection: upgrade\r\nupgrade: h2c'), /"first"/);
  });

  test('closes with its server at the end', async () => {
    const server = await answering('last');
    const { url } = server;
    assert.deepEqual(await ask(url), { text: 'last' });
    assert.ok(ports);
    ports.ending = true;
    assert.equal(await server.drain(1_000), true);
    await assert.rejects(fetch(url));
  });
});
