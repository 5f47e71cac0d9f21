import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostSamples, priceOf, sampledSizes } from './price.ts';

test('each size is asked for once, and of very many some with both ends', () => {
  assert.deepEqual(sampledSizes([5, 3, 5, 9]), [3, 5, 9]);
  const many = Array.from({ length: 1_000 }, (_, index) => index * 7 + 1);
  const some = sampledSizes(many);
  assert.ok(some.length <= mostSamples);
  assert.equal(some[0], 1);
  assert.equal(some.at(-1), 999 * 7 + 1);
});

test('the price is the sum of the items that are not free', () => {
  const samples = new Map([
    [200, 20n],
    [1_000, 100n],
  ]);
  assert.deepEqual(priceOf([100, 200, 1_000, 1_000], samples, 150), { winc: 220n, isExact: true });
  assert.deepEqual(priceOf([100], new Map(), 150), { winc: 0n, isExact: true });
  assert.equal(priceOf([300], new Map(), 150), undefined);
});

test('a size between those that were asked for costs about what lies between, and that is said', () => {
  const samples = new Map([
    [0, 0n],
    [1_000, 1_000n],
  ]);
  const price = priceOf([500], samples, 0);
  assert.equal(price?.isExact, false);
  assert.ok(price !== undefined && price.winc >= 500n && price.winc <= 502n);
  assert.equal(priceOf([2_000], samples, 0), undefined, 'nothing is known beyond the ends');
});
