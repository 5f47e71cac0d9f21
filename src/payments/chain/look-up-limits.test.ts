import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChainPaymentRefused, TooManyLookUps } from './errors.ts';
import { LookUpLimits } from './look-up-limits.ts';

test('a network has eight places to wait in, all together sixty-four, and each is left once', () => {
  const limits = new LookUpLimits(100);
  const client = (network: number) => `10.${network}.0.1`;
  const take = (network: number, count: number) =>
    Array.from({ length: count }, () => limits.takePlace(client(network)));
  const [first = () => {}] = take(0, 8);
  assert.throws(() => take(0, 1), ChainPaymentRefused);
  first();
  const [again = () => {}] = take(0, 1);
  assert.throws(() => take(0, 1), ChainPaymentRefused);
  const last = take(1, 8);
  for (let network = 2; network < 8; network += 1) take(network, 8);
  assert.throws(() => take(8, 1), TooManyLookUps);
  again();
  take(8, 1);
  assert.throws(() => take(8, 1), TooManyLookUps);
  for (const leave of last) leave();
  take(1, 8);
  assert.throws(() => take(9, 1), TooManyLookUps);
});

test('so many looks are under way at once, and one that fails is over too', async () => {
  const limits = new LookUpLimits(100);
  const { promise, resolve } = Promise.withResolvers<string>();
  const looks = Array.from({ length: 256 }, () => limits.look(() => promise));
  await assert.rejects(
    limits.look(async () => 'one more'),
    TooManyLookUps,
  );
  resolve('found');
  assert.equal((await Promise.all(looks)).length, 256);
  for (let n = 0; n < 300; n += 1)
    await assert.rejects(
      limits.look(() => Promise.reject(new Error('away'))),
      /away/,
    );
  assert.equal(await limits.look(async () => 'free'), 'free');
});

test('ids that are not found are counted by the minute, and those that are found are not', async () => {
  let now = 0;
  const limits = new LookUpLimits(2, () => now);
  await limits.count('10.0.0.1');
  assert.equal(await limits.takeShare('10.0.0.1'), true);
  assert.equal(await limits.takeShare('10.0.0.1'), false);
  await assert.rejects(limits.count('10.0.0.1'), ChainPaymentRefused);
  await limits.count('10.9.0.1');
  limits.giveBack('10.0.0.1');
  await limits.count('10.0.0.1');
  await assert.rejects(limits.count('10.0.0.1'), ChainPaymentRefused);
  now += 2 * 60_000;
  await limits.count('10.0.0.1');
});
