import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startLocalArweave, TestWallet } from '../../test/support/local-arweave.ts';
import { readConfig } from '../config/config.ts';
import { isArweaveAddress } from '../formats/base64url.ts';
import { arweaveKey } from '../wallets/arweave/rsa.ts';
import { testArweaveKey } from '../wallets/testing/keys.ts';
import { NodeClient } from './node-client.ts';
import { sendAr } from './send-ar.ts';

test('AR moves to another wallet, all of it but the fee, and never more than there is', async () => {
  await using local = await startLocalArweave();
  const node = new NodeClient(readConfig({ ARWEAVE_NODE_URLS: local.client.url }));
  const from = arweaveKey(testArweaveKey.privateKey);
  const to = new TestWallet().address;
  assert.ok(isArweaveAddress(to));
  const balance = async (address: string) => BigInt(await node.get(`/wallet/${address}/balance`));
  await node.get(`/mint/${from.address}/5000000000000`);

  await assert.rejects(sendAr(node, from, to, 5_000_000_000_000n), /not enough/);
  await assert.rejects(sendAr(node, from, from.address, 1n), /the wallet itself/);
  assert.equal(await balance(from.address), 5_000_000_000_000n);

  await sendAr(node, from, to, 1_000_000_000_000n);
  await node.get('/mine/1');
  assert.equal(await balance(to), 1_000_000_000_000n);
  const before = await balance(from.address);
  const sent = await sendAr(node, from, to, 'all');
  await node.get('/mine/1');
  assert.equal(sent.winston + sent.fee, before);
  assert.equal(await balance(from.address), 0n);
  assert.equal(await balance(to), 1_000_000_000_000n + sent.winston);
});
