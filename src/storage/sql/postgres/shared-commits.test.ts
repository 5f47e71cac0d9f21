import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DatabaseError } from 'pg';
import { DatabaseUnavailable, type SqlExecutor } from '../sql.ts';
import { SharedCommits } from './shared-commits.ts';

const tx: SqlExecutor = {
  engine: 'postgres',
  forUpdate: 'FOR UPDATE',
  all: async () => [],
  get: async () => undefined,
  run: async () => 0,
};

/** Keeps what works of a transaction have done once it has committed. */
function fakeDatabase() {
  const kept: string[] = [];
  const state = { commits: 0, isAway: false, open: 0, mostOpen: 0 };
  const doings = new Map<SqlExecutor, string[] | undefined>();
  const shared = new SharedCommits(async (work) => {
    const own = { ...tx };
    const doing: string[] = [];
    doings.set(own, doing);
    state.open += 1;
    state.mostOpen = Math.max(state.mostOpen, state.open);
    try {
      const value = await work(own);
      if (state.isAway) throw new DatabaseUnavailable('away');
      state.commits += 1;
      kept.push(...doing);
      return value;
    } finally {
      state.open -= 1;
      doings.delete(own);
    }
  });
  const late: string[] = [];
  const run = (queue: string, what: string, failure?: Error) =>
    shared.run(queue, async (own) => {
      doings.get(own)?.push(what);
      await Promise.resolve();
      if (failure !== undefined) throw failure;
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
      if (!doings.has(own)) late.push(what);
      return `${what}!`;
    });
  return { kept, late, state, run, shared };
}

describe('transactions of one queue', () => {
  it('share a commit where they wait, in their order, and each gets its own answer', async () => {
    const { kept, state, run } = fakeDatabase();
    const names = Array.from({ length: 40 }, (_, at) => `${at}`);
    const answers = await Promise.all(names.map((name) => run('a', name)));
    assert.deepEqual(
      answers,
      names.map((name) => `${name}!`),
    );
    assert.deepEqual(kept, names);
    assert.equal(state.commits, 3, 'the first, thirty-two, and the rest');
    assert.equal(await run('a', 'later'), 'later!');
  });

  it('begin when the one before has let them, and all end before the commit', async () => {
    const { shared, state } = fakeDatabase();
    const told: string[] = [];
    const open = Promise.withResolvers<void>();
    const first = shared.run('a', () => open.promise);
    const works = ['b', 'c'].map((name, at) =>
      shared.run('a', async (_tx, letNext) => {
        told.push(`${name} begins`);
        if (at === 0) letNext?.();
        for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
        told.push(`${name} ends, ${state.commits} committed`);
      }),
    );
    const late = shared.run('a', async () => void told.push('d begins'));
    open.resolve();
    await Promise.all([first, ...works, late]);
    assert.deepEqual(told, [
      'b begins',
      'c begins',
      'b ends, 1 committed',
      'c ends, 1 committed',
      'd begins',
    ]);
    assert.equal(state.commits, 2);
  });

  it('are all done again when one fails that had let the next begin', async () => {
    const { shared, state } = fakeDatabase();
    const began: string[] = [];
    const open = Promise.withResolvers<void>();
    const first = shared.run('a', () => open.promise);
    const failing = shared.run('a', async (_tx, letNext) => {
      began.push('failing');
      letNext?.();
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      throw new Error('no money');
    });
    const next = shared.run('a', async () => void began.push('next'));
    open.resolve();
    await first;
    await assert.rejects(failing, /no money/);
    await next;
    assert.deepEqual(began, ['failing', 'next', 'failing', 'next']);
    assert.equal(state.commits, 2);
  });

  it('keep what they did when one of them fails', async () => {
    const { kept, run } = fakeDatabase();
    const refusal = new Error('no money');
    const outcomes = await Promise.allSettled([
      run('a', 'first'),
      run('a', 'second'),
      run('a', 'third', refusal),
      run('a', 'fourth'),
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason)),
      ['first!', 'second!', refusal, 'fourth!'],
    );
    assert.deepEqual(kept, ['first', 'second', 'fourth']);
  });

  it('are all told that the database is away, and none is run again', async () => {
    const { kept, state, run } = fakeDatabase();
    state.isAway = true;
    const outcomes = await Promise.allSettled(['1', '2', '3'].map((name) => run('a', name)));
    assert.ok(outcomes.every(({ status }) => status === 'rejected'));
    assert.deepEqual(kept, []);
    state.isAway = false;
    assert.equal(await run('a', 'again'), 'again!');
  });
});

