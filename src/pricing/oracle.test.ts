import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Oracle, SourceBusy } from './oracle.ts';
import { OracleUnavailable } from './pricing.ts';

function oracle(answers: (() => Promise<number>)[]) {
  const clock = { now: 0 };
  const asked = { count: 0 };
  const subject = new Oracle<number>({
    name: 'rates',
    fetch: () => {
      const answer = answers[asked.count];
      asked.count += 1;
      return answer === undefined ? Promise.reject(new Error('no more answers')) : answer();
    },
    freshMs: 60_000,
    usableMs: 3_600_000,
    retryMs: 1_000,
    maxRetryMs: 8_000,
    now: () => clock.now,
  });
  return { subject, clock, asked };
}

const gives = (value: number) => () => Promise.resolve(value);
const fails = () => Promise.reject(new Error('down'));
const settled = () => new Promise((done) => setImmediate(done));

describe('an oracle', () => {
  it('asks once for all who wait', async () => {
    const { subject, asked } = oracle([gives(7)]);
    assert.deepEqual(await Promise.all(Array.from({ length: 50 }, () => subject.get())), Array(50).fill(7));
    assert.equal(asked.count, 1);
  });

  it('serves a stale value while it refreshes behind', async () => {
    const { subject, clock, asked } = oracle([gives(1), gives(2)]);
    await subject.get();
    clock.now = 59_999;
    assert.equal(subject.peek(), 1);
    assert.equal(asked.count, 1);
    clock.now = 60_000;
    assert.equal(subject.peek(), 1);
    await settled();
    assert.equal(subject.peek(), 2);
    assert.equal(asked.count, 2);
    assert.equal(subject.ageSeconds, 0);
  });

  it('keeps the last good value for a bounded time and then refuses', async () => {
    const { subject, clock } = oracle([gives(1), fails, fails, fails]);
    await subject.get();
    clock.now = 3_599_999;
    assert.equal(await subject.get(), 1);
    await settled();
    clock.now = 3_600_000;
    await assert.rejects(
      subject.get(),
      (error) => error instanceof OracleUnavailable && error.retryAfter === 1,
    );
  });

  it('pauses longer with each failure and says how long to wait', async () => {
    const { subject, clock, asked } = oracle([fails, fails, fails, gives(4)]);
    for (const [at, wait] of [
      [0, 1],
      [1_000, 2],
      [3_000, 4],
    ] as const) {
      clock.now = at;
      await assert.rejects(
        subject.get(),
        (error) => error instanceof OracleUnavailable && error.retryAfter === wait,
      );
    }
    clock.now = 6_999;
    await assert.rejects(subject.get(), OracleUnavailable);
    assert.equal(asked.count, 3, 'nobody asks during the pause');
    clock.now = 7_000;
    assert.equal(await subject.get(), 4);
  });

  it('waits as long as a busy source asks', async () => {
    const busy = () => Promise.reject(new SourceBusy('429', 30_000));
    const { subject, clock, asked } = oracle([busy, gives(5)]);
    await assert.rejects(
      subject.get(),
      (error) => error instanceof OracleUnavailable && error.retryAfter === 30,
    );
    clock.now = 29_000;
    await assert.rejects(subject.get(), OracleUnavailable);
    assert.equal(asked.count, 1);
    clock.now = 30_000;
    assert.equal(await subject.get(), 5);
  });
});
