import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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

  it('reads from a header whom it pays and names, and nothing from one that does not say', async (t) => {
    const id = `${'t'.repeat(42)}A`;
    const tag = (name: unknown, value: unknown) => ({ name, value });
    const text = (words: string) => Buffer.from(words).toString('base64url');
    const named = tag(text('Turbo-Credit-Destination-Address'), text(destination));
    const whole = { id, owner: text('key'), target: service, quantity: '5', tags: [named] };
    let header: unknown = whole;
    const server = createServer((request, response) => {
      const isStatus = request.url?.endsWith('/status');
      const status = { block_height: 7, block_indep_hash: 'b', number_of_confirmations: 3 };
      response.end(JSON.stringify(isStatus ? status : header));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const reader = arweaveReader([`http://127.0.0.1:${(server.address() as AddressInfo).port}`], 1);
    t.after(async () => {
      await reader.close?.();
      server.closeAllConnections();
      server.close();
    });
    const namedBy = async (tags: unknown) => {
      header = { ...whole, tags };
      const found = await reader.read(id);
      assert.ok('transfer' in found);
      assert.deepEqual([found.transfer.recipient, found.transfer.quantity], [service, 5n]);
      return found.transfer.destination;
    };
    assert.equal(await namedBy([named]), destination);
    assert.equal(await namedBy([null, tag(named.name, 5), tag(5, named.value), named]), destination);
    assert.equal(await namedBy([tag(text('Other'), text('a')), named]), destination);
    assert.equal(await namedBy([tag(text('Other'), named.value)]), undefined);
    assert.equal(await namedBy('none'), undefined);
    assert.equal(await namedBy(null), undefined);
    for (const broken of [
      { id: `${'u'.repeat(42)}A` },
      { owner: '' },
      { owner: '!' },
      { owner: undefined },
      { quantity: '-5' },
      { target: undefined },
    ]) {
      header = { ...whole, ...broken };
      await assert.rejects(reader.read(id), /the node answered/, JSON.stringify(broken));
    }
  });

  it('takes only ids that can be one', () => {
    const reader = arweaveReader([], 1);
    for (const wrong of ['', 'short', `${'u'.repeat(42)}/`, 'u'.repeat(44)]) {
      assert.equal(reader.parseId(wrong), undefined);
    }
  });
});
