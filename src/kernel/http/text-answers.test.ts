import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fastify } from 'fastify';
import type { Reply } from './app.ts';
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
});
