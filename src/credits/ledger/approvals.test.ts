import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import {
  ApprovalConflict,
  InsufficientCredits,
  InvalidApproval,
  NothingToRevoke,
  UnknownWallet,
  winc,
} from '../credits.ts';
import { assertSound, give, lend, openTestLedger, owned, upload } from './testing.ts';

forEachEngine((_engine, open) => {
  describe('sharing credits', () => {
    it('moves the amount out of the balance at once and shows both sides', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      const approval = await lend(credits, 'alice', 'bob', 30n, 'a1', 3_600);
      assert.deepEqual(approval, {
        approvalDataItemId: 'a1',
        approvedAddress: 'bob',
        payingAddress: 'alice',
        approvedWincAmount: '30',
        usedWincAmount: '0',
        creationDate: '2026-01-01T00:00:00.000Z',
        expirationDate: '2026-01-01T01:00:00.000Z',
      });
      const payer = await credits.balance('alice');
      assert.deepEqual(
        [payer?.winc, payer?.controlledWinc, payer?.effectiveBalance, payer?.givenApprovals.length],
        [70n, 100n, 70n, 1],
      );
      const approved = await credits.balance('bob');
      assert.deepEqual([approved?.winc, approved?.controlledWinc, approved?.effectiveBalance], [0n, 0n, 30n]);
      assert.deepEqual(approved?.receivedApprovals, [approval]);
      await assertSound(credits);
    });

    it('refuses bad approvals and changes nothing', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 30n, 'a1');
      await assert.rejects(lend(credits, 'alice', 'bob', 30n, 'a1'), ApprovalConflict);
      await assert.rejects(lend(credits, 'alice', 'bob', 71n, 'a2'), InsufficientCredits);
      await assert.rejects(lend(credits, 'nobody', 'bob', 1n, 'a3'), UnknownWallet);
      await assert.rejects(lend(credits, 'alice', 'bob', 0n, 'a4'), InvalidApproval);
      await assert.rejects(lend(credits, 'alice', 'bob', -5n, 'a5'), InvalidApproval);
      await assert.rejects(lend(credits, 'alice', 'alice', 5n, 'a6'), InvalidApproval);
      await assert.rejects(lend(credits, 'alice', 'bob', 5n, 'a7', 0), InvalidApproval);
      assert.equal(await owned(credits, 'alice'), 70n);
      assert.equal((await credits.approvals('alice', 'bob')).length, 1);
      await assertSound(credits);
    });

    it('calls back what a wallet lent when its payment is taken back, the newest first, as far as it owes', async () => {
      const { credits, clock } = await openTestLedger(open);
      await give(credits, 'thief', 100n);
      for (const [id, amount] of [
        ['first', 40n],
        ['second', 30n],
        ['third', 20n],
      ] as const) {
        await lend(credits, 'thief', 'friend', amount, id);
        clock.now += 1;
      }
      await credits.spend(upload('friend', 25n, 'item', { paidBy: ['thief'] }));
      const back = { address: 'thief', addressType: 'arweave', reason: 'chargeback', id: 'dispute' } as const;
      const taken = await credits.clawback({ ...back, amount: winc(50n) });
      assert.deepEqual(taken, { applied: true, balance: 10n });
      assert.deepEqual(await credits.clawback({ ...back, amount: winc(50n) }), {
        applied: false,
        balance: 10n,
      });
      const left = await credits.approvals('thief', 'friend');
      assert.deepEqual(
        left.map(({ approvalDataItemId, usedWincAmount }) => [approvalDataItemId, usedWincAmount]),
        [['first', '25']],
      );
      assert.equal((await credits.balance('friend'))?.effectiveBalance, 15n);

      await credits.clawback({ ...back, id: 'dispute 2', amount: winc(50n) });
      assert.equal(await owned(credits, 'thief'), -25n);
      assert.deepEqual(await credits.approvals('thief', 'friend'), []);
      await assert.rejects(
        credits.spend(upload('friend', 1n, 'item 2', { paidBy: ['thief'] })),
        InsufficientCredits,
      );
      await assertSound(credits);
    });

    it('gives a refund to a payer who owes and not to the approval he gave', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'thief', 100n);
      await lend(credits, 'thief', 'friend', 100n, 'all');
      await credits.reserve(upload('friend', 100n, 'item', { paidBy: ['thief'] }));
      const back = { address: 'thief', addressType: 'arweave', reason: 'chargeback', id: 'dispute' } as const;
      await credits.clawback({ ...back, amount: winc(100n) });
      await credits.refund('upload', 'item');
      assert.equal(await owned(credits, 'thief'), 0n);
      assert.deepEqual(await credits.approvals('thief', 'friend'), []);
      assert.equal(await credits.preview(upload('friend', 1n, 'next', { paidBy: ['thief'] })), undefined);
      await assertSound(credits);
    });

    it('spends the listed payers in order, soonest expiry first, then the signer', async () => {
      const { credits, clock } = await openTestLedger(open);
      for (const wallet of ['alice', 'carol', 'bob']) await give(credits, wallet, 100n);
      await lend(credits, 'alice', 'bob', 10n, 'open');
      clock.now += 1;
      await lend(credits, 'alice', 'bob', 10n, 'late', 7_200);
      await lend(credits, 'alice', 'bob', 10n, 'soon', 3_600);
      await lend(credits, 'carol', 'bob', 5n, 'carols');
      const request = upload('bob', 50n, 'item', { paidBy: ['dave', 'alice', 'carol', 'alice'] });
      const spent = await credits.spend(request);
      assert.deepEqual(
        spent.split.map(({ payer, amount, approvalId }) => [payer, amount, approvalId]),
        [
          ['alice', 10n, 'soon'],
          ['alice', 10n, 'late'],
          ['alice', 10n, 'open'],
          ['carol', 5n, 'carols'],
          ['bob', 15n, undefined],
        ],
      );
      assert.equal(await owned(credits, 'bob'), 85n);
      assert.equal((await credits.approvals('alice', 'bob')).length, 0);
      await assertSound(credits);
    });

    it('uses no approval that was not asked for, and not the signer when only the list may pay', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await give(credits, 'bob', 10n);
      await lend(credits, 'alice', 'bob', 50n, 'a');
      await assert.rejects(credits.spend(upload('bob', 20n, 'i1')), InsufficientCredits);
      const only = { paidBy: ['alice'], directive: 'list-only' } as const;
      await assert.rejects(credits.spend(upload('bob', 55n, 'i2', only)), InsufficientCredits);
      await credits.spend(upload('bob', 55n, 'i3', { paidBy: ['alice'] }));
      assert.equal(await owned(credits, 'bob'), 5n);
      await assertSound(credits);
    });

    it('takes a listed signer at his place and not a second time', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await give(credits, 'bob', 10n);
      await lend(credits, 'alice', 'bob', 20n, 'a');
      const spent = await credits.spend(upload('bob', 15n, 'i1', { paidBy: ['bob', 'alice'] }));
      assert.deepEqual(
        spent.split.map(({ payer, amount }) => [payer, amount]),
        [
          ['bob', 10n],
          ['alice', 5n],
        ],
      );
      await assert.rejects(
        credits.spend(upload('bob', 16n, 'i2', { paidBy: ['bob', 'alice'] })),
        InsufficientCredits,
      );
      assert.equal((await credits.approvals('alice', 'bob'))[0]?.usedWincAmount, '5');
    });

    it('gives a refund back to the approval, reviving one that was used up', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 20n, 'a');
      await credits.spend(upload('bob', 20n, 'item', { paidBy: ['alice'] }));
      assert.deepEqual(await credits.approvals('alice', 'bob'), []);
      await assertSound(credits);
      await credits.refund('upload', 'item');
      assert.equal((await credits.approvals('alice', 'bob'))[0]?.usedWincAmount, '0');
      assert.equal(await owned(credits, 'alice'), 80n);
      await assertSound(credits);
    });

    it('gives a refund to the payer when the approval was revoked or has expired', async () => {
      const { credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 20n, 'a');
      await lend(credits, 'alice', 'carol', 20n, 'b', 60);
      await lend(credits, 'alice', 'dave', 20n, 'c', 60);
      await credits.spend(upload('bob', 15n, 'bobs', { paidBy: ['alice'] }));
      await credits.spend(upload('carol', 15n, 'carols', { paidBy: ['alice'] }));
      await credits.spend(upload('dave', 20n, 'daves', { paidBy: ['alice'] }));
      await credits.revoke({ id: 'r', payer: 'alice', approved: 'bob' });
      clock.now += 60_000;
      for (const id of ['bobs', 'carols', 'daves']) await credits.refund('upload', id);
      await credits.expireApprovals();
      assert.equal(await owned(credits, 'alice'), 100n);
      assert.deepEqual((await credits.approvalsOf('alice')).givenApprovals, []);
      await assertSound(credits);
    });

    it('returns what is left on revocation, answers the same again, and says when there is nothing', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 20n, 'a');
      await lend(credits, 'alice', 'bob', 30n, 'b');
      await credits.spend(upload('bob', 20n, 'item', { paidBy: ['alice'] }));
      const revoked = await credits.revoke({ id: 'r', payer: 'alice', approved: 'bob' });
      assert.deepEqual(
        revoked.map((row) => [row.approvalDataItemId, row.inactiveReason, row.revokeDataItemId]),
        [
          ['a', 'revoked', 'r'],
          ['b', 'revoked', 'r'],
        ],
      );
      assert.equal(await owned(credits, 'alice'), 80n);
      assert.deepEqual(await credits.revoke({ id: 'r', payer: 'alice', approved: 'bob' }), revoked);
      await assert.rejects(credits.revoke({ id: 'r2', payer: 'alice', approved: 'bob' }), NothingToRevoke);
      await assert.rejects(credits.revoke({ id: 'r3', payer: 'nobody', approved: 'bob' }), NothingToRevoke);
      assert.equal(await owned(credits, 'alice'), 80n);
      await assertSound(credits);
    });

    it('cannot spend an approval from the moment it expires, and returns it once however many look', async () => {
      const { credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a', 60);
      clock.now += 60_000;
      await assert.rejects(
        credits.spend(upload('bob', 1n, 'item', { paidBy: ['alice'] })),
        InsufficientCredits,
      );
      await Promise.all([
        ...Array.from({ length: 20 }, () => credits.balance('alice')),
        ...Array.from({ length: 20 }, () => credits.approvals('alice', 'bob')),
        credits.expireApprovals(),
      ]);
      assert.equal(await owned(credits, 'alice'), 100n);
      assert.equal(await credits.balance('bob'), undefined);
      await assertSound(credits);
    });

    it('lets the payer spend what has come back without anyone having looked', async () => {
      const { credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a', 60);
      clock.now += 60_000;
      assert.equal((await credits.spend(upload('alice', 100n, 'item'))).applied, true);
      await assertSound(credits);
    });

    it('previews nothing on an approval that has expired and was not yet ended', async () => {
      const { sql, credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'short', 60);
      const request = upload('bob', 30n, 'item', { paidBy: ['alice'] });
      clock.now += 59_999;
      assert.deepEqual(await credits.preview(request), [
        { payer: 'alice', amount: 30n, approvalId: 'short' },
      ]);
      clock.now += 1;
      assert.equal(await credits.preview(request), undefined);
      const row = await sql.get("SELECT status, used FROM credits_approvals WHERE id = 'short'");
      assert.deepEqual({ ...row }, { status: 'active', used: '0' }, 'a preview changes nothing');
      await lend(credits, 'alice', 'bob', 10n, 'long');
      const both = upload('bob', 10n, 'item', { paidBy: ['alice'] });
      assert.deepEqual(await credits.preview(both), [{ payer: 'alice', amount: 10n, approvalId: 'long' }]);
    });

    it('previews a spending without making it', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a');
      const request = upload('bob', 40n, 'item', { paidBy: ['alice'] });
      assert.equal((await credits.preview(request))?.length, 1);
      assert.equal(await credits.preview(upload('bob', 41n, 'item', { paidBy: ['alice'] })), undefined);
      assert.equal((await credits.approvals('alice', 'bob'))[0]?.usedWincAmount, '0');
    });
  });
});
