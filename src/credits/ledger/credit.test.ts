import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { ChangeConflict, InsufficientCredits, winc } from '../credits.ts';
import { assertSound, give, lend, openTestLedger, owned, upload } from './testing.ts';

forEachEngine((_engine, open) => {
  describe('crediting', () => {
    it('moves the balance once per id', async () => {
      const { credits } = await openTestLedger(open);
      assert.deepEqual(await give(credits, 'alice', 100n, 'tx1'), { applied: true, balance: 100n });
      assert.deepEqual(await give(credits, 'alice', 100n, 'tx1'), { applied: false, balance: 100n });
      assert.deepEqual(await give(credits, 'alice', 5n, 'tx2'), { applied: true, balance: 105n });
      await assertSound(credits);
    });

    it('refuses an id that was used for another wallet or amount, and changes nothing', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n, 'tx1');
      await assert.rejects(give(credits, 'bob', 100n, 'tx1'), ChangeConflict);
      await assert.rejects(give(credits, 'alice', 99n, 'tx1'), ChangeConflict);
      assert.equal(await owned(credits, 'alice'), 100n);
      assert.equal(await credits.balance('bob'), undefined);
    });

    it('refuses amounts below 1', async () => {
      const { credits } = await openTestLedger(open);
      await assert.rejects(give(credits, 'alice', 0n), RangeError);
      await assert.rejects(give(credits, 'alice', -1n), RangeError);
      assert.equal(await credits.balance('alice'), undefined);
    });

    it('keeps amounts beyond 64 bits exact', async () => {
      const { credits } = await openTestLedger(open);
      const large = 10n ** 36n - 7n;
      await give(credits, 'whale', large);
      await credits.spend(upload('whale', 1n, 'item'));
      assert.equal(await owned(credits, 'whale'), large - 1n);
      await assertSound(credits);
    });

    it('goes back with the transaction around it', async () => {
      const { sql, credits } = await openTestLedger(open);
      await assert.rejects(
        sql.transaction(async (tx) => {
          const change = credits.within(tx);
          await change.credit({
            address: 'alice',
            addressType: 'arweave',
            amount: winc(5n),
            reason: 'payment',
            id: 'r1',
          });
          await change.spend(upload('alice', 3n, 'item'));
          throw new Error('the item could not be stored');
        }),
        /could not be stored/,
      );
      assert.equal(await credits.balance('alice'), undefined);
      assert.equal(await credits.spending('upload', 'item'), undefined);
      await assertSound(credits);
    });
  });

  describe('clawing back', () => {
    it('takes what was given even when it is spent, once', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await credits.spend(upload('alice', 80n, 'item'));
      const request = {
        address: 'alice',
        addressType: 'arweave',
        amount: winc(100n),
        reason: 'chargeback',
        id: 'dispute',
      } as const;
      assert.deepEqual(await credits.clawback(request), { applied: true, balance: -80n });
      assert.deepEqual(await credits.clawback(request), { applied: false, balance: -80n });
      await assert.rejects(credits.spend(upload('alice', 1n, 'item2')), InsufficientCredits);
      const balance = await credits.balance('alice');
      assert.equal(balance?.winc, -80n);
      assert.equal(balance?.effectiveBalance, 0n);
      await assertSound(credits);
    });

    it('lets a wallet in debt still use what others lend it', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'bob', 50n);
      await lend(credits, 'bob', 'alice', 50n, 'approval');
      await credits.clawback({
        address: 'alice',
        addressType: 'arweave',
        amount: winc(9n),
        reason: 'chargeback',
        id: 'd',
      });
      await credits.spend(upload('alice', 20n, 'item', { paidBy: ['alice', 'bob'] }));
      assert.equal((await credits.balance('alice'))?.effectiveBalance, 30n);
      await assertSound(credits);
    });
  });
});
