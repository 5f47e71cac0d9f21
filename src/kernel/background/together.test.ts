import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Together } from './together.ts';

/** Work that ends when it is told to. */
function works() {
  const begun: PromiseWithResolvers<string>[] = [];
  const work = (): Promise<string> => {
    const one = Promise.withResolvers<string>();
    begun.push(one);
    return one.promise;
  };
  return { begun, work };
}

test('those who ask for the same at the same time share one work, others have their own', async () => {
  const together = new Together<string, string>();
  const { begun, work } = works();
  const answers = [together.run('a', work), together.run('a', work), together.run('b', work)];
  assert.equal(begun.length, 2);
  begun[0]?.resolve('A');
  begun[1]?.resolve('B');
  assert.deepEqual(await Promise.all(answers), ['A', 'A', 'B']);
});

test('whoever comes after the end begins anew, also after a failure', async () => {
  const together = new Together<string, string>();
  const { begun, work } = works();
  const first = together.run('a', work);
  begun[0]?.reject(new Error('no'));
  await assert.rejects(first, /no/);
  const second = together.run('a', work);
  assert.equal(begun.length, 2);
  begun[1]?.resolve('A');
  assert.equal(await second, 'A');
});

test('what was forgotten is not joined, and its end does not take the place of what came after', async () => {
  const together = new Together<string, string>();
  const { begun, work } = works();
  const first = together.run('a', work);
  together.forget((key) => key === 'a');
  const second = together.run('a', work);
  assert.equal(begun.length, 2);
  begun[0]?.resolve('old');
  assert.equal(await first, 'old');
  const third = together.run('a', work);
  assert.equal(begun.length, 2, 'joins the second');
  begun[1]?.resolve('new');
  assert.deepEqual(await Promise.all([second, third]), ['new', 'new']);
});
