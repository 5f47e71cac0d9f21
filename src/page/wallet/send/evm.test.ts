import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainOf, transferCall } from './evm.ts';

const to = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';

test('coins are sent as they are, dollars by a call of their contract', () => {
  assert.deepEqual(transferCall('ethereum', to, 255n), { to, value: '0xff' });
  const call = transferCall('base-usdc', to, 1_000_000n);
  assert.equal(call?.to, '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913');
  assert.equal(call?.value, '0x0');
  assert.equal(
    call?.data,
    `0xa9059cbb${to.slice(2).toLowerCase().padStart(64, '0')}${(1_000_000).toString(16).padStart(64, '0')}`,
  );
  for (const other of ['arweave', '__proto__', '']) assert.equal(transferCall(other, to, 1n), undefined);
});

test('each token is on one chain of its world', () => {
  assert.equal(chainOf('usdc', 'public'), 1);
  assert.equal(chainOf('base-eth', 'testnet'), 84_532);
  assert.equal(chainOf('matic', 'public'), 137);
  assert.equal(chainOf('ethereum', 'local'), undefined);
  assert.equal(chainOf('constructor', 'public'), undefined);
});
