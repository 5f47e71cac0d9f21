import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import Type from 'typebox';
import { HttpError, StartupError } from '../errors.ts';
import { Metrics } from '../metrics.ts';
import { rememberingLog, silentLog, testServer } from '../testing.ts';
import { type HttpServer, type HttpServerOptions, type Routes, sendJson } from './server.ts';

const open: HttpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

function serve(routes: Routes, options: Partial<HttpServerOptions> = {}, prefixes?: string[]): HttpServer {
  const server = testServer(options);
  server.mount(routes, prefixes);
  open.push(server);
  return server;
}

const none: Routes = () => {};

describe('request ids', () => {
  const echo: Routes = (app) => {
    app.get('/id', async (request) => ({ id: request.id }));
  };

  test('a sane id of the caller is kept and returned', async () => {
    const { app } = serve(echo);
    const answer = await app.inject({ url: '/id', headers: { 'x-request-id': 'trace-1/a.b:c' } });
    assert.equal(answer.headers['x-request-id'], 'trace-1/a.b:c');
    assert.deepEqual(answer.json(), { id: 'trace-1/a.b:c' });
  });

  test('otherwise every request gets its own', async () => {
    const { app } = serve(echo);
    const odd = ['', 'with space', '<script>', 'x'.repeat(129), '-starts-oddly', 'line\tbreak'];
    const ids = new Set<unknown>();
    for (const id of odd) {
      const answer = await app.inject({ url: '/id', headers: { 'x-request-id': id } });
      assert.notEqual(answer.headers['x-request-id'], id);
      ids.add(answer.headers['x-request-id']);
    }
    assert.equal(ids.size, odd.length);
  });
});

describe('cross-origin calls', () => {
  const cors = { allowHeaders: ['x-signature', 'x-nonce'], exposeHeaders: ['x-payment-response'] };

  test('every answer may be read from any page, errors and unknown paths included', async () => {
    const { app } = serve(none, { cors });
    for (const url of ['/nowhere', '/openapi.json', '/%zz']) {
      const { headers } = await app.inject(url);
      assert.equal(headers['access-control-allow-origin'], '*', url);
      assert.equal(headers['access-control-expose-headers'], 'x-request-id, x-payment-response', url);
    }
  });

  test('without headers to show, none are spoken of', async () => {
    const { headers } = await serve(none).app.inject('/nowhere');
    assert.equal(headers['access-control-allow-origin'], '*');
    assert.equal(headers['access-control-expose-headers'], undefined);
  });

  test('a preflight is answered with what is allowed, without asking the route', async () => {
    const { app } = serve(
      (scope) => {
        scope.post('/pay', () => assert.fail('the route was asked'));
      },
      { cors },
    );
    const answer = await app.inject({
      method: 'OPTIONS',
      url: '/pay',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
    });
    assert.deepEqual([answer.statusCode, answer.body], [204, '']);
    assert.equal(answer.headers['access-control-allow-headers'], 'x-signature, x-nonce');
    assert.match(String(answer.headers['access-control-allow-methods']), /POST/);
    assert.equal(answer.headers['access-control-max-age'], '86400');
  });

  test('without a list, the headers that the page asks for are allowed, unless they are no header names', async () => {
    const { app } = serve(none);
    const ask = (headers: string) =>
      app.inject({
        method: 'OPTIONS',
        url: '/x',
        headers: { 'access-control-request-method': 'GET', 'access-control-request-headers': headers },
      });
    const fine = await ask('x-a, content-type');
    assert.equal(fine.headers['access-control-allow-headers'], 'x-a, content-type');
    assert.equal(fine.headers.vary, 'access-control-request-headers');
    assert.equal((await ask('x-a<script>')).headers['access-control-allow-headers'], undefined);
  });

  test('a plain OPTIONS is answered too, and a route of its own comes first', async () => {
    const { app } = serve((scope) => {
      scope.options('/own', async () => ({ own: true }));
    });
    assert.equal((await app.inject({ method: 'OPTIONS', url: '/other' })).statusCode, 204);
    assert.deepEqual((await app.inject({ method: 'OPTIONS', url: '/own' })).json(), { own: true });
  });
});

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

