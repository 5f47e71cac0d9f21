import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAhead } from './read-ahead.ts';

async function* numbers(count: number, tell: { left?: boolean } = {}): AsyncGenerator<number> {
  try {
    for (let number = 0; number < count; number += 1) yield number;
  } finally {
    tell.left = true;
  }
}

/** Loads that end when they are told to, and how many were under way at most. */
function loads() {
  const ends = new Map<number, () => void>();
  return {
    ends,
    load: (number: number) =>
      new Promise<number>((resolve) => {
        ends.set(number, () => resolve(number));
      }),
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what is loaded ahead comes in order, whatever is ready first', async () => {
  const { ends, load } = loads();
  const got: number[] = [];
  const reading = (async () => {
    for await (const number of readAhead(numbers(5), () => 1, load, { most: 3, bytes: 100 }))
      got.push(number);
  })();
  await turn();
  assert.deepEqual([...ends.keys()], [0, 1, 2], 'no more than three at once');
  ends.get(2)?.();
  ends.get(1)?.();
  await turn();
  assert.deepEqual(got, []);
  ends.get(0)?.();
  await turn();
  assert.deepEqual(got, [0, 1, 2]);
  ends.get(3)?.();
  ends.get(4)?.();
  await reading;
  assert.deepEqual(got, [0, 1, 2, 3, 4]);
});

test('no more bytes are held than there is room for, and one that is larger goes alone', async () => {
  const { ends, load } = loads();
  const sizes = [60, 50, 500, 10];
  const reading = (async () => {
    for await (const _ of readAhead(numbers(4), (one) => sizes[one] ?? 0, load, { most: 9, bytes: 100 }));
  })();
  for (const number of [0, 1, 2, 3]) {
    await turn();
    assert.deepEqual([...ends.keys()], [...Array(number + 1).keys()], 'one after the other');
    ends.get(number)?.();
  }
  await reading;
});

test('room that was left is used again, to the end', async () => {
  const { ends, load } = loads();
  const reading = (async () => {
    for await (const _ of readAhead(numbers(9), () => 40, load, { most: 9, bytes: 100 }));
  })();
  for (let number = 0; number < 9; number += 1) {
    await turn();
    assert.equal(ends.size, Math.min(number + 2, 9), 'two at once');
    ends.get(number)?.();
  }
  await reading;
});

test('who leaves early leaves nothing behind', async () => {
  const tell: { left?: boolean } = {};
  let loaded = 0;
  const load = async (number: number) => {
    await turn();
    loaded += 1;
    return number;
  };
  for await (const number of readAhead(numbers(100, tell), () => 1, load, { most: 4, bytes: 100 }))
    if (number === 3) break;
  assert.equal(tell.left, true);
  assert.ok(loaded >= 4 && loaded <= 8, `${loaded} were loaded, and all of them have ended`);
});
