import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import type { Fellows } from '../workers/fellows.ts';
import { RateCounters, SharedRate } from './shared-rate.ts';

/** Workers of one first process; `asked` counts what they ask it. */
function workers(count: number, rules: { limit: number; windowMs: number }) {
  const counters = new RateCounters();
  const state = { asked: 0, isGone: false };
  const fellow = (index: number): Fellows => ({
    index,
    count,
    tell: async () => {},
    askAll: async () => [],
    async ask(_topic, message) {
      state.asked += 1;
      if (state.isGone) throw new Error('gone');
      return structuredClone(counters.answer(structuredClone(message)));
    },
  });
  const rates = Array.from(
    { length: count },
    (_, index) => new SharedRate({ name: 'test', ...rules }, fellow(index)),
  );
  return { rates, state };
}

const allowedOf = async (answers: readonly ReturnType<SharedRate['take']>[]): Promise<number> =>
  (await Promise.all(answers)).filter(({ allowed }) => allowed).length;

test('a small limit is exact over all workers, and one that is empty is refused without asking', async () => {
  const { rates, state } = workers(3, { limit: 10, windowMs: 3_600_000 });
  const all = rates.flatMap((rate) => Array.from({ length: 20 }, () => rate.take('192.0.2.1')));
  assert.equal(await allowedOf(all), 10);
  const { asked } = state;
  for (const rate of rates) {
    const answer = rate.take('192.0.2.1');
    assert.ok(!(answer instanceof Promise) && !answer.allowed && answer.resetSeconds > 300);
  }
  assert.equal(state.asked, asked);
  assert.equal(
    await allowedOf([rates[0]?.take('192.0.2.2') ?? assert.fail()]),
    1,
    'others are not concerned',
  );
});

test('what is given back may be taken again, at another worker after a moment', async () => {
  const { rates } = workers(2, { limit: 1, windowMs: 3_600_000 });
  const [one, two] = rates;
  assert.ok(one !== undefined && two !== undefined);
  assert.equal((await one.take('192.0.2.1')).allowed, true);
  one.giveBack('192.0.2.1');
  assert.equal((await one.take('192.0.2.1')).allowed, true, 'here at once');
  one.giveBack('192.0.2.1');
  // It comes back within a second or so.
  await eventually('the other worker gets it', async () => (await two.take('192.0.2.1')).allowed);
  assert.equal((await one.take('192.0.2.1')).allowed, false);
});

test('to look takes nothing, and says whether there is something to take', async () => {
  const { rates } = workers(2, { limit: 2, windowMs: 3_600_000 });
  const [one, two] = rates;
  assert.ok(one !== undefined && two !== undefined);
  for (let turn = 0; turn < 5; turn += 1) assert.equal((await one.look('192.0.2.1')).allowed, true);
  assert.equal(await allowedOf([one.take('192.0.2.1'), one.take('192.0.2.1'), one.take('192.0.2.1')]), 2);
  const seen = await Promise.all(rates.map((rate) => rate.look('192.0.2.1')));
  assert.ok(seen.every(({ allowed, resetSeconds }) => !allowed && resetSeconds > 600));
  const alone = new SharedRate({ name: 'alone', limit: 1, windowMs: 1_000, now: () => 0 }, undefined);
  const looked = () => Promise.resolve(alone.look('192.0.2.1')).then(({ allowed }) => allowed);
  assert.equal(await looked(), true);
  alone.take('192.0.2.1');
  assert.equal(await looked(), false);
});

test('a large limit is not exceeded, and few requests ask', async () => {
  const { rates, state } = workers(2, { limit: 3_200, windowMs: 3_600_000 });
  let allowed = 0;
  let refused = 0;
  for (let turn = 0; refused < 200; turn += 1) {
    const answer = await (rates[turn % 2] ?? assert.fail()).take('192.0.2.1');
    if (answer.allowed) allowed += 1;
    else refused += 1;
  }
  assert.ok(allowed <= 3_200 && allowed > 2_900, String(allowed));
  assert.ok(state.asked < 300, String(state.asked));
});

test('while the first process does not answer each worker counts for itself', async () => {
  const { rates, state } = workers(2, { limit: 2, windowMs: 3_600_000 });
  state.isGone = true;
  const all = rates.flatMap((rate) => Array.from({ length: 5 }, () => rate.take('192.0.2.1')));
  assert.equal(await allowedOf(all), 4);
});
