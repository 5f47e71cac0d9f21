import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BundleReport } from '../../formats/admin-answers.ts';
import { type Circumstances, type ItemFacts, isStuck, stepsOf, whyBundle, whyItem } from './why.ts';

const now = Date.UTC(2026, 4, 3, 12, 0);
const minutes = (count: number) => now + count * 60_000;
const circumstances: Circumstances = { now, maxWaitMs: 300_000, confirmations: 18, height: 1_000 };

const bundle = {
  plan: 'p1',
  state: 'planned',
  tx_id: null,
  item_count: 3,
  attempts: 0,
  unreadable: 0,
  last_error: null,
  due_at: minutes(1),
  created_at: minutes(-10),
  posted_at: null,
  changed_at: minutes(-10),
  block_height: null,
  confirmations: null,
  damage: null,
  mend_tries: 0,
  look_at: null,
} as const;

const report = (changes: Partial<BundleReport>): BundleReport => ({
  plan: 'p1',
  txId: null,
  state: 'planned',
  items: 3,
  bytes: 100,
  tries: 0,
  lastError: null,
  lastErrorAt: null,
  nextTryAt: minutes(1),
  blockHeight: null,
  confirmations: null,
  confirmationsNeeded: 18,
  seedings: 0,
  watch: null,
  createdAt: minutes(-10),
  postedAt: null,
  seededAt: null,
  changedAt: minutes(-10),
  stuck: false,
  why: 'Bundle p1 waits.',
  ...changes,
});

const facts = (changes: Partial<ItemFacts> & { state?: ItemFacts['item']['state'] } = {}): ItemFacts => ({
  item: { state: changes.state ?? 'new', receivedAt: minutes(-2), deadlineHeight: 1_100, failedReason: null },
  failures: 0,
  misses: 0,
  notBefore: null,
  permanentAt: null,
  isHeldBack: false,
  bundle: null,
  announcement: { waiting: [] },
  ...changes,
});

describe('why a bundle is not permanent', () => {
  const cases: [object, string][] = [
    [{}, 'Bundle p1 of 3 items is closed, and its transaction is not made yet.'],
    [
      { state: 'prepared', tx_id: 'T', attempts: 3, last_error: 'the node refused with 400: no' },
      'Bundle T is signed, and no node has taken its transaction yet: tried 3 times in vain, last error "the node refused with 400: no", next try at 12:01 UTC.',
    ],
    [
      { state: 'posted', tx_id: 'T', attempts: 1, due_at: Date.UTC(2026, 4, 4) },
      'Bundle T is posted, and its chunks are being given to the network: tried once in vain, last error "not known", next try at 2026-05-04 00:00 UTC.',
    ],
    [
      { state: 'posted', tx_id: 'T', unreadable: 2 },
      'Bundle T is mined, but not all of its chunks can be read back: they are given to the network again.',
    ],
    [
      { state: 'seeded', tx_id: 'T', posted_at: minutes(-5) },
      'Bundle T was posted at 11:55 UTC and waits to be mined.',
    ],
    [
      { state: 'seeded', tx_id: 'T', block_height: 990, confirmations: 7 },
      'Bundle T is mined at height 990, with 7 of 18 confirmations.',
    ],
    [
      { state: 'permanent', tx_id: 'T', block_height: 990, confirmations: 18 },
      'Bundle T is permanent since 11:50 UTC, in the block at height 990.',
    ],
    [
      { state: 'dropped', tx_id: 'T' },
      'Bundle T was dropped by the chain at 11:50 UTC; its items go into another.',
    ],
    [
      {
        ...{ state: 'permanent', tx_id: 'T', block_height: 7, damage: 'no node has 2 of its 5 chunks' },
        ...{ mend_tries: 2, look_at: minutes(5) },
      },
      'Bundle T is permanent since 11:50 UTC, in the block at height 7. It is damaged: no node has 2 of its 5 chunks. Mending was tried 2 times; the next look is at 12:05 UTC.',
    ],
  ];
  for (const [changes, sentence] of cases) {
    test(sentence, () => assert.equal(whyBundle({ ...bundle, ...changes }, circumstances), sentence));
  }

  test('it is stuck after a few tries or hours, and never once it has ended', () => {
    assert.equal(isStuck(bundle, now), false);
    assert.equal(isStuck({ ...bundle, attempts: 3 }, now), true);
    assert.equal(isStuck({ ...bundle, unreadable: 3 }, now), true);
    assert.equal(isStuck({ ...bundle, created_at: minutes(-180) }, now), true);
    assert.equal(isStuck({ ...bundle, attempts: 3, state: 'permanent' }, now), false);
  });
});

