import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DemandFactor, demandFactor } from './accounts-arns.ts';
import {
  baseFee,
  extendableYears,
  extensionPrice,
  genesisDemandFactor,
  leasePrice,
  permabuyPrice,
  returnedNamePrice,
  rollDemandFactor,
  scale,
  undernamePrice,
  yearSeconds,
} from './name-prices.ts';
import { areKeywords, isArnsName, isTarget, isTtl, isUndername } from './name-rules.ts';

test('names are 1 to 51 characters, never 43, without dashes at the ends', () => {
  for (const name of ['a', '0', 'ab', 'a-b', 'a--b', 'x'.repeat(42), 'x'.repeat(44), 'x'.repeat(51)]) {
    assert.ok(isArnsName(name), name);
  }
  for (const name of [
    '',
    '-',
    '-a',
    'a-',
    'A',
    'a_b',
    'a.b',
    'ä',
    '@',
    'x'.repeat(43),
    'x'.repeat(52),
    'a\n',
  ]) {
    assert.ok(!isArnsName(name), name);
  }
});

test('undernames are @ or begin with a letter or digit', () => {
  for (const text of ['@', 'a', '0_-', 'x'.repeat(61)]) assert.ok(isUndername(text), text);
  for (const text of ['', '_a', '-a', 'A', '@a', 'a.b', 'x'.repeat(62)]) assert.ok(!isUndername(text), text);
});

test('targets, times to live and keywords', () => {
  const id = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';
  assert.ok(isTarget(id, 0));
  assert.ok(!isTarget(id.slice(1), 0));
  assert.ok(!isTarget(id, 2));
  assert.ok(isTarget(`Qm${'a'.repeat(44)}`, 1));
  assert.ok(isTarget('bafybeigdyrzt', 1));
  assert.ok(!isTarget('afybeigdyrzt', 1));
  assert.deepEqual([59, 60, 86_400, 86_401, 60.5].map(isTtl), [false, true, true, false, false]);
  assert.ok(areKeywords(['a', '#b', '@c_-9']));
  assert.ok(areKeywords([]));
  for (const bad of [['a', 'b', 'c', 'd'], ['a', 'a'], [''], ['a b'], ['x'.repeat(33)]])
    assert.ok(!areKeywords(bad));
});

const demand = genesisDemandFactor(scale, 1_000_000, 255);

test('prices at factor one are those of the public registry', () => {
  const fee = baseFee(demand, 'a-name-of-many-letters');
  assert.equal(fee, 200_000_000n);
  assert.equal(leasePrice(fee, scale, 1), 240_000_000n);
  assert.equal(leasePrice(fee, scale, 5), 400_000_000n);
  assert.equal(permabuyPrice(fee, scale), 1_000_000_000n);
  assert.equal(extensionPrice(fee, scale, 1), 40_000_000n);
  assert.equal(undernamePrice(fee, scale, 'lease', 1), 200_000n);
  assert.equal(undernamePrice(fee, scale, 'permabuy', 1), 1_000_000n);
  assert.equal(baseFee(demand, 'a'), 500_000_000_000n);
  assert.equal(baseFee(demand, 'x'.repeat(12)), 250_000_000n);
  assert.equal(baseFee(demand, 'x'.repeat(51)), 200_000_000n);
  assert.throws(() => baseFee(demand, 'x'.repeat(52)), RangeError);
});

test('a returned name falls from fifty times its price to the price', () => {
  const day = 86_400;
  assert.equal(returnedNamePrice(240_000_000n, 0, 0), 12_000_000_000n);
  assert.equal(returnedNamePrice(240_000_000n, 0, 7 * day), 6_120_000_000n);
  assert.equal(returnedNamePrice(240_000_000n, 0, 14 * day), 240_000_000n);
  assert.equal(returnedNamePrice(240_000_000n, 0, 30 * day), 240_000_000n);
});

test('a lease may be extended to five years from now and no further', () => {
  assert.equal(extendableYears(yearSeconds, 0), 4);
  assert.equal(extendableYears(yearSeconds + 1, 0), 3);
  assert.equal(extendableYears(5 * yearSeconds, 0), 0);
  assert.equal(extendableYears(0, 100), 5);
});

test('the factor rises after a busy day, falls after a quiet one, and fees halve after eight days at the floor', () => {
  const day = (count: number) => demand.periodZero + count * 86_400;
  assert.deepEqual(rollDemandFactor(demand, day(0) + 86_399), demand);
  assert.equal(rollDemandFactor(demand, day(1)).factor, 985_000n);
  const busy: DemandFactor = { ...demand, revenue: 1n, purchases: 1n };
  const risen = rollDemandFactor(busy, day(1));
  assert.equal(risen.factor, 1_050_000n);
  assert.deepEqual(risen.trailingRevenues, [0n, 1n, 0n, 0n, 0n, 0n, 0n]);
  assert.equal(risen.revenue, 0n);
  assert.equal(risen.period, 2n);
  const high: DemandFactor = { ...demand, factor: 999n * scale, revenue: 5n };
  assert.equal(rollDemandFactor(high, day(1)).factor, 1_000n * scale);
  // 0.985^46 is the first power below one half.
  const floor = rollDemandFactor(demand, day(46));
  assert.equal(floor.factor, 500_000n);
  assert.equal(floor.periodsAtMinimum, 1);
  const last = rollDemandFactor(demand, day(52));
  assert.equal(last.periodsAtMinimum, 7);
  assert.equal(last.fees[0], 500_000_000_000n);
  const halved = rollDemandFactor(demand, day(53));
  assert.deepEqual([halved.fees[0], halved.factor, halved.periodsAtMinimum], [250_000_000_000n, scale, 0]);
  assert.deepEqual(demandFactor.decode(demandFactor.encode(halved)), halved);
});
