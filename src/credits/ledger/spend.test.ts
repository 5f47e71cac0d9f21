import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { ChangeConflict, InsufficientCredits, SpendingNotFound, winc } from '../credits.ts';
import { assertSound, give, openTestLedger, owned, upload } from './testing.ts';

forEachEngine((_engine, open) => {
  describe('spending', () => {
    it('takes from the signer once per id and refuses what is not covered', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      const spent = await credits.spend(upload('alice', 60n, 'item'));
      assert.deepEqual(
        { state: spent.state, amount: spent.amount, split: spent.split, applied: spent.applied },
        { state: 'settled', amount: 60n, split: [{ payer: 'alice', amount: 60n }], applied: true },
      );
      assert.equal((await credits.spend(upload('alice', 60n, 'item'))).applied, false);
      await assert.rejects(credits.spend(upload('alice', 41n, 'item2')), InsufficientCredits);
      await assert.rejects(credits.spend(upload('nobody', 1n, 'item3')), InsufficientCredits);
      assert.equal(await owned(credits, 'alice'), 40n);
      assert.equal(await credits.spending('upload', 'item2'), undefined);
      await assertSound(credits);
    });

    it('refuses an id that another wallet spent', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await give(credits, 'bob', 100n);
      await credits.spend(upload('alice', 60n, 'item'));
      await assert.rejects(credits.spend(upload('bob', 60n, 'item')), ChangeConflict);
      assert.equal(await owned(credits, 'bob'), 100n);
    });

    it('answers a repeat also when the balance would no longer cover it', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 60n);
      await credits.reserve(upload('alice', 60n, 'item'));
      const again = await credits.reserve(upload('alice', 60n, 'item'));
      assert.deepEqual([again.state, again.amount, again.applied], ['reserved', 60n, false]);
    });

    it('records what costs nothing, also for a wallet without an account', async () => {
      const { credits } = await openTestLedger(open);
      const free = await credits.spend(upload('newcomer', 0n, 'item'));
      assert.deepEqual([free.amount, free.split.length, free.applied], [0n, 0, true]);
      assert.equal((await credits.spend(upload('newcomer', 0n, 'item'))).applied, false);
      await assertSound(credits);
    });

    it('holds a reservation until it is settled, and gives the rest back', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await credits.reserve(upload('alice', 70n, 'item'));
      assert.equal(await owned(credits, 'alice'), 30n);
      const settled = await credits.settle('upload', 'item', winc(50n));
      assert.deepEqual([settled.state, settled.amount, settled.applied], ['settled', 50n, true]);
      assert.equal(await owned(credits, 'alice'), 50n);
      assert.equal((await credits.settle('upload', 'item', winc(50n))).applied, false);
      assert.equal((await credits.settle('upload', 'item')).applied, false);
      await assert.rejects(credits.settle('upload', 'item', winc(40n)), ChangeConflict);
      assert.equal(await owned(credits, 'alice'), 50n);
      await assertSound(credits);
    });

    it('settles no more than was reserved and nothing that is not there', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await credits.reserve(upload('alice', 70n, 'item'));
      await assert.rejects(credits.settle('upload', 'item', winc(71n)), ChangeConflict);
      await assert.rejects(credits.settle('upload', 'other'), SpendingNotFound);
      await assert.rejects(credits.settle('arns_action', 'item'), SpendingNotFound);
      await assertSound(credits);
    });

    it('refunds once, and lets the id be spent again', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await credits.spend(upload('alice', 60n, 'item'));
      assert.equal((await credits.refund('upload', 'item'))?.state, 'refunded');
      assert.equal(await credits.refund('upload', 'item'), undefined);
      assert.equal(await credits.refund('upload', 'unknown'), undefined);
      assert.equal(await owned(credits, 'alice'), 100n);
      await assert.rejects(credits.settle('upload', 'item'), ChangeConflict);
      await assert.rejects(credits.spend(upload('alice', 101n, 'item')), InsufficientCredits);
      assert.equal((await credits.spending('upload', 'item'))?.state, 'refunded');
      assert.equal((await credits.spend(upload('alice', 10n, 'item'))).applied, true);
      assert.equal(await owned(credits, 'alice'), 90n);
      await credits.refund('upload', 'item');
      assert.equal(await owned(credits, 'alice'), 100n);
      await assertSound(credits);
    });

    it('refunds after a partial settlement only what was kept', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await credits.reserve(upload('alice', 70n, 'item'));
      await credits.settle('upload', 'item', winc(20n));
      assert.equal((await credits.refund('upload', 'item'))?.amount, 20n);
      assert.equal(await owned(credits, 'alice'), 100n);
      await assertSound(credits);
    });

    it('never overdraws under 200 concurrent spendings of one balance', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 1_000n);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 200 }, (_, index) => credits.spend(upload('alice', 13n, `item${index}`))),
      );
      const paid = outcomes.filter(({ status }) => status === 'fulfilled').length;
      assert.equal(paid, 76);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof InsufficientCredits);
      }
      assert.equal(await owned(credits, 'alice'), 1_000n - 76n * 13n);
      await assertSound(credits);
    });

    it('makes one spending of 50 concurrent ones with the same id', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 1_000n);
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () => credits.spend(upload('alice', 13n, 'item'))),
      );
      assert.equal(outcomes.filter(({ applied }) => applied).length, 1);
      assert.equal(await owned(credits, 'alice'), 987n);
    });
  });
});
