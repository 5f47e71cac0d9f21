import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiveReader } from './live-reader.ts';

const piece = (text: string) => Buffer.from(text);

test('a reader takes the pieces in order, waits for the next, and ends with the last', async () => {
  const reader = new LiveReader();
  reader.give(piece('ab'));
  reader.give(piece('c'));
  assert.equal(reader.lag, 3);
  assert.equal(String(await reader.take()), 'ab');
  assert.equal(String(await reader.take()), 'c');
  const next = reader.take();
  reader.give(piece('d'));
  assert.equal(String(await next), 'd');
  assert.equal(reader.position, 4);
  reader.end(undefined);
  assert.equal(await reader.take(), undefined);
});

test('an error comes after what was given before it', async () => {
  const reader = new LiveReader();
  reader.give(piece('a'));
  reader.end(new Error('broke off'));
  assert.equal(String(await reader.take()), 'a');
  await assert.rejects(reader.take(), /broke off/);
});

test('one that is let go drops what it has not taken, and its position says where to go on', async () => {
  const reader = new LiveReader();
  reader.give(piece('ab'));
  reader.give(piece('cd'));
  await reader.take();
  reader.letGo();
  assert.equal(await reader.take(), undefined);
  assert.equal(reader.position, 2);
  assert.equal(reader.lag, 0);
});

test('whoever gives can wait until a reader has caught up, or is gone', async () => {
  const reader = new LiveReader();
  for (const text of ['ab', 'cd', 'ef']) reader.give(piece(text));
  let waits = true;
  const caughtUp = reader.caughtUp(2).then(() => {
    waits = false;
  });
  await reader.take();
  assert.ok(waits);
  await reader.take();
  await caughtUp;
  const gone = reader.caughtUp(0);
  reader.end(undefined);
  await gone;
});
