import assert from 'node:assert/strict';
import { it } from 'node:test';
import { at, NamesBench, namesLedgerMigrations, text } from '../../test/support/names-bench.ts';
import { toldWallets } from '../events/testing-wallets.ts';
import { wallet } from '../localnet/solana/testing.ts';
import { forEachEngine } from '../storage/sql/testing.ts';

const credit = 10n ** 12n;
const payer = wallet('payer');
const owner = wallet('name owner');
const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';

forEachEngine((_engine, open) => {
  it('sells, manages, refuses and refunds on this engine', async () => {
    const bench = await NamesBench.start({ sql: await open(namesLedgerMigrations), deliveryTimeoutMs: 200 });
    try {
      await bench.give(payer, 100n * credit);
      const antId = await bench.buy('engine-name', owner, payer);
      const body = { antId, ownerAddress: owner.address, transactionId: target, undername: 'docs' };
      const nonce = '33333333-3333-4333-8333-333333333333';
      const set = await bench.create('set-record', body, payer, { owner, nonce });
      assert.equal(text(set.body, 'status'), 'completed', JSON.stringify(set.body));
      const again = await bench.create('set-record', body, payer, { owner, nonce });
      assert.equal(at(again.body, 'alreadyCompleted'), true);
      const extended = await bench.create('extend-lease', { name: 'engine-name', years: 1 }, payer);
      assert.equal(text(extended.body, 'status'), 'completed');
      const held = await bench.balance(payer);
      const lease = { name: 'never-signed', ownerAddress: owner.address, type: 'lease', years: 1 };
      const [one, two] = await Promise.all([
        bench.create('buy-name', lease, payer),
        bench.create('buy-name', lease, payer),
      ]);
      assert.deepEqual([one.status, two.status], [200, 200]);
      bench.ledger.skip(151);
      await bench.names.reconcile();
      assert.equal(await bench.balance(payer), held);
      const antState = { description: 'd'.repeat(69) };
      const long = { ...lease, name: 'z'.repeat(51), ownerAddress: wallet('no list').address, antState };
      const unsigned = await bench.create('buy-name', long, payer);
      bench.ledger.skip(151);
      await bench.names.reconcile();
      const status = await bench.get(`/arns/actions/${text(unsigned.body, 'nonce')}`);
      assert.equal(await bench.balance(payer), held - BigInt(text(status.body, 'keptWincQty')));
      const first = { ...lease, name: 'owner-first', signOrder: 'owner-first' };
      const late = await bench.create('buy-name', first, payer);
      bench.ledger.skip(151);
      const anew = await bench.sign(late.body, owner);
      assert.equal(text(anew.body, 'status'), 'awaiting-signature', JSON.stringify(anew.body));
      assert.equal(text((await bench.sign(anew.body, owner)).body, 'status'), 'completed');
      assert.ok((await bench.registry.name('owner-first')).record);
      const poor = await bench.create('buy-name', lease, wallet('poor'));
      assert.equal(poor.status, 402);
      const names = await bench.get(`/arns/my-names/${owner.address}`);
      assert.match(JSON.stringify(names.body), /"engine-name"/);
      assert.deepEqual((await bench.credits.selfCheck()).problems, []);
      const told = async (address: string) =>
        (await toldWallets(bench.sql, address))
          .filter(({ type }) => type.startsWith('name.'))
          .map(({ type, data }) => [type, data.action, data.name ?? data.undername]);
      const done = [
        ['name.bought', 'buy-name', 'engine-name'],
        ['name.changed', 'set-record', 'docs'],
        ['name.changed', 'extend-lease', 'engine-name'],
      ];
      const failed = ['name.failed', 'buy-name', 'never-signed'];
      assert.deepEqual(await told(payer.address), [
        ...done,
        failed,
        failed,
        ['name.failed', 'buy-name', long.name],
        ['name.bought', 'buy-name', 'owner-first'],
      ]);
      assert.deepEqual(
        await told(owner.address),
        [done[0], done[1], failed, failed, ['name.bought', 'buy-name', 'owner-first']],
        'others pay for a name',
      );
      const spent = (await toldWallets(bench.sql, payer.address)).filter(({ type }) =>
        type.startsWith('credits.'),
      );
      const sum = spent.reduce(
        (rest, { type, data }) => rest + BigInt(String(data.winc)) * (type === 'credits.spent' ? -1n : 1n),
        0n,
      );
      assert.equal(sum, await bench.balance(payer), 'what was told adds up to the balance');
    } finally {
      await bench.stop();
    }
  });
});