describe('why an item is not permanent', () => {
  const cases: [string, ItemFacts, string, Partial<Circumstances>?][] = [
    ['new', facts(), 'Waits for its bundle to fill, until 12:03 UTC at the latest.'],
    [
      'held back after a restore',
      facts({ isHeldBack: true }),
      'Waits until it is known whether a bundle of before the restore has it: it would be paid for twice.',
    ],
    [
      'late bundler',
      facts({ failures: 2 }),
      'Waits for the bundler (the chain dropped 2 before): its bundle should have been closed at 11:59 UTC.',
      { maxWaitMs: 60_000 },
    ],
    ['in a bundle', facts({ state: 'planned', bundle: report({}) }), 'Bundle p1 waits.'],
    [
      'bytes away, and left out',
      facts({ misses: 3, notBefore: minutes(4) }),
      'Its bytes were not found, or not those that were uploaded, 3 times in a row: it is tried again at 12:04 UTC.',
    ],
    [
      'bytes away',
      facts({ state: 'planned', bundle: report({}), misses: 2 }),
      'Bundle p1 waits. Its own bytes were not found 2 times in a row.',
    ],
    [
      'late',
      facts(),
      'Waits for its bundle to fill, until 12:03 UTC at the latest. Its receipt promised a block by height 1100, and the chain is at 1101.',
      { height: 1_101 },
    ],
    [
      'gateway away',
      facts({
        announcement: {
          waiting: [
            { host: 'one.test', lastError: 'the gateway answered 503' },
            { host: 'two.test', lastError: null },
          ],
        },
      }),
      'Waits for its bundle to fill, until 12:03 UTC at the latest. Not told of it yet: one.test (the gateway answered 503), two.test.',
    ],
    [
      'permanent',
      facts({
        state: 'permanent',
        permanentAt: minutes(-1),
        bundle: report({ state: 'permanent', blockHeight: 9 }),
      }),
      'Permanent since 11:59 UTC, in the block at height 9.',
    ],
    [
      'lost',
      facts({
        item: {
          state: 'failed',
          receivedAt: 0,
          deadlineHeight: 0,
          failedReason: 'missing_from_object_store',
        },
      }),
      'Not stored, and paid back because its bytes are lost from the store; it may be uploaded again.',
    ],
  ];
  for (const [name, given, sentence, other] of cases) {
    test(name, () => assert.equal(whyItem(given, { ...circumstances, ...other }), sentence));
  }
});

describe('the steps of an item', () => {
  const states = (given: ItemFacts) => stepsOf(given).map(({ id, state }) => `${id} ${state}`);

  test('one after the other is done', () => {
    assert.deepEqual(states(facts()), [
      'received done',
      'announced done',
      'bundled now',
      'posted waiting',
      'seeded waiting',
      'mined waiting',
      'permanent waiting',
    ]);
    const seeded = facts({ state: 'planned', bundle: report({ state: 'seeded' }) });
    assert.deepEqual(states(seeded).slice(4), ['seeded done', 'mined now', 'permanent waiting']);
    const mined = report({ state: 'seeded', confirmations: 7, blockHeight: 990 });
    const steps = stepsOf(facts({ state: 'planned', bundle: mined }));
    assert.deepEqual(
      steps.slice(5).map(({ state, note }) => [state, note]),
      [
        ['done', 'height 990'],
        ['now', '7 of 18 confirmations'],
      ],
    );
    const ended = facts({ state: 'permanent', bundle: report({ state: 'permanent' }) });
    assert.ok(states(ended).every((step) => step.endsWith(' done')));
  });

  test('what failed did so where it was', () => {
    const failed = facts({ item: { state: 'failed', receivedAt: 0, deadlineHeight: 0, failedReason: 'x' } });
    assert.equal(states(failed)[2], 'bundled failed');
  });
});
