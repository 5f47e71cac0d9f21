import assert from 'node:assert/strict';
import { test } from 'node:test';
import { winc } from './credits.ts';
import { lackFields, lackHeaders, lackOf, lackWords } from './lack.ts';

const has = (amount: bigint | undefined) => ({
  balance: async () =>
    amount === undefined
      ? undefined
      : {
          winc: winc(amount),
          controlledWinc: winc(amount),
          effectiveBalance: winc(amount),
          givenApprovals: [],
          receivedApprovals: [],
        },
});

test('what is missing is the price without what the wallet has, and a debt is not asked for', async () => {
  const lack = async (amount: bigint | undefined, price: bigint) => {
    const { balance, missing } = await lackOf(has(amount), 'alice', winc(price));
    return [balance, missing];
  };
  assert.deepEqual(await lack(40n, 100n), [40n, 60n]);
  assert.deepEqual(await lack(100n, 100n), [100n, 0n]);
  assert.deepEqual(await lack(140n, 100n), [140n, 0n]);
  assert.deepEqual(await lack(undefined, 100n), [0n, 100n]);
  assert.deepEqual(await lack(-5n, 100n), [0n, 100n]);
});

test('it is said in words, fields and headers, with the page where one is known', async () => {
  const page = await lackOf(has(40n), 'alice', winc(100n), (address) => `https://pay.example/${address}`);
  const none = await lackOf(has(40n), 'alice', winc(100n));
  const amounts = { price: '100', balance: '40', missing: '60' };
  const headers = { 'x-price-winc': '100', 'x-balance-winc': '40', 'x-missing-winc': '60' };
  const words = 'it costs 100 winc, the wallet has 40, 60 are missing';
  assert.deepEqual(lackFields(page), { ...amounts, topUp: 'https://pay.example/alice' });
  assert.deepEqual(lackFields(none), amounts);
  assert.equal(lackWords(page), `${words}; to top up: https://pay.example/alice`);
  assert.equal(lackWords(none), words);
  assert.deepEqual(lackHeaders(page), { ...headers, link: '<https://pay.example/alice>; rel="payment"' });
  assert.deepEqual(lackHeaders(none), headers);
});
