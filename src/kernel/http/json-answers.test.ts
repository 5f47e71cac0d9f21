import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { testServer } from '../testing.ts';
import { JsonAnswers } from './json-answers.ts';

describe('JSON answers with a prepared head', () => {
  const text = '{"price":"5 €"}';
  const answers = new JsonAnswers(['cache-control', 'no-store']);
  const server = testServer({ cors: { exposeHeaders: ['x-token'] } });
  server.mount((app) => {
    app.get('/prepared', async (request, reply) => {
      if (typeof request.headers.token === 'string') reply.header('x-token', request.headers.token);
      answers.send(reply, text);
    });
    app.get('/plain', async (request, reply) => {
      if (typeof request.headers.token === 'string') reply.header('x-token', request.headers.token);
      return reply
        .header('content-type', 'application/json; charset=utf-8')
        .header('cache-control', 'no-store')
        .send(text);
    });
  });
  before(() => server.listen());
  after(() => server.close());

  async function ask(path: string, init: RequestInit) {
    const answer = await fetch(`${server.url}${path}`, init);
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => name !== 'date'));
    return { status: answer.status, headers, body: await answer.text() };
  }

  it('are what the framework would send, whatever a request adds', async () => {
    for (const method of ['GET', 'HEAD']) {
      for (const token of [undefined, 'one', 'two', undefined]) {
        const headers = { 'x-request-id': 'the-same', ...(token !== undefined && { token }) };
        const prepared = await ask('/prepared', { method, headers });
        assert.deepEqual(prepared, await ask('/plain', { method, headers }));
        assert.equal(prepared.headers['x-token'], token);
        assert.equal(prepared.body, method === 'GET' ? text : '');
      }
    }
  });
});
