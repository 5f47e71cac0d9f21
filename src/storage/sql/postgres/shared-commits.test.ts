import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
  let doing: string[] = [];
  const state = { commits: 0, isAway: false };
  const shared = new SharedCommits(async (work) => {
    doing = [];
    const value = await work(tx);
    if (state.isAway) throw new DatabaseUnavailable('away');
    state.commits += 1;
    kept.push(...doing);
    return value;
  });
  const run = (queue: string, what: string, failure?: Error) =>
    shared.run(queue, async () => {
      doing.push(what);
      await Promise.resolve();
      if (failure !== undefined) throw failure;
      return `${what}!`;
    });
  return { kept, state, run };
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