describe('transactions of different queues', () => {
  const letters = [...'zyxwvutsrqponmlkjihgfedcba'];

  it('run at once while few wait, and share a commit where more do, in the order of their queues', async () => {
    const { kept, state, run } = fakeDatabase();
    const answers = await Promise.all(letters.map((letter) => run(letter, letter)));
    assert.deepEqual(
      answers,
      letters.map((letter) => `${letter}!`),
    );
    assert.equal(state.mostOpen, 2);
    assert.equal(state.commits, 3, 'the first, the second, and the rest');
    assert.deepEqual(kept, ['z', 'y', ...letters.slice(2).toReversed()]);
  });

  it('never run two of one queue side by side', async () => {
    const { shared } = fakeDatabase();
    const running = new Set<string>();
    const order: Record<string, number[]> = {};
    const work = (queue: string, number: number) =>
      shared.run(queue, async () => {
        assert.ok(!running.has(queue), `two of ${queue} run at once`);
        running.add(queue);
        for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
        running.delete(queue);
        order[queue] = [...(order[queue] ?? []), number];
      });
    const numbers = Array.from({ length: 90 }, (_, at) => at);
    await Promise.all(numbers.map((number) => work(['a', 'b', 'c'][number % 3] ?? '', number)));
    for (const [at, queue] of ['a', 'b', 'c'].entries())
      assert.deepEqual(
        order[queue],
        numbers.filter((number) => number % 3 === at),
      );
  });

  it('lose nothing by one that fails, and none of them goes on after the end of its transaction', async () => {
    const { kept, late, run } = fakeDatabase();
    const refusal = new Error('no money');
    const outcomes = await Promise.allSettled(
      letters.map((letter) => run(letter, letter, letter === 'm' ? refusal : undefined)),
    );
    for (const [at, outcome] of outcomes.entries()) {
      if (letters[at] === 'm') assert.deepEqual(outcome, { status: 'rejected', reason: refusal });
      else assert.deepEqual(outcome, { status: 'fulfilled', value: `${letters[at]}!` });
    }
    assert.deepEqual(kept.toSorted(), letters.filter((letter) => letter !== 'm').toSorted());
    assert.deepEqual(late, []);
  });

  it('wait for nobody whose row is locked elsewhere', async () => {
    const unlocked = Promise.withResolvers<void>();
    const locked = (queue: string) => queue.startsWith('locked');
    const shared = new SharedCommits(async (work, lockWaitMs) => {
      return work({ ...tx, run: async () => lockWaitMs ?? 0 });
    });
    const run = (queue: string) =>
      shared.run(queue, async (own) => {
        if (!locked(queue)) return queue;
        const lockWaitMs = await own.run('');
        if (lockWaitMs === 0) await unlocked.promise;
        else throw Object.assign(new DatabaseError('locked', 6, 'error'), { code: '55P03' });
        return queue;
      });
    const waiting = ['locked 1', 'locked 2', 'locked 3', 'locked 1'].map(run);
    const others = await Promise.all(letters.map(run));
    assert.deepEqual(others, letters);
    assert.deepEqual(await Promise.all(letters.map(run)), letters, 'also those that come later');
    let drained = false;
    const draining = shared.drained().then(() => {
      drained = true;
    });
    await new Promise(setImmediate);
    assert.equal(drained, false);
    unlocked.resolve();
    assert.deepEqual(await Promise.all(waiting), ['locked 1', 'locked 2', 'locked 3', 'locked 1']);
    await draining;
  });

  it('are all answered before it counts as drained', async () => {
    const { shared, run } = fakeDatabase();
    let answered = 0;
    for (const letter of letters) void run(letter, letter).then(() => (answered += 1));
    await shared.drained();
    await Promise.resolve();
    assert.equal(answered, letters.length);
  });
});
