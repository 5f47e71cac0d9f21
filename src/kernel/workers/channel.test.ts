import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answerer, Channel } from './channel.ts';

/** Two ends; what is sent is copied, as between processes. */
function pair(one: Answerer, two: Answerer) {
  const ends: Channel[] = [];
  const to = (index: number) => (packet: unknown) =>
    queueMicrotask(() => ends[index]?.take(structuredClone(packet)));
  ends.push(new Channel(to(1), one), new Channel(to(0), two));
  const [first, second] = ends;
  assert.ok(first !== undefined && second !== undefined);
  return { first, second };
}

test('questions are answered both ways, whatever the order of the answers', async () => {
  const slow = Promise.withResolvers<void>();
  const { first, second } = pair(
    (topic, message) => [topic, message],
    async (topic, message) => {
      if (topic === 'slow') await slow.promise;
      return { topic, message };
    },
  );
  const late = first.ask('slow', 1n, 1_000);
  assert.deepEqual(await first.ask('fast', Number.NaN, 1_000), { topic: 'fast', message: Number.NaN });
  slow.resolve();
  assert.deepEqual(await late, { topic: 'slow', message: 1n });
  assert.deepEqual(await second.ask('back', null, 1_000), ['back', null]);
});

test('a question fails by what the other end throws, by time, and when the other end is gone', async () => {
  const { first } = pair(
    () => undefined,
    (topic) => {
      if (topic === 'bad') throw new Error('not so');
      return new Promise(() => {});
    },
  );
  await assert.rejects(first.ask('bad', undefined, 1_000), /not so/);
  await assert.rejects(first.ask('never', undefined, 5), /"never" was not answered/);
  const waiting = first.ask('never', undefined, 60_000);
  first.take({ kind: 'other' });
  first.take({ id: 99, kind: 'answer' });
  first.close();
  await assert.rejects(waiting, /gone/);
  await assert.rejects(first.ask('more', undefined, 1_000), /gone/);
});
