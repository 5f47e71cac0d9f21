import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, mock, test } from 'node:test';
import { request as send } from 'undici';
import { createHttpServer } from '../../kernel/http/server.ts';
import { createLogger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { takeRawBodies, uploadBody } from './upload-request.ts';

const server = createHttpServer({
  name: 'upload',
  title: 'Bodies',
  host: '127.0.0.1',
  port: 0,
  portVariable: 'UPLOAD_PORT',
  log: createLogger({ level: 'silent', format: 'json', name: 'bodies' }),
  metrics: new Metrics(),
});

/** How reading a body ended, by the length its request stated. */
const ends = new Map<string, string>();
let read: () => void = () => {};
let came: () => void = () => {};
server.mount(
  (scope) => {
    takeRawBodies(scope);
    scope.post('/late', async (request) => {
      const { raw } = request;
      came();
      // As a route that asks the database first: by then the client has left.
      if (!raw.destroyed) await once(raw, 'close').catch(() => {});
      try {
        for await (const _piece of uploadBody(request));
        ends.set(String(request.headers['content-length']), 'whole');
      } catch (error) {
        ends.set(String(request.headers['content-length']), String(error));
      }
      read();
      return '';
    });
    scope.post('/slow', async (request) => {
      let bytes = 0;
      for await (const piece of uploadBody(request, 1_000)) {
        // The only time that passes here: what the store takes for the first piece.
        if (bytes === 0) mock.timers.tick(2_500);
        bytes += piece.length;
      }
      return { bytes };
    });
  },
  [''],
);
await server.listen();
after(() => server.close());

for (const length of [1_000, 1_000_000]) {
  test(`a client that left before its ${length} bytes were read is noticed at once`, {
    timeout: 20_000,
  }, async () => {
    const done = new Promise<void>((resolve) => {
      read = resolve;
    });
    const arrived = new Promise<void>((resolve) => {
      came = resolve;
    });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`POST /late HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\nsome of it`);
    await arrived;
    socket.destroy();
    await done;
    assert.notEqual(ends.get(String(length)), 'whole');
  });
}

test('a client is not cut off because the store takes long', { timeout: 30_000 }, async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const answer = await send(`${server.url}/slow`, { method: 'POST', body: Buffer.alloc(2_000_000, 1) });
  assert.equal(answer.statusCode, 200);
  assert.deepEqual(await answer.body.json(), { bytes: 2_000_000 });
});
