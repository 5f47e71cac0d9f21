import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newEntry, type UploadEntry } from './entry.ts';
import { SendRate, totalsOf } from './totals.ts';

const entry = (state: UploadEntry['state'], size: number, doneBytes = 0): UploadEntry => ({
  ...newEntry({ key: `${state}${size}`, path: 'x', size, type: 'text/plain' }),
  state,
  doneBytes,
});

test('what is cancelled does not count, what is only read is not sent', () => {
  const totals = totalsOf([
    entry('sent', 100),
    entry('sending', 100, 40),
    entry('reading', 100, 90),
    entry('waiting', 100),
    entry('paused', 100),
    entry('failed', 100),
    entry('cancelled', 100),
  ]);
  assert.deepEqual(totals, {
    files: 6,
    sent: 1,
    failed: 1,
    paused: 1,
    going: 3,
    cancelled: 1,
    bytes: 600,
    sentBytes: 140,
  });
});

test('the time left follows what was sent lately, and is not told before it is known', () => {
  const rate = new SendRate();
  rate.add(0, 0);
  assert.equal(rate.msLeft(1_000), undefined);
  rate.add(2_000, 2_000);
  assert.equal(rate.msLeft(1_000), 1_000);
  for (let at = 3_000; at <= 30_000; at += 1_000) rate.add(at, 2_000 + (at - 2_000) * 10);
  assert.equal(rate.msLeft(1_000), 100, 'the slow beginning is forgotten');
  rate.add(31_000, 0);
  assert.equal(rate.msLeft(1_000), undefined, 'it began again');
});
