import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { HttpError } from '../errors.ts';
import { testServer } from '../testing.ts';
import { type HttpServer, type HttpServerOptions, mountGuarded, type Routes } from './server.ts';

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

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
const ask = async ({ app }: HttpServer, method: Method, url: string, headers = {}, payload?: string) => {
  const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  return {
    status: answer.statusCode,
    allow: answer.headers.allow,
    body: answer.body,
    headers: answer.headers,
  };
};

describe('HEAD', () => {
  test('is answered wherever GET is, with its headers and no body, also for what is refused', async () => {
    const server = serve(
      (app) => {
        app.get('/', async () => 'root');
        app.get('/text/:id', async () => 'häuser');
        app.get('/json', { schema: { response: { 200: { type: 'object' } } } }, async () => ({}));
        app.get('/none', async (_request, reply) => reply.code(304).send());
        app.get('/refused', async () => {
          throw new HttpError(409, 'No');
        });
      },
      {},
      ['', '/v1'],
    );
    for (const path of ['/', '/text/7?a=b', '/json', '/none', '/refused', '/v1', '/v1/', '/v1/json']) {
      const [get, head] = [await ask(server, 'GET', path), await ask(server, 'HEAD', path)];
      const { date: _, 'x-request-id': __, ...wanted } = get.headers;
      const { date: ___, 'x-request-id': ____, ...seen } = head.headers;
      assert.deepEqual([head.status, seen], [get.status, wanted], path);
    }
    await server.listen();
    const answer = await fetch(`${server.url}/text/7`, { method: 'HEAD' });
    assert.deepEqual([answer.headers.get('content-length'), await answer.text()], ['7', '']);
  });

  test('has the hooks of its GET once: its scope, its own, and those that servers add to routes', async () => {
    const seen: string[] = [];
    const note = (what: string) => async () => void seen.push(what);
    const server = testServer();
    open.push(server);
    server.app.addHook('onRoute', (route) => {
      route.onRequest = [route.onRequest ?? [], note('server')].flat();
    });
    server.mount((app) => {
      app.addHook('onRequest', note('scope'));
      app.get('/x', { onRequest: note('route'), preHandler: note('before') }, async () => 'x');
    });
    for (const method of ['GET', 'HEAD'] as const) {
      seen.length = 0;
      assert.equal((await ask(server, method, '/x')).status, 200);
      assert.deepEqual(seen, ['scope', 'route', 'server', 'before'], method);
    }
  });

  test('is refused where GET does something, and where a wider route would answer instead', async () => {
    let done = 0;
    const server = serve((app) => {
      app.get('/open/-1/-1', { config: { actsOnGet: true } }, async () => {
        done += 1;
        return String(done);
      });
      app.get('/open/:id/-1', async () => 'state');
      app.post('/open/:id/-1', async () => 'taken');
    });
    assert.equal((await ask(server, 'GET', '/open/-1/-1')).body, '1');
    for (const [method, allow] of [
      ['HEAD', 'GET, POST, OPTIONS'],
      ['PUT', 'GET, POST, OPTIONS'],
    ] as const) {
      const refused = await ask(server, method, '/open/-1/-1');
      assert.deepEqual([refused.status, refused.allow], [405, allow], method);
    }
    assert.equal((await ask(server, 'HEAD', '/open/7/-1')).status, 200);
    assert.equal((await ask(server, 'POST', '/open/-1/-1')).body, 'taken');
    assert.equal(done, 1);
  });

  test('stands in the OpenAPI document only where a route names it', async () => {
    const { app } = serve((scope) => {
      scope.get('/a', async () => 'a');
      scope.route({ method: ['GET', 'HEAD'], url: '/b', handler: async () => 'b' });
    });
    const { paths } = (await app.inject('/openapi.json')).json();
    assert.deepEqual([Object.keys(paths['/a']), Object.keys(paths['/b'])], [['get'], ['get', 'head']]);
  });
});

describe('other methods', () => {
  const routes: Routes = (app) => {
    app.get('/thing/:id', async () => 'thing');
    app.post('/thing/:id', async () => 'made');
    app.delete('/thing/special', async () => 'gone');
    app.post('/only', async () => 'posted');
  };

  test('are 405 with what the path has, whatever body they bring; unknown paths are 404', async () => {
    const server = serve(routes, { errorBody: (status, message) => ({ status, message }) });
    for (const [method, path, allow] of [
      ['PUT', '/thing/7', 'GET, HEAD, POST, OPTIONS'],
      ['PATCH', '/thing/special?x=1', 'GET, HEAD, POST, DELETE, OPTIONS'],
      ['DELETE', '/%74hing/7', 'GET, HEAD, POST, OPTIONS'],
      ['GET', '/only', 'POST, OPTIONS'],
      ['HEAD', '/only', 'POST, OPTIONS'],
    ] as const) {
      for (const type of [undefined, 'application/json', 'application/x-odd']) {
        const hasBody = method !== 'GET' && method !== 'HEAD';
        const headers = type === undefined ? {} : { 'content-type': type };
        const answer = await ask(server, method, path, headers, hasBody ? '{' : undefined);
        assert.deepEqual([answer.status, answer.allow], [405, allow], `${method} ${path} ${type}`);
        assert.deepEqual(JSON.parse(answer.body), { status: 405, message: 'Method Not Allowed' });
      }
    }
    for (const path of ['/', '/thing', '/thing/7/8', '/Only', '/only/']) {
      const answer = await ask(server, 'GET', path);
      assert.deepEqual([answer.status, answer.allow], [404, undefined], path);
    }
    assert.equal((await ask(server, 'POST', '/thing/special')).body, 'made');
  });

  test('say nothing of OPTIONS where it is not answered', async () => {
    const server = serve(routes, { cors: false });
    assert.equal((await ask(server, 'PUT', '/only')).allow, 'POST');
  });

  test('below a guard are refused to whoever has no key, and told what there is to whoever has', async () => {
    const server = testServer();
    open.push(server);
    const guard = {
      check({ headers }: { headers: Record<string, unknown> }) {
        if (headers.authorization !== 'right') throw new HttpError(401, 'Unauthorized');
      },
      noSuchRoute: () => new HttpError(404, 'No such route'),
    };
    mountGuarded(server.app, '/closed', guard, (scope) => {
      scope.get('/read', async () => 'read');
      scope.post('/write', async () => 'written');
    });
    const right = { authorization: 'right' };
    for (const [method, path, allow] of [
      ['POST', '/closed/read', 'GET, HEAD'],
      ['GET', '/closed/write', 'POST'],
      ['HEAD', '/closed/write', 'POST'],
    ] as const) {
      const stranger = await ask(server, method, path);
      assert.deepEqual([stranger.status, stranger.allow], [401, undefined], `${method} ${path}`);
      const answer = await ask(server, method, path, right);
      assert.deepEqual([answer.status, answer.allow], [405, allow], `${method} ${path}`);
    }
    assert.equal((await ask(server, 'HEAD', '/closed/read')).status, 401);
    assert.equal((await ask(server, 'HEAD', '/closed/read', right)).status, 200);
    assert.equal((await ask(server, 'GET', '/closed/nothing', right)).status, 404);
  });
});
