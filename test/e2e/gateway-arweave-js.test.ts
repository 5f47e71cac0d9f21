/** arweave-js, unmodified, with the gateway as its node. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import Arweave from 'arweave';
import { testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { type LocalStack, send, startLocalStack, text, until } from '../support/local-gateway.ts';

describe('arweave-js against the gateway', () => {
  let stack: LocalStack;
  let arweave: Arweave;
  before(async () => {
    stack = await startLocalStack();
    const { hostname, port } = new URL(stack.gateway.url);
    arweave = Arweave.init({ host: hostname, port: Number(port), protocol: 'http' });
    await text(`${stack.node.url}/mint/${testArweaveKey.address}/1000000000000000`);
    await text(`${stack.node.url}/mine/6`);
  });
  after(() => stack.stop());

  it('posts, uploads chunks, waits, and reads back what it stored', async () => {
    const jwk = testArweaveKey.privateKey.export({ format: 'jwk' });
    assert.ok(jwk.n !== undefined && jwk.e !== undefined);
    const key = { ...jwk, kty: 'RSA', n: jwk.n, e: jwk.e };
    const data = randomBytes(600_000);
    const transaction = await arweave.createTransaction({ data }, key);
    transaction.addTag('Content-Type', 'application/octet-stream');
    transaction.addTag('App-Name', 'arweave-js');
    await arweave.transactions.sign(transaction, key);
    assert.equal(await arweave.transactions.verify(transaction), true);
    const uploader = await arweave.transactions.getUploader(transaction);
    while (!uploader.isComplete) await uploader.uploadChunk();
    assert.equal(uploader.lastResponseStatus, 200);
    assert.equal((await arweave.transactions.getStatus(transaction.id)).status, 202);

    const pending = JSON.parse(
      await send(`${stack.gateway.url}/graphql`, {
        query: `{ transactions(ids: ["${transaction.id}"]) { edges { node { recipient owner { address } quantity { winston } block { id } } } } }`,
      }),
    );
    assert.deepEqual(pending.data.transactions.edges, [
      {
        node: {
          recipient: '',
          owner: { address: testArweaveKey.address },
          quantity: { winston: '0' },
          block: null,
        },
      },
    ]);

    await text(`${stack.node.url}/mine`);
    const { status, confirmed } = await until('it is confirmed', async () => {
      const answer = await arweave.transactions.getStatus(transaction.id);
      return answer.status === 200 && answer;
    });
    assert.equal(status, 200);
    assert.equal(confirmed?.number_of_confirmations, 1);
    const read = await arweave.transactions.get(transaction.id);
    assert.equal(await arweave.transactions.verify(read), true);
    assert.deepEqual(
      read.tags.map((tag) => [
        tag.get('name', { decode: true, string: true }),
        tag.get('value', { decode: true, string: true }),
      ]),
      [
        ['Content-Type', 'application/octet-stream'],
        ['App-Name', 'arweave-js'],
      ],
    );
    const bytes = await arweave.transactions.getData(transaction.id, { decode: true });
    assert.ok(typeof bytes !== 'string');
    assert.deepEqual(Buffer.from(bytes), data);
  });

  it('reads blocks, wallets, prices and the network', async () => {
    const height = Number(await text(`${stack.node.url}/height`));
    const current = await until('the gateway is at the head', async () => {
      const block = await arweave.blocks.getCurrent();
      return block.height === height && block;
    });
    assert.equal((await arweave.blocks.get(current.indep_hash)).height, current.height);
    assert.match(await arweave.wallets.getBalance(testArweaveKey.address), /^[0-9]+$/);
    assert.match(await arweave.transactions.getPrice(1_000), /^[0-9]+$/);
    assert.match(await arweave.transactions.getTransactionAnchor(), /^[A-Za-z0-9_-]{64}$/);
    const info = await arweave.network.getInfo();
    assert.equal(info.height, current.height);
    assert.ok(Array.isArray(await arweave.network.getPeers()));
  });

  it('tells what is missing from what is wrong', async () => {
    await assert.rejects(arweave.transactions.get('A'.repeat(43)), { type: 'TX_NOT_FOUND' });
    const status = await arweave.transactions.getStatus('A'.repeat(43));
    assert.deepEqual([status.status, status.confirmed], [404, null]);
  });
});
