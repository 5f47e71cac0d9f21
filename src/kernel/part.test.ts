import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSurface, type Part } from './part.ts';
import { testServer } from './testing.ts';

/** A part that tells what is asked of it. */
function told(name: string, events: string[], failing: readonly string[] = []): Part {
  const tell = async (event: string): Promise<void> => {
    events.push(`${name} ${event}`);
    if (failing.includes(event)) throw new Error(`${name} cannot ${event}`);
  };
  return {
    name,
    start: () => tell('start'),
    stop: () => tell('stop'),
    drain: async () => {
      events.push(`${name} drain`);
      return !failing.includes('drain');
    },
    jobs: [
      {
        start: () => void events.push(`${name} job starts`),
        stop: () => tell('job stops'),
        reports: () => [],
      },
    ],
  };
}

test('parts start in order, jobs begin once the server listens, and all ends the other way round', async () => {
  const events: string[] = [];
  const server = testServer();
  const surface = createSurface('test', () => ({
    server,
    parts: [told('first', events), told('second', events)],
  }));
  assert.equal(surface.url, '');
  await surface.start();
  assert.match(surface.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal(await surface.drain(1_000), true);
  await surface.stop();
  assert.deepEqual(events, [
    'first start',
    'second start',
    'first job starts',
    'second job starts',
    'first drain',
    'second drain',
    'second job stops',
    'second stop',
    'first job stops',
    'first stop',
  ]);
});

test('a part that cannot stop keeps no other from stopping, and is told', async () => {
  const events: string[] = [];
  const parts = [told('first', events), told('second', events, ['stop', 'job stops', 'drain'])];
  const surface = createSurface('test', () => ({ server: testServer(), parts }));
  await surface.start();
  assert.equal(await surface.drain(1_000), false);
  await assert.rejects(
    surface.stop(),
    (error) => error instanceof AggregateError && error.errors.length === 2,
  );
  assert.ok(events.includes('first stop'));
});

test('a surface whose start failed half-way stops what it has', async () => {
  const events: string[] = [];
  const parts = [told('first', events), told('second', events, ['start'])];
  const surface = createSurface('test', () => ({ server: testServer(), parts }));
  await assert.rejects(surface.start(), /second cannot start/);
  await surface.stop();
  assert.ok(events.includes('first stop'));
  assert.ok(!events.includes('first job starts'));
});
