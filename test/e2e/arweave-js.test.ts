/** arweave-js, unmodified, against the local node: everything an application does with the chain. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import Arweave from 'arweave';
import { arweaveTestAddress, arweaveTestKey } from '../support/keys.ts';
import { checkChain, type RunningLocalArweave, startLocalArweave } from '../support/local-arweave.ts';
import { seededRandom } from '../support/seeded-random.ts';

const AR = 1_000_000_000_000n;
const tenMiB = 10 * 1_024 * 1_024;

describe('arweave-js on the local node', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-arweave-js-'));
  let running: RunningLocalArweave;
  let arweave: Arweave;
  const large = seededRandom(101).bytes(tenMiB);
  const ids: Record<string, string> = {};

  const connect = async () => {
    running = await startLocalArweave({ dataDir });
    const { hostname, port } = new URL(running.client.url);
    arweave = Arweave.init({ host: hostname, port, protocol: 'http' });
  };
  before(async () => {
    await connect();
    await running.client.text(`/mint/${arweaveTestAddress}/${100n * AR}`);
  });
  after(async () => {
    await running.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('sees the network, its head and a wallet', async () => {
    const info = await arweave.network.getInfo();
    assert.equal(info.network, 'arlocal.turnpike.local');
    assert.deepEqual(await arweave.network.getPeers(), []);
    const block = await arweave.blocks.getCurrent();
    assert.equal(block.indep_hash, info.current);
    assert.equal((await arweave.blocks.get(info.current)).height, 0);
    assert.equal(await arweave.wallets.jwkToAddress(arweaveTestKey), arweaveTestAddress);
    assert.equal(await arweave.wallets.getBalance(arweaveTestAddress), String(100n * AR));
    assert.equal(await arweave.wallets.getLastTransactionID(arweaveTestAddress), '');
  });

  it('posts a small transaction inline, follows its status and reads it back', async () => {
    const transaction = await arweave.createTransaction({ data: 'hello, permaweb' }, arweaveTestKey);
    transaction.addTag('Content-Type', 'text/plain');
    await arweave.transactions.sign(transaction, arweaveTestKey);
    assert.ok(await arweave.transactions.verify(transaction));
    assert.equal((await arweave.transactions.post(transaction)).status, 200);
    ids.small = transaction.id;
    assert.deepEqual(await arweave.transactions.getStatus(transaction.id), { status: 202, confirmed: null });
    await running.client.text('/mine/2');
    const { status, confirmed } = await arweave.transactions.getStatus(transaction.id);
    assert.equal(status, 200);
    assert.equal(confirmed?.number_of_confirmations, 2);
    assert.equal(
      await arweave.transactions.getData(transaction.id, { decode: true, string: true }),
      'hello, permaweb',
    );
    const read = await arweave.transactions.get(transaction.id);
    assert.equal(read.id, transaction.id);
    assert.ok(await arweave.transactions.verify(read));
    assert.equal(read.get('data', { decode: true, string: true }), 'hello, permaweb');
    assert.equal(await arweave.wallets.getLastTransactionID(arweaveTestAddress), transaction.id);
  });

  it('uploads 10 MiB in chunks, resumes half-way, and reads every byte back', async () => {
    const transaction = await arweave.createTransaction({ data: new Uint8Array(large) }, arweaveTestKey);
    await arweave.transactions.sign(transaction, arweaveTestKey);
    let uploader = await arweave.transactions.getUploader(transaction);
    assert.equal(uploader.totalChunks, 40);
    while (uploader.uploadedChunks < 15) await uploader.uploadChunk();
    const saved = JSON.parse(JSON.stringify(uploader));
    await running.client.text('/mine');
    uploader = await arweave.transactions.getUploader(saved, new Uint8Array(large));
    while (!uploader.isComplete) {
      await uploader.uploadChunk();
      assert.equal(uploader.lastResponseStatus, 200, uploader.lastResponseError);
    }
    ids.large = transaction.id;
    const { confirmed } = await arweave.transactions.getStatus(transaction.id);
    assert.equal(confirmed?.block_height, 3);
    const data = await arweave.transactions.getData(transaction.id, { decode: true });
    assert.ok(Buffer.from(data).equals(large));
  });

  it('uploads an exact multiple of the chunk size', async () => {
    const data = new Uint8Array(large.subarray(0, 3 * 262_144));
    const transaction = await arweave.createTransaction({ data }, arweaveTestKey);
    await arweave.transactions.sign(transaction, arweaveTestKey);
    for await (const uploader of arweave.transactions.upload(transaction, data)) {
      assert.equal(uploader.lastResponseStatus, 200, uploader.lastResponseError);
    }
    await running.client.text('/mine');
    const back = await arweave.transactions.getData(transaction.id, { decode: true });
    assert.deepEqual(Buffer.from(back), Buffer.from(data));
  });

  it('transfers between wallets, at the price the node quotes', async () => {
    const key = await arweave.wallets.generate();
    const recipient = await arweave.wallets.jwkToAddress(key);
    const before = BigInt(await arweave.wallets.getBalance(arweaveTestAddress));
    const quantity = arweave.ar.arToWinston('2.5');
    const transfer = await arweave.createTransaction({ target: recipient, quantity }, arweaveTestKey);
    await arweave.transactions.sign(transfer, arweaveTestKey);
    assert.equal((await arweave.transactions.post(transfer)).status, 200);
    await running.client.text('/mine');
    assert.equal(await arweave.wallets.getBalance(recipient), quantity);
    const paid = BigInt(quantity) + BigInt(transfer.reward);
    assert.equal(await arweave.wallets.getBalance(arweaveTestAddress), String(before - paid));

    const back = await arweave.createTransaction({ target: arweaveTestAddress, quantity: '1' }, key);
    await arweave.transactions.sign(back, key);
    assert.equal((await arweave.transactions.post(back)).status, 200);
    await running.client.text('/mine');
    assert.equal(
      await arweave.wallets.getBalance(recipient),
      String(BigInt(quantity) - 1n - BigInt(back.reward)),
    );
  });

  it('is told by the node what is wrong', async () => {
    const transaction = await arweave.createTransaction({ data: 'tampered', reward: '1' }, arweaveTestKey);
    await arweave.transactions.sign(transaction, arweaveTestKey);
    const answer = await arweave.transactions.post(transaction);
    assert.equal(answer.status, 400);
    await assert.rejects(arweave.transactions.get(transaction.id), { type: 'TX_FAILED' });
    await assert.rejects(arweave.transactions.get('A'.repeat(43)), { type: 'TX_NOT_FOUND' });
  });

  it('finds everything again after the node was restarted', async () => {
    const before = await running.client.snapshot();
    await running.stop();
    await connect();
    assert.deepEqual(await running.client.snapshot(), before);
    assert.equal(
      await arweave.transactions.getData(ids.small ?? '', { decode: true, string: true }),
      'hello, permaweb',
    );
    const data = await arweave.transactions.getData(ids.large ?? '', { decode: true });
    assert.ok(Buffer.from(data).equals(large));
    await checkChain(running.client, 100n * AR);
  });
});
