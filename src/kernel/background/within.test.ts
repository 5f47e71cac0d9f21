import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { within } from './within.ts';

test('what is there in time is answered, and its failure is told', async () => {
  assert.equal(await within(60_000, Promise.resolve('done')), 'done');
  await assert.rejects(within(60_000, Promise.reject(new Error('no'))), /no/);
});

test('what takes longer answers nothing, and its end disturbs nobody', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const work = Promise.withResolvers<string>();
  const waited = within(1_000, work.promise);
  mock.timers.tick(1_000);
  assert.equal(await waited, undefined);
  work.reject(new Error('too late'));
});
