import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fastify } from 'fastify';
import { testServer } from '../testing.ts';
import type { Reply, Request } from './app.ts';
import { TextAnswers } from './text-answers.ts';

describe('answers that are texts', () => {
  const answers = new TextAnswers({ 'content-type': 'text/plain; charset=utf-8' });
  /** The answers over one connection, as a client has them. */
  async function ask(texts: readonly string[], prepare: (reply: Reply, index: number) => void) {
    const app = fastify();
    let asked = 0;
    app.get('/', (_request, reply) => {
      const index = asked++;
      prepare(reply, index);
      answers.send(reply, texts[index] ?? '');
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    try {
      const got: { status: number; headers: Record<string, string>; text: string }[] = [];
      for (const _ of texts) {
        const answer = await fetch(url);
        const { date: _date, ...headers } = Object.fromEntries(answer.headers);
        got.push({ status: answer.status, headers, text: await answer.text() });
      }
      return got;
    } finally {
      await app.close();
    }
  }
  const kept = { connection: 'keep-alive', 'content-type': 'text/plain; charset=utf-8' };

  it('are whole in every alphabet, and say their length in bytes', async () => {
    const texts = ['plain', 'h\xe4llo', 'зa 路 \u{1f6e3}', ''];
    const got = await ask(texts, (reply, index) => void reply.header('x-request-id', `r${index}`));
    got.forEach(({ status, headers: { 'keep-alive': _, ...headers }, text }, index) => {
      const length = String(Buffer.byteLength(texts[index] ?? ''));
      assert.equal(status, 200);
      assert.deepEqual(headers, { ...kept, 'content-length': length, 'x-request-id': `r${index}` });
      assert.equal(text, texts[index]);
    });
  });

  it('have the headers that are set on their reply, and none of another', async () => {
    const got = await ask(['a', 'b', 'c', 'd'], (reply, index) => {
      if (index !== 3) reply.header('x-request-id', `r${index}`);
      if (index === 1) reply.header('x-charged', '7');
      if (index === 2) reply.header('access-control-allow-origin', '*');
    });
    assert.deepEqual(
      got.map(({ headers }) => [
        headers['x-request-id'],
        headers['x-charged'],
        headers['access-control-allow-origin'],
        headers['content-type'],
      ]),
      [
        ['r0', undefined, undefined, kept['content-type']],
        ['r1', '7', undefined, kept['content-type']],
        ['r2', undefined, '*', kept['content-type']],
        [undefined, undefined, undefined, kept['content-type']],
      ],
    );
  });

  it('are what the framework would send, whatever a request adds', async (t) => {
    const text = '{"price":"5 €"}';
    const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
    const prepared = new TextAnswers(headers);
    const server = testServer({ cors: { exposeHeaders: ['x-token'] } });
    t.after(() => server.close());
    const tokenOf = (request: Request, reply: Reply) => {
      if (typeof request.headers.token === 'string') reply.header('x-token', request.headers.token);
    };
    server.mount((app) => {
      app.get('/prepared', async (request, reply) => {
        tokenOf(request, reply);
        prepared.send(reply, text);
      });
      app.get('/plain', async (request, reply) => {
        tokenOf(request, reply);
        return reply.headers(headers).send(text);
      });
    });
    await server.listen();
    const got = async (path: string, init: RequestInit) => {
      const answer = await fetch(`${server.url}${path}`, init);
      const { date: _date, ...named } = Object.fromEntries(answer.headers);
      return { status: answer.status, headers: named, body: await answer.text() };
    };
    for (const method of ['GET', 'HEAD']) {
      for (const token of [undefined, 'one', 'two', undefined]) {
        const asked = { 'x-request-id': 'the-same', ...(token !== undefined && { token }) };
        const answer = await got('/prepared', { method, headers: asked });
        assert.deepEqual(answer, await got('/plain', { method, headers: asked }));
        assert.equal(answer.headers['x-token'], token);
        assert.equal(answer.body, method === 'GET' ? text : '');
      }
    }
  });
});
