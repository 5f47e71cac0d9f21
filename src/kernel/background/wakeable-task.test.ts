import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { WakeableTask } from './wakeable-task.ts';

/** A task whose runs a test ends one by one. */
function controlled(answers: { next?: number; pauseMs?: number } = {}) {
  const ends: PromiseWithResolvers<void>[] = [];
  const told: unknown[] = [];
  const task = new WakeableTask({
    name: 'tested',
    async run() {
      const end = Promise.withResolvers<void>();
      ends.push(end);
      await end.promise;
      return answers.next;
    },
    failed(error, failures) {
      told.push([String(error), failures]);
      return answers.pauseMs ?? 1_000;
    },
  });
  return { task, told, runs: () => ends.length, current: () => ends.at(-1) };
}

/** Lets what was resolved go on: no timer is involved. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('what is asked for during a run is done by another that follows at once, however often it was asked', async () => {
  const { task, runs, current } = controlled();
  task.start();
  assert.equal(runs(), 1);
  task.wake();
  task.wake();
  task.wake(0);
  assert.equal(runs(), 1, 'one at a time');
  current()?.resolve();
  await settle();
  assert.equal(runs(), 2);
  current()?.resolve();
  await task.settled();
  assert.equal(runs(), 2, 'once for all who asked');
  await task.stop();
});

test('what is asked for later while a run is on its way is done when its time has come', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const pass = (ms: number) => {
    now += ms;
    mock.timers.tick(ms);
  };
  const { task, runs, current } = controlled({ next: 5_000 });
  task.start();
  task.wake(20);
  pass(1_500);
  assert.equal(runs(), 1, 'its time came during the run');
  current()?.resolve();
  await settle();
  assert.equal(runs(), 2, 'so it follows at once, not with the next sweep');
  current()?.resolve();
  await settle();
  pass(4_999);
  assert.equal(runs(), 2);
  pass(1);
  assert.equal(runs(), 3, 'and by itself after its own time');
  current()?.resolve();
  await settle();
  task.wake(20);
  task.wake(1_000);
  pass(20);
  assert.equal(runs(), 4, 'the earliest counts');
  current()?.resolve();
  await task.stop();
});

test('after a failure nothing runs before the pause is over, and then what was asked for is done', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const pass = (ms: number) => {
    now += ms;
    mock.timers.tick(ms);
  };
  const { task, told, runs, current } = controlled({ pauseMs: 1_000 });
  task.start();
  task.wake();
  current()?.reject(new Error('away'));
  await settle();
  task.wake();
  pass(999);
  assert.equal(runs(), 1);
  pass(1);
  assert.equal(runs(), 2);
  current()?.reject(new Error('still away'));
  await settle();
  assert.equal(task.failures, 2);
  pass(1_000);
  assert.equal(runs(), 3);
  current()?.resolve();
  await task.settled();
  assert.equal(task.failures, 0);
  assert.deepEqual(told, [
    ['Error: away', 1],
    ['Error: still away', 2],
  ]);
  pass(1_000_000);
  assert.equal(runs(), 3, 'only when asked');
  await task.stop();
});

test('a task that is stopped ends its run and begins no other', async () => {
  const { task, runs, current } = controlled({ next: 0 });
  task.wake();
  assert.equal(runs(), 0, 'not before it is started');
  task.start();
  task.wake();
  const stopped = task.stop();
  assert.equal(task.isStopped, true);
  current()?.resolve();
  await stopped;
  task.wake();
  await settle();
  assert.equal(runs(), 1);
});

test('one that waits runs when it is first asked to', async () => {
  const { task, runs, current } = controlled();
  task.wake();
  task.start({ waits: true });
  assert.equal(runs(), 0);
  task.wake();
  assert.equal(runs(), 1);
  current()?.resolve();
  await task.stop();
});