describe('routes', () => {
  test('HEAD is answered only where a route says so', async () => {
    const { app } = serve((scope) => {
      scope.get('/plain', async () => ({}));
      scope.get('/both', { exposeHeadRoute: true }, async () => ({}));
    });
    assert.equal((await app.inject({ method: 'HEAD', url: '/plain' })).statusCode, 404);
    assert.equal((await app.inject({ method: 'HEAD', url: '/both' })).statusCode, 200);
  });

  test('several sets of routes share one server, each under its prefixes', async () => {
    const server = serve((app) => void app.get('/price', async () => 1), {}, ['/v1', '']);
    server.mount((app) => void app.get('/info', async () => 2), ['/gw', '/ar-io']);
    for (const [url, body] of [
      ['/v1/price', '1'],
      ['/price', '1'],
      ['/gw/info', '2'],
      ['/ar-io/info', '2'],
    ]) {
      assert.equal((await server.app.inject(String(url))).body, body);
    }
    assert.equal((await server.app.inject('/info')).statusCode, 404);
  });

  test('a text can be sent as JSON', async () => {
    const { app } = serve((scope) => {
      scope.get('/text', (_request, reply) => sendJson(reply, 'words'));
    });
    const answer = await app.inject('/text');
    assert.deepEqual(
      [answer.body, answer.headers['content-type']],
      ['"words"', 'application/json; charset=utf-8'],
    );
  });
});

describe('what is measured', () => {
  test('requests are counted by route and status, unknown paths together', async () => {
    const metrics = new Metrics();
    const { app } = serve(
      (scope) => {
        scope.get('/item/:id', async () => ({}));
      },
      { metrics },
    );
    for (const url of ['/item/1', '/item/2', '/nowhere', '/elsewhere']) await app.inject(url);
    const lines = (await metrics.text()).split('\n').filter((line) => /^http_.*(_count|flight)/.test(line));
    assert.deepEqual(lines, [
      'http_request_duration_seconds_count{route="unknown",method="GET",status="404"} 2',
      'http_request_duration_seconds_count{route="/item/:id",method="GET",status="200"} 2',
      'http_requests_in_flight 0',
    ]);
  });

  test('at debug level every answer is one line, at info none', async () => {
    for (const [level, count] of [
      ['debug', 1],
      ['info', 0],
    ] as const) {
      const { log, lines } = rememberingLog(level);
      const { app } = serve((scope) => void scope.get('/x', async () => ({})), { log });
      await app.inject({ url: '/x?y=1', headers: { 'x-request-id': 'r1' } });
      const answered = lines.filter((line) => line.msg === 'answered');
      assert.equal(answered.length, count);
      if (level === 'debug') {
        assert.deepEqual(
          [answered[0]?.url, answered[0]?.status, answered[0]?.requestId],
          ['/x?y=1', 200, 'r1'],
        );
      }
    }
  });

  test('a hook of a surface has the logger of the request', async () => {
    const { log, lines } = rememberingLog();
    const { app } = serve(
      (scope) => {
        scope.addHook('onRequest', async (request) => request.log.info({ from: 'hook' }, 'seen'));
        scope.get('/x', async (request) => request.log.child({ part: 'p' }).info('deeper') ?? {});
      },
      { log },
    );
    await app.inject({ url: '/x', headers: { 'x-request-id': 'r2' } });
    assert.deepEqual(
      lines.map((line) => [line.msg, line.requestId, line.part]),
      [
        ['seen', 'r2', undefined],
        ['deeper', 'r2', 'p'],
      ],
    );
  });
});

describe('listening', () => {
  test('a free port is found and told; a taken one names the variable that moves it', async () => {
    const first = serve(none);
    await first.listen();
    assert.match(first.url, /^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
    assert.equal((await fetch(`${first.url}/openapi.json`)).status, 200);
    const second = serve(none, { port: first.port, portVariable: 'PAYMENT_PORT' });
    await assert.rejects(second.listen(), (error) => {
      assert.ok(error instanceof StartupError);
      assert.equal(error.message, `port ${first.port} is taken: set PAYMENT_PORT to another`);
      return true;
    });
  });

  test('an address that this machine has not is a clear error', async () => {
    await assert.rejects(
      serve(none, { host: '203.0.113.1' }).listen(),
      /no address 203\.0\.113\.1: set HOST/,
    );
  });

  test('wildcards and IPv6 give an address that can be called', async () => {
    for (const [host, shown] of [
      ['0.0.0.0', '127.0.0.1'],
      ['::1', '[::1]'],
    ] as const) {
      const server = serve(none, { host });
      await server.listen();
      assert.equal(server.url, `http://${shown}:${server.port}`);
      assert.equal((await fetch(`${server.url}/openapi.json`)).status, 200);
    }
  });

  test('a closed server frees its port at once', async () => {
    const first = testServer();
    await first.listen();
    const { port } = first;
    await first.close();
    const second = serve(none, { port, log: silentLog });
    await second.listen();
    assert.equal(second.port, port);
  });
});
