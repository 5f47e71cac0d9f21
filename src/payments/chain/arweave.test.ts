import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startLocalArweave, TestWallet } from '../../../test/support/local-arweave.ts';
import { transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { arweaveReader } from './arweave.ts';

const service = `${'s'.repeat(42)}A`;
const destination = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';

describe('reading payments from Arweave nodes', () => {
  it('follows a transfer from the mempool to enough confirmations', async () => {
    await using node = await startLocalArweave();
    const { client } = node;
    const reader = arweaveReader([client.url], 3);
    const payer = new TestWallet();
    await client.text(`/mint/${payer.address}/10000000000000`);
    const transaction = await payer.transaction(client, {
      target: service,
      quantity: 5_000_000_000_000n,
      tags: [{ name: 'Turbo-Credit-Destination-Address', value: destination }],
    });
    const { id } = transactionToJson(transaction, 'with data');
    assert.equal(reader.parseId(id), id);
    assert.deepEqual(await reader.read(id), { state: 'not-found', at: await client.height() });
    assert.equal((await client.postTx(transaction)).status, 200);

    const transfer = { sender: payer.address, recipient: service, quantity: 5_000_000_000_000n, destination };
    assert.deepEqual(await reader.read(id), { state: 'pending', transfer });
    await client.text('/mine/1');
    const blockHeight = await client.height();
    const mined = { ...transfer, blockHeight };
    const at = () => client.height();
    assert.deepEqual(await reader.read(id), { state: 'pending', transfer: mined, at: await at() });
    await client.text('/mine/2');
    assert.deepEqual(await reader.read(id), { state: 'confirmed', transfer: mined, at: await at() });
  });

  it('says absence only when every node said so', async () => {
    await using node = await startLocalArweave();
    const unknown = `${'u'.repeat(42)}A`;
    const dead = 'http://127.0.0.1:9';
    const reader = (...nodes: string[]) => arweaveReader(nodes, 1);
    assert.equal((await reader(node.client.url).read(unknown)).state, 'not-found');
    assert.equal((await reader(dead, node.client.url).read(unknown)).state, 'not-known');
    assert.equal((await reader(node.client.url, dead).read(unknown)).state, 'not-known');
  });

  it('takes only ids that can be one', () => {
    const reader = arweaveReader([], 1);
    for (const wrong of ['', 'short', `${'u'.repeat(42)}/`, 'u'.repeat(44)]) {
      assert.equal(reader.parseId(wrong), undefined);
    }
  });
});
