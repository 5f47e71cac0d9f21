import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keccak256 } from '../wallets/ethereum/keccak.ts';
import { authorizationUsedTopic, transferTopic } from './evm-events.ts';

test('topics are the hashes of the signatures of their events', () => {
  const topicOf = (event: string) => `0x${Buffer.from(keccak256(Buffer.from(event))).toString('hex')}`;
  assert.equal(transferTopic, topicOf('Transfer(address,address,uint256)'));
  assert.equal(authorizationUsedTopic, topicOf('AuthorizationUsed(address,bytes32)'));
});
