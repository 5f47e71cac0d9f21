import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkChain, startLocalArweave, TestWallet } from '../../../test/support/local-arweave.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import type { Transaction } from '../../formats/arweave/transaction.ts';
import { encodeBase64url } from '../../formats/base64url.ts';
import { MINER, MINER_SHARE } from './rules.ts';

/** What the chain must do, written as plainly as can be: balances are the sum of what the blocks say. */
class Model {
  minted = new Map<string, bigint>();
  chain: Transaction[][] = [[]];
  pending: Transaction[] = [];

  balances(addressOf: (transaction: Transaction) => string): Map<string, bigint> {
    const balances = new Map(this.minted);
    const add = (address: string, amount: bigint) =>
      balances.set(address, (balances.get(address) ?? 0n) + amount);
    for (const block of this.chain) {
      for (const transaction of block) {
        add(addressOf(transaction), -transaction.quantity - transaction.reward);
        if (transaction.quantity > 0n) add(encodeBase64url(transaction.target), transaction.quantity);
      }
      add(MINER, block.reduce((sum, transaction) => sum + transaction.reward, 0n) / MINER_SHARE);
    }
    return balances;
  }
}

for (const seed of [1, 2]) {
  test(`random operations keep every balance and lose no money (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    await using running = await startLocalArweave();
    const { client } = running;
    const wallets = Array.from({ length: 4 }, () => new TestWallet());
    const owners = new Map<Transaction, string>();
    const model = new Model();
    const check = async () => {
      const expected = model.balances((transaction) => owners.get(transaction) ?? '');
      for (const address of [...wallets.map((wallet) => wallet.address), MINER]) {
        assert.equal(await client.balance(address), expected.get(address) ?? 0n);
      }
      const ids = model.pending.map((transaction) => encodeBase64url(transaction.id));
      assert.deepEqual(await client.json('/tx/pending'), ids);
      assert.equal(await client.height(), model.chain.length - 1);
    };
    const mine = (count: number) => {
      for (let made = 0; made < count; made += 1) {
        model.chain.push(model.pending);
        model.pending = [];
      }
    };

    // Anchors old enough that no fork below orphans them.
    await client.text('/mine/12');
    mine(12);
    const anchor = await client.text('/tx_anchor');
    for (let round = 0; round < 60; round += 1) {
      const kind = random.below(10);
      const wallet = random.pick(wallets);
      if (kind < 2) {
        const amount = BigInt(random.between(1, 1_000_000)) * 1_000_000n;
        await client.text(`/mint/${wallet.address}/${amount}`);
        model.minted.set(wallet.address, (model.minted.get(wallet.address) ?? 0n) + amount);
      } else if (kind < 7) {
        const other = random.pick(wallets.filter((candidate) => candidate !== wallet));
        const fields =
          random.below(2) === 0
            ? { data: random.bytes(random.between(1, 3_000)) }
            : { target: other.address, quantity: BigInt(random.between(1, 500_000)) * 1_000_000n };
        const transaction = await wallet.transaction(client, { ...fields, anchor });
        const promised = model.pending
          .filter((waiting) => owners.get(waiting) === wallet.address)
          .reduce((sum, waiting) => sum + waiting.quantity + waiting.reward, 0n);
        const balance = model.balances((waiting) => owners.get(waiting) ?? '').get(wallet.address) ?? 0n;
        const affordable = balance - promised >= transaction.quantity + transaction.reward;
        const { status } = await client.postTx(transaction);
        assert.equal(status, affordable ? 200 : 400);
        if (affordable) {
          owners.set(transaction, wallet.address);
          model.pending.push(transaction);
        }
      } else if (kind < 9) {
        const count = random.between(1, 2);
        await client.text(`/mine/${count}`);
        mine(count);
      } else {
        const depth = random.between(1, 3);
        await client.post('/fork', { depth, blocks: depth });
        const returned = model.chain.splice(-depth).flat();
        model.pending = [...returned, ...model.pending];
        for (let made = 0; made < depth; made += 1) model.chain.push([]);
      }
      await check();
    }
    const minted = [...model.minted.values()].reduce((sum, amount) => sum + amount, 0n);
    await checkChain(client, minted);
  });
}
