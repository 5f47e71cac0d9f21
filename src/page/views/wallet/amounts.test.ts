import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressKind, bytesFor, formatMoney, parseAmount, worthOf } from './amounts.ts';

test('amounts are read exactly, and nothing else is', () => {
  assert.equal(parseAmount('1', 12), 1_000_000_000_000n);
  assert.equal(parseAmount(' 0.25 ', 6), 250_000n);
  assert.equal(parseAmount('.5', 1), 5n);
  assert.equal(parseAmount('1.', 2), 100n);
  assert.equal(parseAmount('0.10', 1), 1n);
  for (const wrong of ['', '0', '0.0', '-1', '1e3', '1,5', 'x', '0.001', '1'.repeat(30)]) {
    assert.equal(parseAmount(wrong, 2), undefined, wrong);
  }
});

test('credits are told as bytes and as money', () => {
  assert.equal(bytesFor(748_679_064_240n, 748_679_064_240), 2n ** 30n);
  assert.equal(bytesFor(0n, 5), 0n);
  assert.equal(worthOf(500n, { winc: 1_000, fiat: { usd: 6 } }), 3);
  assert.equal(formatMoney(1_050, 'usd', true), '$10.50');
  assert.equal(formatMoney(1_050, 'jpy', false), '¥1,050');
});

test('the kind of an address is seen from its form', () => {
  assert.equal(addressKind('0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'), 'ethereum');
  assert.equal(addressKind('LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM'), 'arweave');
  assert.equal(addressKind('GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB'), 'solana');
  assert.equal(addressKind('hello'), undefined);
});
