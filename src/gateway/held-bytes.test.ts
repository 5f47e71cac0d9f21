import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { HttpError } from '../kernel/errors.ts';
import { HeldBytes } from './held-bytes.ts';

test('large answers have room together, until they are out', () => {
  const held = new HeldBytes(10_000_000);
  const answer = () => new EventEmitter();
  const [first, second] = [answer(), answer()];
  held.hold(first, 6_000_000);
  held.hold(second, 4_000_000);
  held.hold(answer(), 1_000);
  assert.throws(
    () => held.hold(answer(), 1_000_000),
    (error: unknown) => error instanceof HttpError && error.status === 503 && error.retryAfter === 5,
  );
  assert.equal(held.held, 10_000_000, 'a refusal holds nothing');
  second.emit('close');
  held.hold(second, 3_000_000);
  first.emit('close');
  second.emit('close');
  assert.equal(held.held, 0);
  held.hold(first, 20_000_000);
  assert.equal(held.held, 20_000_000, 'one alone always has room');
});
