import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { winc } from '../credits.ts';
import { assertSound, give, lend, openTestLedger, upload } from './testing.ts';

forEachEngine((_engine, open) => {
  describe('history', () => {
    it('sums what payments brought, and reads again only what is new', async () => {
      const { credits, clock } = await openTestLedger(open);
      const pay = (id: string, amount: bigint) =>
        credits.credit({
          address: 'alice',
          addressType: 'arweave',
          amount: winc(amount),
          reason: 'crypto_payment',
          id,
          payment: {
            type: 'crypto',
            tokenType: 'arweave',
            tokenQuantity: '1',
            usdEquivalent: '0',
            senderAddress: 'alice',
            transactionId: id,
          },
        });
      assert.equal(await credits.sold(), 0n);
      await pay('first', 10n ** 20n);
      await credits.spend(upload('alice', 5n, 'item'));
      assert.equal(await credits.sold(), 10n ** 20n);
      clock.now += 3_600_000;
      assert.equal(await credits.sold(), 10n ** 20n);
      await pay('second', 7n);
      assert.equal(await credits.sold(), 10n ** 20n + 7n);
    });

    it('lists payments newest first in pages', async () => {
      const { credits, clock } = await openTestLedger(open);
      for (let index = 1; index <= 5; index += 1) {
        clock.now += 1_000;
        await credits.credit({
          address: 'alice',
          addressType: 'arweave',
          amount: winc(BigInt(index)),
          reason: 'crypto_payment',
          id: `tx${index}`,
          payment: {
            type: 'crypto',
            tokenType: 'arweave',
            tokenQuantity: '1',
            usdEquivalent: '0',
            senderAddress: 'alice',
            transactionId: `tx${index}`,
          },
        });
      }
      await credits.spend(upload('alice', 1n, 'item'));
      const first = await credits.payments('alice', { limit: 3 });
      assert.deepEqual(
        first.items.map(({ wincCredited }) => wincCredited),
        ['5', '4', '3'],
      );
      assert.ok(first.next !== undefined);
      const second = await credits.payments('alice', { limit: 3, before: first.next });
      assert.deepEqual(
        second.items.map(({ wincCredited }) => wincCredited),
        ['2', '1'],
      );
      assert.equal(second.next, undefined);
      const entries = await credits.entries('alice', { limit: 2 });
      assert.deepEqual(
        entries.items.map(({ amount, reason, changeId }) => [amount, reason, changeId]),
        [
          [-1n, 'upload', 'item'],
          [5n, 'crypto_payment', 'tx5'],
        ],
      );
    });
  });

  describe('the self-check', () => {
    it('finds a balance, an approval or a spending that its entries do not support', async () => {
      const { sql, credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a');
      await credits.spend(upload('alice', 10n, 'item'));
      await assertSound(credits);
      await sql.run("UPDATE credits_accounts SET balance = '51' WHERE address = 'alice'");
      await sql.run("UPDATE credits_approvals SET used = '1' WHERE id = 'a'");
      await sql.run("UPDATE credits_spendings SET state = 'refunded' WHERE id = 'item'");
      await sql.run(
        "INSERT INTO credits_entries (account, amount, reason, change_id, line, created_at) VALUES ('ghost', '3', 'payment', 'x', 0, 1)",
      );
      const report = await credits.selfCheck();
      assert.equal(report.ok, false);
      assert.equal(report.drift, 1n - 1n - 3n);
      assert.deepEqual(report.problems, [
        'alice has 51 winc but its entries sum to 50',
        'approval a holds 39 winc but its entries sum to 40',
        'upload item is refunded with 0 winc but its entries took 10',
        'ghost has entries but no account',
      ]);
    });

    it('finds approvals whose state and rest contradict each other, although every sum is right', async () => {
      const { sql, credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a');
      await credits.spend(upload('bob', 40n, 'item', { paidBy: ['alice'] }));
      await lend(credits, 'alice', 'carol', 30n, 'b');
      await credits.revoke({ id: 'r', payer: 'alice', approved: 'carol' });
      await assertSound(credits);
      await sql.run("UPDATE credits_approvals SET status = 'active' WHERE id = 'a'");
      await sql.run("UPDATE credits_approvals SET status = 'used' WHERE id = 'b'");
      const { ok, drift, problems } = await credits.selfCheck();
      assert.deepEqual(
        { ok, drift, problems },
        {
          ok: false,
          drift: 0n,
          problems: ['approval a is active with 0 winc left', 'approval b is used with 30 winc left'],
        },
      );
    });
  });
});
