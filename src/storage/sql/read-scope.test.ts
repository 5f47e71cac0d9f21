import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testServer } from '../../kernel/testing.ts';
import { addReadScopes, currentReadScope, inReadScope } from './read-scope.ts';

test('what reads is one scope from its beginning to its handler, also after a body; what writes is none', async (t) => {
  const server = testServer();
  t.after(() => server.close());
  addReadScopes(server.app, ({ method, url }) => method === 'GET' || url === '/ask');
  const begun: unknown[] = [];
  server.app.addHook('onRequest', (_request, _reply, done) => {
    begun.push(currentReadScope());
    done();
  });
  const same = () => ({
    isScope: currentReadScope() !== undefined,
    isSame: currentReadScope() === begun.at(-1),
  });
  server.app.get('/read', same);
  server.app.post('/ask', same);
  server.app.post('/write', same);
  const ask = async (method: 'GET' | 'POST', url: string) =>
    (await server.app.inject({ method, url, ...(method === 'POST' && { payload: { a: 1 } }) })).json();
  assert.deepEqual(await ask('GET', '/read'), { isScope: true, isSame: true });
  assert.equal((await ask('POST', '/ask')).isScope, true);
  assert.deepEqual(await ask('POST', '/write'), { isScope: false, isSame: true });
  assert.notEqual(begun[0], begun[1]);
  assert.equal(currentReadScope(), undefined);
  assert.ok(inReadScope(() => currentReadScope()) instanceof Map);
});
