import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MinimumSpeed } from './minimum-speed.ts';

function bodyWithClock() {
  const clock = { now: 0 };
  const speed = new MinimumSpeed(30_000, () => clock.now);
  return {
    clock,
    /** So many bytes after so long a wait. */
    piece(bytes: number, afterMs: number) {
      speed.waiting();
      clock.now += afterMs;
      speed.arrived(bytes);
    },
  };
}

test('a byte every now and then is too slow in the end', () => {
  const { piece } = bodyWithClock();
  for (let second = 1; second < 30; second += 1) piece(1, 1_000);
  assert.throws(() => piece(1, 1_000), /too slowly/);
});

test('a body that pauses and goes on is none the worse for it', () => {
  const { piece } = bodyWithClock();
  for (let minute = 0; minute < 60; minute += 1) piece(64 * 1_024, 60_000);
  for (let second = 0; second < 300; second += 1) piece(2_000, 1_000);
});

test('the time that bytes wait for a slow reader is not the gateway’s', () => {
  const { piece, clock } = bodyWithClock();
  for (let round = 0; round < 100; round += 1) {
    piece(10, 1);
    clock.now += 60_000;
  }
});
