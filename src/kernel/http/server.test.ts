import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { StartupError } from '../errors.ts';
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

describe('routes', () => {
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

  test('what is answered ahead of the framework is counted, logged and named like the rest', async () => {
    const metrics = new Metrics();
    const { log, lines } = rememberingLog('debug');
    const server = serve((scope) => void scope.get('/item/:id', async () => ({})), {
      ...{ metrics, log },
      answerFirst(request, response, newId) {
        if (request.url !== '/item/first') return undefined;
        const requestId = newId(request);
        response.writeHead(203, { 'x-request-id': requestId }).end();
        return { requestId, timings: metrics.requests.route('/item/:id') };
      },
    });
    await server.listen();
    for (const [path, status] of [
      ['first', 203],
      ['second', 200],
    ] as const) {
      const answer = await fetch(`${server.url}/item/${path}`, { headers: { 'x-request-id': path } });
      assert.deepEqual([answer.status, answer.headers.get('x-request-id')], [status, path]);
    }
    const answered = () => lines.filter((line) => line.msg === 'answered');
    await eventually('both are over', async () => answered().length === 2);
    assert.deepEqual(
      answered().map(({ url, status, requestId }) => [url, status, requestId]),
      [
        ['/item/first', 203, 'first'],
        ['/item/second', 200, 'second'],
      ],
    );
    const counts = (await metrics.text()).split('\n').filter((line) => /^http_.*(_count|flight)/.test(line));
    assert.deepEqual(counts, [
      'http_request_duration_seconds_count{route="/item/:id",method="GET",status="203"} 1',
      'http_request_duration_seconds_count{route="/item/:id",method="GET",status="200"} 1',
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
      serve(none, { host: '203.0.113.1', hostVariable: 'ADMIN_HOST' }).listen(),
      /set ADMIN_HOST to another/,
    );
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
    for (let round = 1; ; round += 1) {
      const first = testServer();
      await first.listen();
      const { port } = first;
      await first.close();
      const second = serve(none, { port, log: silentLog });
      // Others on this machine look for a free port too.
      const taken = await second.listen().catch((error: unknown) => error);
      if (taken !== undefined && round < 5) continue;
      assert.equal(taken, undefined);
      assert.equal(second.port, port);
      break;
    }
  });
});
