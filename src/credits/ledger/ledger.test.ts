import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import {
  ApprovalConflict,
  ChangeConflict,
  type Credits,
  InsufficientCredits,
  InvalidApproval,
  NothingToRevoke,
  SpendingNotFound,
  type SpendRequest,
  UnknownWallet,
  winc,
} from '../credits.ts';
import { creditsMigrations } from '../migrations.ts';
import { createCredits } from './index.ts';

forEachEngine((_engine, open) => {
  async function ledger() {
    const clock = { now: Date.UTC(2026, 0, 1) };
    const sql = await open(creditsMigrations);
    const credits = createCredits({ sql, now: () => clock.now });
    return { sql, credits, clock };
  }
  const give = (credits: Credits, address: string, amount: bigint, id = `tx-${address}`) =>
    credits.credit({
      address,
      addressType: 'arweave',
      amount: winc(amount),
      reason: 'crypto_payment',
      id,
    });
  const upload = (
    signer: string,
    amount: bigint,
    id: string,
    more: Partial<SpendRequest> = {},
  ): SpendRequest => ({
    id,
    reason: 'upload',
    signer,
    signerType: 'arweave',
    amount: winc(amount),
    ...more,
  });
  const lend = (
    credits: Credits,
    payer: string,
    approved: string,
    amount: bigint,
    id: string,
    seconds?: number,
  ) =>
    credits.approve({
      id,
      payer,
      approved,
      amount: winc(amount),
      ...(seconds === undefined ? {} : { expiresInSeconds: seconds }),
    });
  const owned = async (credits: Credits, address: string) => (await credits.balance(address))?.winc;
  async function assertSound(credits: Credits) {
    const { ok, problems, drift } = await credits.selfCheck();
    assert.deepEqual({ ok, problems, drift }, { ok: true, problems: [], drift: 0n });
  }

  describe('crediting', () => {
    it('moves the balance once per id', async () => {
      const { credits } = await ledger();
      assert.deepEqual(await give(credits, 'alice', 100n, 'tx1'), { applied: true, balance: 100n });
      assert.deepEqual(await give(credits, 'alice', 100n, 'tx1'), { applied: false, balance: 100n });
      assert.deepEqual(await give(credits, 'alice', 5n, 'tx2'), { applied: true, balance: 105n });
      await assertSound(credits);
    });

    it('refuses an id that was used for another wallet or amount, and changes nothing', async () => {
      const { credits } = await ledger();
      await give(credits, 'alice', 100n, 'tx1');
      await assert.rejects(give(credits, 'bob', 100n, 'tx1'), ChangeConflict);
      await assert.rejects(give(credits, 'alice', 99n, 'tx1'), ChangeConflict);
      assert.equal(await owned(credits, 'alice'), 100n);
      assert.equal(await credits.balance('bob'), undefined);
    });

    it('refuses amounts below 1', async () => {
      const { credits } = await ledger();
      await assert.rejects(give(credits, 'alice', 0n), RangeError);
      await assert.rejects(give(credits, 'alice', -1n), RangeError);
      assert.equal(await credits.balance('alice'), undefined);
    });

    it('keeps amounts beyond 64 bits exact', async () => {
      const { credits } = await ledger();
      const large = 10n ** 36n - 7n;
      await give(credits, 'whale', large);
      await credits.spend(upload('whale', 1n, 'item'));
      assert.equal(await owned(credits, 'whale'), large - 1n);
      await assertSound(credits);
    });

    it('goes back with the transaction around it', async () => {
      const { sql, credits } = await ledger();
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
      const { credits } = await ledger();
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
      const { credits } = await ledger();
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

  describe('spending', () => {
    it('takes from the signer once per id and refuses what is not covered', async () => {
      const { credits } = await ledger();
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
      await assertSound(credits);
    });

    it('refuses an id that another wallet spent', async () => {
      const { credits } = await ledger();
      await give(credits, 'alice', 100n);
      await give(credits, 'bob', 100n);
      await credits.spend(upload('alice', 60n, 'item'));
      await assert.rejects(credits.spend(upload('bob', 60n, 'item')), ChangeConflict);
      assert.equal(await owned(credits, 'bob'), 100n);
    });

    it('answers a repeat also when the balance would no longer cover it', async () => {
      const { credits } = await ledger();
      await give(credits, 'alice', 60n);
      await credits.reserve(upload('alice', 60n, 'item'));
      const again = await credits.reserve(upload('alice', 60n, 'item'));
      assert.deepEqual([again.state, again.amount, again.applied], ['reserved', 60n, false]);
    });

    it('records what costs nothing, also for a wallet without an account', async () => {
      const { credits } = await ledger();
      const free = await credits.spend(upload('newcomer', 0n, 'item'));
      assert.deepEqual([free.amount, free.split.length, free.applied], [0n, 0, true]);
      assert.equal((await credits.spend(upload('newcomer', 0n, 'item'))).applied, false);
      await assertSound(credits);
    });

    it('holds a reservation until it is settled, and gives the rest back', async () => {
      const { credits } = await ledger();
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
      const { credits } = await ledger();
      await give(credits, 'alice', 100n);
      await credits.reserve(upload('alice', 70n, 'item'));
      await assert.rejects(credits.settle('upload', 'item', winc(71n)), ChangeConflict);
      await assert.rejects(credits.settle('upload', 'other'), SpendingNotFound);
      await assert.rejects(credits.settle('arns_action', 'item'), SpendingNotFound);
      await assertSound(credits);
    });

    it('refunds once, and lets the id be spent again', async () => {
      const { credits } = await ledger();
      await give(credits, 'alice', 100n);
      await credits.spend(upload('alice', 60n, 'item'));
      assert.equal((await credits.refund('upload', 'item'))?.state, 'refunded');
      assert.equal(await credits.refund('upload', 'item'), undefined);
      assert.equal(await credits.refund('upload', 'unknown'), undefined);
      assert.equal(await owned(credits, 'alice'), 100n);
      await assert.rejects(credits.settle('upload', 'item'), ChangeConflict);
      assert.equal((await credits.spend(upload('alice', 10n, 'item'))).applied, true);
      assert.equal(await owned(credits, 'alice'), 90n);
      await credits.refund('upload', 'item');
      assert.equal(await owned(credits, 'alice'), 100n);
      await assertSound(credits);
    });

    it('refunds after a partial settlement only what was kept', async () => {
      const { credits } = await ledger();
      await give(credits, 'alice', 100n);
      await credits.reserve(upload('alice', 70n, 'item'));
      await credits.settle('upload', 'item', winc(20n));
      assert.equal((await credits.refund('upload', 'item'))?.amount, 20n);
      assert.equal(await owned(credits, 'alice'), 100n);
      await assertSound(credits);
    });

    it('never overdraws under 200 concurrent spendings of one balance', async () => {
      const { credits } = await ledger();
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
      const { credits } = await ledger();
      await give(credits, 'alice', 1_000n);
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () => credits.spend(upload('alice', 13n, 'item'))),
      );
      assert.equal(outcomes.filter(({ applied }) => applied).length, 1);
      assert.equal(await owned(credits, 'alice'), 987n);
    });
  });

  describe('sharing credits', () => {
    it('moves the amount out of the balance at once and shows both sides', async () => {
      const { credits } = await ledger();
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
      const { credits } = await ledger();
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

    it('spends the listed payers in order, soonest expiry first, then the signer', async () => {
      const { credits, clock } = await ledger();
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
      const { credits } = await ledger();
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
      const { credits } = await ledger();
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
      const { credits } = await ledger();
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
      const { credits, clock } = await ledger();
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
      const { credits } = await ledger();
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
      const { credits, clock } = await ledger();
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
      const { credits, clock } = await ledger();
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a', 60);
      clock.now += 60_000;
      assert.equal((await credits.spend(upload('alice', 100n, 'item'))).applied, true);
      await assertSound(credits);
    });

    it('previews a spending without making it', async () => {
      const { credits } = await ledger();
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 40n, 'a');
      const request = upload('bob', 40n, 'item', { paidBy: ['alice'] });
      assert.equal((await credits.preview(request))?.length, 1);
      assert.equal(await credits.preview(upload('bob', 41n, 'item', { paidBy: ['alice'] })), undefined);
      assert.equal((await credits.approvals('alice', 'bob'))[0]?.usedWincAmount, '0');
    });
  });

  describe('history', () => {
    it('lists payments newest first in pages', async () => {
      const { credits, clock } = await ledger();
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
      const { sql, credits } = await ledger();
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
  });
});
