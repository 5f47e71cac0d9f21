import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { type Lane, RequestPacer, TooManyWait } from './request-pacer.ts';

const staying = new AbortController().signal;

/** Asks for many places and notes who got one. */
function crowd(pace: RequestPacer, admitted: Lane[]) {
  const releases: (() => void)[] = [];
  return {
    releases,
    ask(lane: Lane, count: number, signal = staying) {
      return Array.from({ length: count }, async () => {
        const release = await pace.enter(lane, signal);
        admitted.push(lane);
        releases.push(release);
      });
    },
  };
}
const countOf = (admitted: readonly Lane[], lane: Lane) => admitted.filter((one) => one === lane).length;

describe('the pace of one node', () => {
  it('keeps a place for the import and for bytes, however many ask for unknown ids', async () => {
    const admitted: Lane[] = [];
    const { ask } = crowd(
      new RequestPacer({ maxConcurrent: 20, requestsPerSecond: Number.POSITIVE_INFINITY }),
      admitted,
    );
    ask('lookup', 500);
    await settle();
    assert.equal(admitted.length, 12);
    ask('import', 500);
    ask('bytes', 500);
    await settle();
    assert.deepEqual(
      (['lookup', 'import', 'bytes'] as const).map((lane) => countOf(admitted, lane)),
      [12, 4, 4],
    );
  });

  it('lets the lanes in by turns and never too many at once', async () => {
    const admitted: Lane[] = [];
    const { ask, releases } = crowd(
      new RequestPacer({ maxConcurrent: 10, requestsPerSecond: Number.POSITIVE_INFINITY }),
      admitted,
    );
    const all = (['lookup', 'import', 'bytes'] as const).flatMap((lane) => ask(lane, 40));
    await settle();
    for (let left = 0; left < 60; left += 1) {
      assert.equal(admitted.length - left, 10);
      releases[left]?.();
      await settle();
    }
    for (const lane of ['lookup', 'import', 'bytes'] as const) assert.ok(countOf(admitted, lane) >= 20, lane);
    for (let left = 60; left < 120; left += 1) {
      releases[left]?.();
      await settle();
    }
    await Promise.all(all);
  });

  it('sends away who would wait behind too many others, and forgets who leaves', async () => {
    const pace = new RequestPacer({ maxConcurrent: 5, requestsPerSecond: Number.POSITIVE_INFINITY });
    const { ask, releases } = crowd(pace, []);
    const leaving = new AbortController();
    void Promise.allSettled(ask('lookup', 3));
    const waiting = Promise.allSettled(ask('lookup', 1_024, leaving.signal));
    await assert.rejects(pace.enter('lookup', staying), TooManyWait);
    leaving.abort(new Error('left'));
    assert.ok((await waiting).every(({ status }) => status === 'rejected'));
    const next = pace.enter('lookup', staying);
    releases[0]?.();
    (await next)();
  });
});
