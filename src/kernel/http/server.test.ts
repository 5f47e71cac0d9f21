import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { HttpError } from '../errors.ts';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { createHttpServer } from './server.ts';

test('a route answers with its request id and its words for bad input', async () => {
  const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
  const server = createHttpServer({
    name: 'test',
    title: 'Test',
    host: '127.0.0.1',
    port: 0,
    portVariable: 'TEST_PORT',
    log,
    metrics: new Metrics(),
  });
  server.mount(
    (app) => {
      const params = Type.Object({ bytes: Type.String({ pattern: '^[0-9]+$' }) });
      app.get(
        '/price/:bytes',
        { schema: { params }, config: { invalid: 'Invalid byte count' } },
        async (request) => ({ bytes: request.params.bytes }),
      );
      app.get('/later', async () => {
        throw new HttpError(503, 'Later', { retryAfter: 2 });
      });
    },
    ['/v1', ''],
  );
  try {
    const good = await server.app.inject({ url: '/v1/price/10', headers: { 'x-request-id': 'mine-1' } });
    assert.deepEqual(good.json(), { bytes: '10' });
    assert.equal(good.headers['x-request-id'], 'mine-1');
    const bad = await server.app.inject('/price/1e3');
    assert.deepEqual([bad.statusCode, bad.body], [400, '"Invalid byte count"']);
    const later = await server.app.inject('/later');
    assert.deepEqual([later.statusCode, later.headers['retry-after']], [503, '2']);
    const document = (await server.app.inject('/openapi.json')).json();
    assert.deepEqual(Object.keys(document.paths), ['/v1/price/{bytes}', '/v1/later']);
  } finally {
    await server.close();
  }
});
