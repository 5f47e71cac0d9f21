import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import Type from 'typebox';
import { HttpError } from '../errors.ts';
import { rememberingLog, testServer } from '../testing.ts';
import type { HttpServer, HttpServerOptions, Routes } from './server.ts';

const open: HttpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

function serve(routes: Routes, options: Partial<HttpServerOptions> = {}): HttpServer {
  const server = testServer(options);
  server.mount(routes);
  open.push(server);
  return server;
}

const none: Routes = () => {};

describe('errors', () => {
  const body = Type.Object({ name: Type.String({ maxLength: 5 }), years: Type.Integer({ minimum: 1 }) });
  const failing: Routes = (app) => {
    app.get('/refuse', async () => {
      throw new HttpError(
        402,
        { error: 'pay' },
        { retryAfter: 1.2, headers: { 'cache-control': 'no-store' } },
      );
    });
    app.get('/refuse-text', async () => {
      throw new HttpError(404, 'User Not Found');
    });
    app.get('/break', async () => {
      throw new Error('database password is hunter2');
    });
    app.get('/throw-odd', async () => {
      throw 'a text';
    });
    app.get('/foreign-status', async () => {
      throw Object.assign(new Error('upstream said no'), { statusCode: 404, code: 'UPSTREAM' });
    });
    app.post('/buy', { schema: { body } }, async (request) => request.body);
    app.get(
      '/price/:bytes',
      {
        schema: { params: Type.Object({ bytes: Type.String({ pattern: '^[0-9]+$' }) }) },
        config: { invalid: 'Invalid byte count' },
      },
      async () => 'ok',
    );
    app.get(
      '/parts/:id',
      {
        schema: {
          params: Type.Object({ id: Type.String({ minLength: 3 }) }),
          querystring: Type.Object({ address: Type.String() }),
        },
        config: { invalid: (part, field) => ({ part, field }) },
      },
      async () => 'ok',
    );
  };

  test('an HttpError is its status, its body as JSON, its headers', async () => {
    const { app } = serve(failing);
    const answer = await app.inject('/refuse');
    assert.deepEqual([answer.statusCode, answer.json()], [402, { error: 'pay' }]);
    assert.deepEqual([answer.headers['retry-after'], answer.headers['cache-control']], ['2', 'no-store']);
    const text = await app.inject('/refuse-text');
    assert.deepEqual([text.statusCode, text.body], [404, '"User Not Found"']);
    assert.equal(text.headers['content-type'], 'application/json; charset=utf-8');
  });

  test('a string is bare text for a client that would rather have text, JSON for everybody else', async () => {
    const { app } = serve(failing);
    const ask = (accept: string, url = '/refuse-text') => app.inject({ url, headers: { accept } });
    const bare = await ask('text/plain');
    assert.deepEqual(
      [bare.body, bare.headers['content-type']],
      ['User Not Found', 'text/plain; charset=utf-8'],
    );
    assert.equal((await ask('application/json;q=0.5, text/*')).body, 'User Not Found');
    for (const accept of [
      '*/*',
      'application/json, text/plain, */*',
      'text/plain, application/json',
      'image/png',
    ]) {
      assert.equal((await ask(accept)).body, '"User Not Found"', accept);
    }
    assert.equal((await ask('text/plain', '/refuse')).body, '{"error":"pay"}', 'objects stay JSON');
  });

  test('anything else is a 500 that leaks nothing and is logged with its request id', async () => {
    const { log, lines } = rememberingLog();
    const { app } = serve(failing, { log });
    for (const url of ['/break', '/throw-odd', '/foreign-status']) {
      const answer = await app.inject({ url, headers: { 'x-request-id': `id-of-${url.slice(1)}` } });
      assert.deepEqual([answer.statusCode, answer.body], [500, '"Internal Server Error"'], url);
      assert.ok(!JSON.stringify(answer.headers).includes('hunter2'));
    }
    assert.deepEqual(
      lines.map((line) => [line.level, line.requestId, line.route]),
      [
        ['error', 'id-of-break', '/break'],
        ['error', 'id-of-throw-odd', '/throw-odd'],
        ['error', 'id-of-foreign-status', '/foreign-status'],
      ],
    );
  });

  test('input that breaks a schema gets the words of its route, or says what is wrong', async () => {
    const { app } = serve(failing);
    const refused = async (url: string, payload?: object) => {
      const answer = await app.inject(payload === undefined ? { url } : { method: 'POST', url, payload });
      assert.equal(answer.statusCode, 400);
      return answer.json();
    };
    assert.equal(await refused('/price/1e3'), 'Invalid byte count');
    assert.deepEqual(await refused('/parts/ab?address=x'), { part: 'params', field: 'id' });
    assert.deepEqual(await refused('/parts/abc'), { part: 'querystring', field: 'address' });
    assert.equal(await refused('/buy', { name: 'abc' }), 'Invalid request: years is required');
    assert.equal(await refused('/buy', { name: 'abc', years: 0 }), 'Invalid request: years must be >= 1');
    assert.equal(await refused('/buy', []), 'Invalid request: body must be object');
  });

  test('nothing is coerced: a text is no number, a number no text', async () => {
    const { app } = serve(failing);
    for (const payload of [
      { name: 'abc', years: '1' },
      { name: 1, years: 1 },
      { name: 'abc', years: true },
    ]) {
      assert.equal((await app.inject({ method: 'POST', url: '/buy', payload })).statusCode, 400);
    }
  });

  test('malformed, empty, oversized and untyped bodies are refused', async () => {
    const { app } = serve(failing, { bodyLimit: 100 });
    const post = async (payload: string, type = 'application/json') => {
      const answer = await app.inject({
        method: 'POST',
        url: '/buy',
        payload,
        headers: { 'content-type': type },
      });
      return [answer.statusCode, answer.json()];
    };
    assert.deepEqual(await post('{"name":'), [400, 'Invalid JSON body']);
    assert.deepEqual(await post('{"__proto__":{"a":1}}'), [400, 'Invalid JSON body']);
    assert.deepEqual(await post(''), [400, 'Body must not be empty']);
    assert.deepEqual(await post(`"${'x'.repeat(200)}"`), [413, 'Request body is too large']);
    assert.deepEqual(await post('a,b', 'text/csv'), [415, 'Unsupported media type']);
  });

  test('an unknown path is a JSON "Not Found", or what the surface says', async () => {
    const plain = await serve(none).app.inject('/nowhere');
    assert.deepEqual([plain.statusCode, plain.body], [404, '"Not Found"']);
    const own = serve(none, { notFound: (request) => ({ error: `no ${request.url}` }) });
    assert.deepEqual((await own.app.inject('/nowhere')).json(), { error: 'no /nowhere' });
    const objects = serve(none, { errorBody: (status, message) => ({ status, message }) });
    assert.deepEqual((await objects.app.inject('/nowhere')).json(), { status: 404, message: 'Not Found' });
  });

  test('a path that cannot be decoded is a 400, a very long parameter is not cut', async () => {
    const { app } = serve((scope) => {
      scope.get('/name/:name', async (request) => ({ length: request.params }));
    });
    const bad = await app.inject('/name/%E0%A4%A');
    assert.deepEqual([bad.statusCode, bad.json()], [400, 'Invalid path']);
    const long = await app.inject(`/name/${'x'.repeat(9_000)}`);
    assert.equal(long.json().length.name.length, 9_000);
  });
});
