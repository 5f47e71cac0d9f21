import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HttpError } from '../errors.ts';
import { sameSecret } from '../same-secret.ts';
import { testServer } from '../testing.ts';
import { type HttpServer, mountGuarded } from './server.ts';

let server: HttpServer;
let bodies = 0;

before(async () => {
  server = testServer();
  server.app.get('/open', async () => 'open');
  mountGuarded(
    server.app,
    '/closed',
    {
      check({ headers }) {
        if (!sameSecret(headers.authorization ?? '', 'Bearer right'))
          throw new HttpError(401, 'Unauthorized');
      },
      noSuchRoute: () => new HttpError(404, 'No such route'),
    },
    (scope) => {
      scope.addHook('preParsing', async () => {
        bodies += 1;
      });
      scope.get('/read', async () => 'read');
      scope.register(async (inner) => {
        inner.post('/deeper/write', async () => 'written');
      });
    },
  );
  await server.listen();
});
after(() => server.close());

const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(server.url + path, { method, headers });
  return { status: answer.status, origin: answer.headers.get('access-control-allow-methods') };
};
const right = { authorization: 'Bearer right' };

test('every route of the scope and of the scopes in it wants the key, before a body is read', async () => {
  for (const [method, path] of [
    ['GET', '/closed/read'],
    ['POST', '/closed/deeper/write'],
  ] as const) {
    for (const authorization of ['', 'Bearer wrong', 'Bearer righ', 'Bearer rightt', 'right']) {
      assert.equal((await ask(method, path, { authorization })).status, 401, authorization);
    }
    assert.equal(bodies, 0);
    assert.equal((await ask(method, path, right)).status, 200);
    bodies = 0;
  }
  assert.equal((await ask('GET', '/open')).status, 200);
});

test('what does not exist in the scope is behind the key too, outside of it is not', async () => {
  for (const path of ['/closed', '/closed/', '/closed/nothing', '/closed/deeper']) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      assert.equal((await ask(method, path)).status, 401, `${method} ${path}`);
      assert.equal((await ask(method, path, right)).status, 404, `${method} ${path}`);
    }
  }
  assert.equal((await ask('GET', '/nothing')).status, 404);
});

test('no answer of a guarded route is for pages elsewhere, with the key or without', async () => {
  for (const method of ['OPTIONS', 'GET', 'POST']) {
    for (const headers of [{}, right]) {
      for (const path of ['/closed/read', '/closed/nothing']) {
        const answer = await fetch(server.url + path, { method, headers });
        const names = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));
        assert.deepEqual(names, [], `${method} ${path}`);
      }
    }
  }
  const open = await fetch(`${server.url}/open`);
  assert.equal(open.headers.get('access-control-allow-origin'), '*');
});

test('pages elsewhere are told nothing about guarded routes', async () => {
  const preflight = { origin: 'http://elsewhere.example', 'access-control-request-method': 'POST' };
  assert.deepEqual(await ask('OPTIONS', '/closed/read', preflight), { status: 401, origin: null });
  assert.equal((await ask('OPTIONS', '/open', preflight)).status, 204);
  assert.equal((await ask('OPTIONS', '/nothing', preflight)).status, 204);
});
