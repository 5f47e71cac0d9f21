import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../kernel/testing.ts';
import type { OutsideRecord, OutsideSource } from '../outside-records.ts';
import { Reconciler } from './reconciler.ts';

const record = (id: string, more: Partial<OutsideRecord> = {}): OutsideRecord => ({
  ...{ kind: 'card', id, at: 5, what: 'money' },
  ...more,
});

function source(name: string, records: readonly OutsideRecord[], asked: number[] = []): OutsideSource {
  return {
    name,
    async *unknown(since) {
      asked.push(since);
      yield* records;
    },
  };
}

const told = { kind: 'card', at: 5, what: 'money', address: null, winc: null };

test('what proves itself is credited, the rest is told, and what fails holds up nothing', async () => {
  const asked: number[] = [];
  let now = 100;
  const away: OutsideSource = {
    name: 'away',
    // biome-ignore lint/correctness/useYield: it fails before it has anything.
    async *unknown() {
      throw new Error('no answer');
    },
  };
  const records = [
    record('proven', { credit: async () => ({ state: 'credited', address: 'wallet', winc: 7n }) }),
    record('later', { credit: async () => ({ state: 'taken in', reason: 'on its way' }) }),
    record('failing', { credit: () => Promise.reject(new Error('locked')) }),
    record('unproven', { at: undefined }),
    record('explained', { openBecause: 'no mark' }),
    record('seen to', { takenInBecause: 'it is here by now' }),
  ];
  const reconciler = new Reconciler({
    sources: [away, source('card payments', records, asked)],
    log: silentLog,
    now: () => now,
  });
  const report = () => reconciler.report;
  assert.equal(report(), undefined);
  assert.equal(reconciler.start({ since: 42, dryRun: false }), true);
  assert.equal(reconciler.start({ since: 43, dryRun: false }), false, 'one at a time');
  assert.deepEqual([report()?.begunAt, report()?.endedAt], [100, null]);
  now = 200;
  await reconciler.settled();
  assert.deepEqual(asked, [42]);
  assert.deepEqual(reconciler.report, {
    ...{ since: 42, dryRun: false, begunAt: 100, endedAt: 200 },
    failures: [{ source: 'away', reason: 'no answer' }],
    records: [
      { ...told, id: 'proven', state: 'credited', address: 'wallet', winc: '7', reason: null },
      { ...told, id: 'later', state: 'taken in', reason: 'on its way' },
      { ...told, id: 'failing', state: 'open', reason: 'locked' },
      { ...told, id: 'unproven', at: null, state: 'open', reason: 'nobody can prove it' },
      { ...told, id: 'explained', state: 'open', reason: 'no mark' },
      { ...told, id: 'seen to', state: 'taken in', reason: 'it is here by now' },
    ],
  });
  assert.equal(reconciler.start({ since: 44, dryRun: true }), true, 'another may follow');
  await reconciler.settled();
});

test('a dry run credits nothing', async () => {
  const credit = () => assert.fail('credited');
  const reconciler = new Reconciler({
    sources: [source('card payments', [record('proven', { credit }), record('open')])],
    log: silentLog,
  });
  reconciler.start({ since: 0, dryRun: true });
  await reconciler.settled();
  assert.deepEqual(
    reconciler.report?.records.map(({ id, state }) => `${id} ${state}`),
    ['proven would be credited', 'open open'],
  );
});

test('a run that is stopped ends after the record that it is at', async () => {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const credit = async () => {
    reach();
    await held;
    return { state: 'credited', address: 'wallet', winc: 1n } as const;
  };
  const reconciler = new Reconciler({
    sources: [source('card payments', [record('one', { credit }), record('two'), record('three')])],
    log: silentLog,
  });
  reconciler.start({ since: 0, dryRun: false });
  await reached;
  const stopped = reconciler.stop();
  letGo();
  await stopped;
  assert.notEqual(reconciler.report?.endedAt, null);
  assert.deepEqual(
    reconciler.report?.records.map(({ id, state }) => `${id} ${state}`),
    ['one credited'],
  );
  assert.deepEqual(reconciler.report?.failures, [
    { source: 'card payments', reason: 'the service was stopped' },
  ]);
});

test('no more is told at once than a person reads, and what is left is said to be', async () => {
  const one = record('one');
  const many = (count: number): OutsideSource => ({
    name: 'card payments',
    async *unknown() {
      for (let told = 0; told < count; told += 1) yield one;
    },
  });
  for (const [count, failures] of [
    [100_000, 0],
    [100_001, 1],
  ] as const) {
    const reconciler = new Reconciler({ sources: [many(count)], log: silentLog });
    reconciler.start({ since: 0, dryRun: true });
    await reconciler.settled();
    assert.equal(reconciler.report?.records.length, 100_000);
    assert.equal(reconciler.report?.failures.length, failures);
  }
});
