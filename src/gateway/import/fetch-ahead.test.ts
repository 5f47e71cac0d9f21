import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { FetchAhead } from './fetch-ahead.ts';

test('what nobody waits for any more is not fetched to its end', async () => {
  const begun: number[] = [];
  const given: number[] = [];
  const ahead = new FetchAhead(async (height, signal) => {
    begun.push(height);
    if (height === 1) throw new Error('a node failed');
    await once(signal, 'abort');
    given.push(height);
    throw signal.reason;
  }, new AbortController().signal);
  for (const height of [1, 2, 3, 2]) ahead.fetch(height);
  await assert.rejects(ahead.take(1), /a node failed/);
  ahead.stop();
  await new Promise(setImmediate);
  assert.deepEqual(
    [begun, given],
    [
      [1, 2, 3],
      [2, 3],
    ],
  );
});

test('fetching ends with the importer too', async () => {
  const stopping = new AbortController();
  const ahead = new FetchAhead(async (_height, signal) => {
    await once(signal, 'abort');
    throw signal.reason;
  }, stopping.signal);
  ahead.fetch(7);
  stopping.abort(new Error('the gateway is stopping'));
  await assert.rejects(ahead.take(7), /stopping/);
  assert.equal(await ahead.take(8), undefined);
});
