import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { winc } from '../credits.ts';
import { selfCheck } from './self-check.ts';
import { give, lend, openTestLedger, upload } from './testing.ts';

forEachEngine((_engine, open) => {
  describe('the self-check', () => {
    it('counts what it has looked at', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await give(credits, 'bob', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a');
      await credits.spend(upload('alice', 10n, 'item'));
      await credits.reserve(upload('bob', 30n, 'held', { paidBy: ['alice'] }));
      const { ok, accounts, approvals, spendings, entries } = await credits.selfCheck();
      assert.deepEqual(
        { ok, accounts, approvals, spendings, entries },
        { ok: true, accounts: 2, approvals: 1, spendings: 2, entries: 6 },
      );
    });

    it('reads each sum as of its own last entry, so that it may run beside changes', async () => {
      const { sql, credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a');
      await credits.spend(upload('alice', 10n, 'item'));
      // As a change does that is made between the reading of a row and of its entries.
      const later = (account: string, changeId: string, reason: string) =>
        sql.run(
          'INSERT INTO credits_entries (account, amount, reason, change_id, line, created_at) VALUES (?, ?, ?, ?, 9, 1)',
          account,
          '7',
          reason,
          changeId,
        );
      let isLater = false;
      const all: typeof sql.all = async (text, ...values) => {
        const rows = await sql.all(text, ...values);
        if (!isLater && /FROM credits_accounts/.test(text)) {
          isLater = true;
          await later('alice', 'other', 'crypto_payment');
        }
        return rows as never;
      };
      const { problems } = await selfCheck({ ...sql, engine: sql.engine, get: sql.get.bind(sql), all });
      assert.deepEqual(problems, []);
    });

    it('finds what is below zero without a clawback, and nothing wrong with what was clawed back', async () => {
      const { sql, credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await credits.spend(upload('alice', 100n, 'item'));
      await credits.clawback({
        address: 'alice',
        addressType: 'arweave',
        amount: winc(30n),
        reason: 'chargeback',
        id: 'dispute',
      });
      assert.deepEqual((await credits.selfCheck()).problems, []);
      await give(credits, 'bob', 1n);
      await sql.run("UPDATE credits_accounts SET balance = '-5' WHERE address = 'bob'");
      await sql.run("UPDATE credits_entries SET amount = '-5' WHERE account = 'bob'");
      assert.deepEqual((await credits.selfCheck()).problems, ['bob is below zero without a clawback']);
    });

    it('finds a form of a wallet that has winc of its own or leads to another form', async () => {
      const { sql, credits } = await openTestLedger(open);
      for (const address of ['alice', 'form', 'further']) await give(credits, address, 1n);
      const empty = async (address: string) => {
        await sql.run("UPDATE credits_accounts SET balance = '0' WHERE address = ?", address);
        await sql.run("UPDATE credits_entries SET amount = '0' WHERE account = ?", address);
      };
      await sql.run("UPDATE credits_accounts SET same_as = 'alice' WHERE address = 'form'");
      assert.deepEqual((await credits.selfCheck()).problems, [
        'form is another form of alice, which is its account, and has 1 winc',
      ]);
      await empty('form');
      assert.deepEqual((await credits.selfCheck()).problems, []);
      await empty('further');
      await sql.run("UPDATE credits_accounts SET same_as = 'form' WHERE address = 'further'");
      assert.deepEqual((await credits.selfCheck()).problems, [
        'further is another form of form, which is alice, and has 0 winc',
      ]);
      assert.equal((await credits.selfCheck()).accounts, 1);
    });

    it('finds approvals that were used beyond their amount, or less than not at all', async () => {
      const { sql, credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a');
      for (const [used, rest] of [
        ['41', -1],
        ['-1', 41],
      ] as const) {
        await sql.run('UPDATE credits_approvals SET used = ?', used);
        assert.deepEqual((await credits.selfCheck()).problems, [
          `approval a holds ${rest} winc but its entries sum to 40`,
          `approval a has used ${used} of 40`,
        ]);
      }
    });

    it('says no more than a hundred sentences', async () => {
      const { sql, credits } = await openTestLedger(open);
      const rows = Array.from({ length: 101 }, (_, n) => `('wallet ${n}', 'arweave', '2', 1)`);
      await sql.run(
        `INSERT INTO credits_accounts (address, address_type, balance, created_at) VALUES ${rows.join(', ')}`,
      );
      const { problems, drift } = await credits.selfCheck();
      assert.deepEqual([problems.length, drift], [100, 202n]);
    });
  });
});
