import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerBody } from './answer-body.ts';
import { SharedTimer, type Waiter } from './hedged-ask.ts';

/** A connection that notes what it is told. */
function connection() {
  const told: string[] = [];
  const state = { paused: false, aborted: false };
  const controller = {
    ...state,
    reason: null,
    pause: () => void told.push('pause'),
    resume: () => void told.push('resume'),
    abort: (reason: Error) => {
      told.push('abort');
      body.fail(reason);
    },
  };
  const body = new AnswerBody(controller);
  return { body, told };
}

async function collect(body: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const piece of body) text += piece.toString();
  return text;
}

test('a body that nobody reads yet is held after a while, and read from its first byte', async () => {
  const { body, told } = connection();
  body.push(Buffer.from('a'));
  assert.equal(told.length, 0);
  body.push(Buffer.alloc(64 * 1024, 'b'));
  const read = collect(body);
  await new Promise(setImmediate);
  assert.deepEqual(told, ['pause', 'resume']);
  body.push(Buffer.from('c'));
  body.end();
  assert.equal(await read, `a${'b'.repeat(64 * 1024)}c`);
  assert.deepEqual(told, ['pause', 'resume']);
});

test('a body that breaks off fails its reader, after what had come', async () => {
  const { body } = connection();
  body.push(Buffer.from('half'));
  body.fail(new Error('broke off'));
  const pieces: string[] = [];
  await assert.rejects(async () => {
    for await (const piece of body) pieces.push(piece.toString());
  }, /broke off/);
  assert.deepEqual(pieces, ['half']);
});

test('a reader that leaves breaks the body off', async () => {
  const { body, told } = connection();
  const gone = new AbortController();
  const read = collect(body.until(gone.signal));
  body.push(Buffer.from('x'));
  gone.abort();
  await assert.rejects(read, /not wanted/);
  assert.ok(told.includes('abort'));
});

test('what nobody wants is let come while it is small, and broken off when it is not', () => {
  const small = connection();
  small.body.discard(1_000);
  small.body.push(Buffer.alloc(1_000));
  small.body.end();
  assert.ok(!small.told.includes('abort'));
  const large = connection();
  large.body.discard(1_000_000);
  assert.ok(large.told.includes('abort'));
  const endless = connection();
  endless.body.discard(undefined);
  for (let count = 0; count < 20; count += 1) endless.body.push(Buffer.alloc(1_000));
  assert.ok(endless.told.includes('abort'));
  const over = connection();
  over.body.end();
  over.body.discard(1_000_000);
  assert.ok(!over.told.includes('abort'), 'the answer to HEAD promises a length and has no body');
});

test('time is up for those who still wait, in their order', async () => {
  const timer = new SharedTimer();
  const called: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiter = (name: string, waits: boolean): Waiter => ({
    waits,
    timedOut() {
      called.push(name);
      if (name === 'last') resolve();
    },
  });
  timer.wait(waiter('first', true), 5);
  timer.wait(waiter('done', false), 5);
  timer.wait(waiter('last', true), 10);
  const alive = setInterval(() => {}, 1_000);
  await promise;
  clearInterval(alive);
  assert.deepEqual(called, ['first', 'last']);
});
