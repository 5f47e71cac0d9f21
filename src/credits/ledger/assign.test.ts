import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { ChangeConflict, type Credits, InsufficientCredits, SpendingNotFound, winc } from '../credits.ts';
import { setBalance } from './accounts.ts';
import { endSpending, readSpending, restartSpending } from './spendings.ts';
import { assertSound, give, lend, openTestLedger, owned, upload } from './testing.ts';

const pay = (credits: Credits, address: string, amount: bigint, reserved: bigint, id = 'payment') =>
  credits.credit({
    address,
    addressType: 'ethereum',
    amount: winc(amount),
    reason: 'x402_payment',
    id,
    reserve: { reason: 'upload', id, amount: winc(reserved) },
  });

const clawBack = (credits: Credits, address: string, amount: bigint) =>
  credits.clawback({
    address,
    addressType: 'ethereum',
    amount: winc(amount),
    reason: 'chargeback',
    id: 'dispute',
  });

forEachEngine((_engine, open) => {
  describe('a credit that reserves', () => {
    it('gives what is left of it, once', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 7n);
      assert.deepEqual(await pay(credits, 'alice', 100n, 60n), { applied: true, balance: 47n });
      assert.deepEqual(await pay(credits, 'alice', 100n, 60n), { applied: false, balance: 47n });
      const { state, amount, split } = (await credits.spending('upload', 'payment')) ?? {};
      assert.deepEqual(
        { state, amount, split },
        { state: 'reserved', amount: 60n, split: [{ payer: 'alice', amount: 60n }] },
      );
      await assert.rejects(credits.spend(upload('alice', 48n, 'other')), InsufficientCredits);
      await assertSound(credits);
    });

    it('reserves no more than it gives, and nothing twice under one id', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 50n);
      await assert.rejects(pay(credits, 'alice', 10n, 11n), RangeError);
      await assert.rejects(pay(credits, 'alice', 10n, 0n), RangeError);
      await credits.reserve(upload('alice', 5n, 'payment'));
      await assert.rejects(pay(credits, 'alice', 10n, 10n), ChangeConflict);
      assert.equal(await owned(credits, 'alice'), 45n);
      await assertSound(credits);
    });

    it('leaves the debt of a wallet that owes as it was', async () => {
      const { credits } = await openTestLedger(open);
      await clawBack(credits, 'alice', 30n);
      assert.equal((await pay(credits, 'alice', 100n, 90n)).balance, -20n);
      const spent = await credits.assign('upload', 'payment', 'item', winc(80n));
      assert.deepEqual([spent.state, spent.amount, spent.signer], ['settled', 80n, 'alice']);
      assert.equal(await owned(credits, 'alice'), -10n);
      await assertSound(credits);
    });
  });

  describe('a reservation', () => {
    it('becomes the spending of another id, and what is not kept goes back', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 7n);
      await pay(credits, 'alice', 100n, 60n);
      await credits.assign('upload', 'payment', 'item', winc(45n));
      assert.equal(await owned(credits, 'alice'), 62n);
      await assert.rejects(credits.assign('upload', 'payment', 'item', winc(45n)), ChangeConflict);
      await assert.rejects(credits.assign('upload', 'payment', 'another', winc(1n)), ChangeConflict);
      assert.equal(await credits.refund('upload', 'payment'), undefined, 'it cannot come back as well');
      assert.equal((await credits.refund('upload', 'item'))?.amount, 45n);
      assert.equal(await owned(credits, 'alice'), 107n);
      await assertSound(credits);
    });

    it('is given back once when nothing came of it', async () => {
      const { credits } = await openTestLedger(open);
      await pay(credits, 'alice', 100n, 60n);
      const refunds = await Promise.all([1, 2, 3].map(() => credits.refund('upload', 'payment')));
      assert.equal(refunds.filter((refund) => refund !== undefined).length, 1);
      await assert.rejects(credits.assign('upload', 'payment', 'item', winc(1n)), ChangeConflict);
      assert.equal(await owned(credits, 'alice'), 100n);
      await assertSound(credits);
    });

    it('is not handed to what is paid for, is not there, costs more, or was lent', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'bob', 100n);
      await credits.spend(upload('bob', 10n, 'item'));
      await pay(credits, 'alice', 100n, 60n);
      await lend(credits, 'bob', 'carol', 50n, 'approval');
      await credits.reserve(upload('carol', 20n, 'lent', { paidBy: ['bob'] }));
      await assert.rejects(credits.assign('upload', 'payment', 'item', winc(10n)), ChangeConflict);
      await assert.rejects(credits.assign('upload', 'payment', 'new', winc(61n)), ChangeConflict);
      await assert.rejects(credits.assign('upload', 'nothing', 'new', winc(1n)), SpendingNotFound);
      await assert.rejects(credits.assign('upload', 'lent', 'new', winc(1n)), ChangeConflict);
      assert.equal(await credits.spending('upload', 'new'), undefined);
      assert.deepEqual([await owned(credits, 'alice'), await owned(credits, 'bob')], [40n, 40n]);
      await assertSound(credits);
    });

    it('pays for an item that was refunded before', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'bob', 10n);
      await credits.spend(upload('bob', 10n, 'item'));
      await credits.refund('upload', 'item');
      await pay(credits, 'alice', 100n, 60n);
      await credits.assign('upload', 'payment', 'item', winc(60n));
      assert.equal((await credits.spending('upload', 'item'))?.signer, 'alice');
      assert.deepEqual([await owned(credits, 'alice'), await owned(credits, 'bob')], [40n, 10n]);
      await assertSound(credits);
    });
  });

  describe('an update that finds no row', () => {
    it('fails the change it belongs to', async () => {
      const { sql, credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await credits.reserve(upload('alice', 60n, 'item'));
      const row = await readSpending(sql, 'upload', 'item');
      assert.ok(row !== undefined);
      const inTransaction = (work: (tx: Parameters<typeof setBalance>[0]) => Promise<void>) =>
        assert.rejects(
          sql.transaction(async (tx) => {
            await setBalance(tx, 'alice', 1n);
            await work(tx);
          }),
          /one row was to be changed, and 0 were/,
        );
      await inTransaction((tx) => setBalance(tx, 'nobody', 5n));
      await inTransaction((tx) => endSpending(tx, { ...row, id: 'gone' }, 'settled', 60n, null, 1));
      await inTransaction((tx) => endSpending(tx, { ...row, attempt: 2 }, 'refunded', 60n, null, 1));
      await inTransaction((tx) => restartSpending(tx, { ...row, attempt: 2 }, undefined, 1));
      assert.equal(await owned(credits, 'alice'), 40n);
      await assertSound(credits);
    });
  });
});
