import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkChain, startLocalArweave, TestWallet } from '../../../test/support/local-arweave.ts';
import { encodeBase64url } from '../../formats/base64url.ts';

const AR = 1_000_000_000_000n;

describe('forks on demand', () => {
  it('replaces blocks, returns their transactions and money, and mines them again elsewhere', async () => {
    await using running = await startLocalArweave();
    const { client } = running;
    const [alice, bob] = [new TestWallet(), new TestWallet()];
    await client.text(`/mint/${alice.address}/${10n * AR}`);
    await client.text('/mine/6');
    const before = await client.json<string[]>('/hash_list');

    const pay = await alice.transaction(client, { target: bob.address, quantity: 5n * AR });
    assert.equal((await client.postTx(pay)).status, 200);
    await client.text('/mine');
    const data = Buffer.from('spent by bob from what alice paid');
    const spend = await bob.transaction(client, { data });
    assert.equal((await client.postTx(spend)).status, 200);
    await client.text('/mine');
    const [payId, spendId] = [encodeBase64url(pay.id), encodeBase64url(spend.id)];
    const replaced = (await client.json<string[]>('/hash_list')).slice(0, 2);

    // What the node remembers of where they are does not outlive their blocks.
    assert.equal((await client.get(`/tx/${spendId}/offset`)).status, 200);
    assert.equal((await client.get(`/tx/${payId}/status`)).status, 200);

    const answer = await client.post('/fork', { depth: 2 });
    assert.equal(answer.status, 200);
    const fork = JSON.parse(answer.text);
    assert.deepEqual(fork.orphaned, replaced);
    assert.deepEqual(fork.returned, [payId, spendId]);
    assert.equal(fork.height, 9);
    assert.deepEqual(await client.json('/tx/pending'), [payId, spendId]);
    assert.equal(await client.balance(bob.address), 0n);
    assert.equal(await client.balance(alice.address), 10n * AR);
    assert.equal(await client.text(`/wallet/${alice.address}/last_tx`), '');
    assert.equal((await client.get(`/tx/${payId}`)).status, 202);
    assert.equal((await client.get(`/tx/${payId}/status`)).status, 202);
    assert.equal((await client.get(`/tx/${spendId}/offset`)).status, 404);
    const now = await client.json<string[]>('/hash_list');
    assert.deepEqual(now.slice(3), before);
    for (const hash of replaced) {
      assert.ok(!now.includes(hash));
      assert.equal((await client.get(`/block/hash/${hash}`)).status, 200, 'orphans can be asked for by hash');
    }
    await checkChain(client, 10n * AR);

    await client.text('/mine');
    assert.equal((await client.get(`/tx/${spendId}`)).status, 200);
    assert.equal(await client.text(`/${spendId}`), data.toString());
    assert.equal(await client.text(`/wallet/${bob.address}/last_tx`), spendId);
    const mined = await client.json<{ block_height: number }>(`/tx/${payId}/status`);
    assert.equal(mined.block_height, 10);
    await checkChain(client, 10n * AR);
  });

  it('keeps what was minted meanwhile and drops what names an orphan as its anchor', async () => {
    await using running = await startLocalArweave();
    const { client } = running;
    const alice = new TestWallet();
    await client.text(`/mint/${alice.address}/${AR}`);
    await client.text('/mine/3');
    const anchor = await client.json<{ indep_hash: string }>('/block/current');
    const anchored = await alice.transaction(client, { anchor: anchor.indep_hash });
    await client.postTx(anchored);
    await client.text('/mine');
    await client.text(`/mint/${alice.address}/7`);
    assert.equal((await client.post('/fork', { depth: 3, blocks: 1 })).status, 200);
    assert.equal(await client.height(), 2);
    assert.equal(await client.balance(alice.address), AR + 7n);
    await client.text('/mine');
    assert.equal((await client.get(`/tx/${encodeBase64url(anchored.id)}`)).status, 404);
    assert.deepEqual(await client.json('/tx/pending'), []);
    await checkChain(client, AR + 7n);
  });

  it('refuses to replace the first block', async () => {
    await using running = await startLocalArweave();
    const { client } = running;
    await client.text('/mine/2');
    const before = await client.snapshot();
    assert.equal((await client.post('/fork', { depth: 3 })).status, 400);
    assert.deepEqual(await client.snapshot(), before);
    assert.equal((await client.post('/fork', { depth: 2 })).status, 200);
    assert.equal(await client.height(), 3);
  });
});
