import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heard } from '../../kernel/workers/fellows.ts';
import { QuoteMemory } from './quote-memory.ts';

function open(lifeMs = 1_000) {
  const clock = { now: 5_000 };
  return { clock, memory: new QuoteMemory(lifeMs, () => clock.now) };
}

test('a price that was asked may be paid until its time is over, and so may more', async () => {
  const { clock, memory } = open();
  memory.remember('upload 10', 100n);
  assert.equal(await memory.wasAsked('upload 10', 99n), false);
  assert.equal(await memory.wasAsked('upload 10', 100n), true);
  assert.equal(await memory.wasAsked('upload 10', 101n), true);
  assert.equal(await memory.wasAsked('upload 11', 100n), false);
  clock.now += 999;
  assert.equal(await memory.wasAsked('upload 10', 100n), true);
  clock.now += 1;
  assert.equal(await memory.wasAsked('upload 10', 100n), false);
});

test('asking again at a higher price does not keep the lower one alive', async () => {
  const { clock, memory } = open();
  memory.remember('upload 10', 100n);
  clock.now += 600;
  memory.remember('upload 10', 104n);
  assert.equal(await memory.wasAsked('upload 10', 100n), true);
  clock.now += 600;
  assert.equal(await memory.wasAsked('upload 10', 100n), false);
  assert.equal(await memory.wasAsked('upload 10', 104n), true);
});

test('it stays small: the products and prices of longest ago are forgotten', async () => {
  const { memory } = open();
  for (let count = 0; count < 10_001; count += 1) memory.remember(`upload ${count}`, 100n);
  assert.equal(await memory.wasAsked('upload 0', 100n), false);
  assert.equal(await memory.wasAsked('upload 10000', 100n), true);
  for (let price = 1n; price <= 17n; price += 1n) memory.remember('upload 5', price);
  assert.equal(await memory.wasAsked('upload 5', 1n), false);
  assert.equal(await memory.wasAsked('upload 5', 2n), true);
});

test('another process of the same start is told what was asked here', () => {
  const { memory } = open();
  memory.remember('upload 10', 100n);
  const told = (asked: unknown) => heard('x402 prices asked', asked);
  assert.equal(told({ product: 'upload 10', amount: '100' }), true);
  assert.equal(told({ product: 'upload 10', amount: '99' }), false);
  assert.equal(told('nonsense'), false);
});
