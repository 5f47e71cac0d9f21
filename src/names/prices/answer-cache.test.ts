import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import type { NameState } from '../../registry/name-registry.ts';
import { AnswerCache } from './answer-cache.ts';

const newState = (): NameState => ({ record: undefined, returned: undefined, reserved: undefined });
const hour = 3_600_000;

test('an answer stands as long as what it was made of', async () => {
  const cache = new AnswerCache({ lifeMs: hour });
  let reads = 0;
  const read = async () => {
    reads += 1;
    return newState();
  };
  const state = await cache.state('name', read);
  cache.keep('question', 'answer', state);
  assert.equal(cache.answer('name', 'question'), 'answer');
  assert.equal(cache.answer('name', 'another question'), undefined);
  cache.forget('name');
  assert.equal(cache.answer('name', 'question'), undefined);
  const again = await cache.state('name', read);
  assert.equal(cache.answer('name', 'question'), undefined, 'it was made of something older');
  // An answer that took longer than what it was made of lasts is not believed later.
  cache.keep('question', 'old answer', state);
  assert.equal(cache.answer('name', 'question'), undefined);
  cache.keep('question', 'new answer', again);
  assert.equal(cache.answer('name', 'question'), 'new answer');
  assert.equal(reads, 2);
});

test('a look at the chain that failed is not kept', async () => {
  const cache = new AnswerCache({ lifeMs: hour });
  await assert.rejects(
    cache.state('name', async () => {
      throw new Error('down');
    }),
    /down/,
  );
  const state = newState();
  assert.equal(await cache.state('name', async () => state), state);
});

test('it is bounded by names, by answers and by bytes, whatever is asked', async () => {
  const cache = new AnswerCache({ lifeMs: hour, maxNames: 50, maxAnswers: 100, maxAnswerBytes: 20_000 });
  const ask = async (name: string, question: string, answer: string) => {
    cache.keep(question, answer, await cache.state(name, async () => newState()));
  };
  for (let index = 0; index < 1_000; index += 1) await ask(`name-${index}`, `question ${index}`, 'answer');
  assert.deepEqual([cache.size.names, cache.size.answers], [50, 100]);
  for (let index = 0; index < 1_000; index += 1) await ask('name', `${index} ${'q'.repeat(500)}`, 'answer');
  assert.ok(cache.size.answerBytes <= 20_000 && cache.size.answers < 20, JSON.stringify(cache.size));
  await ask('name', 'q'.repeat(20_000), 'too large to be kept');
  assert.equal(cache.answer('name', 'q'.repeat(20_000)), undefined);
});

test('what is older than its life is not served, and goes by itself', async () => {
  const cache = new AnswerCache({ lifeMs: 20 });
  cache.keep('question', 'answer', await cache.state('name', async () => newState()));
  await eventually('nothing is left', async () => cache.size.names + cache.size.answers === 0);
  assert.equal(cache.answer('name', 'question'), undefined);
  assert.equal(cache.size.answerBytes, 0);
});
