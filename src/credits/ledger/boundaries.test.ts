/** Amounts, times and lists at the very edge of what is allowed, and what stands beside what is changed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toldWallets } from '../../events/testing-wallets.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type Credits, InsufficientCredits, MAX_PAYERS, MAX_WINC, winc } from '../credits.ts';
import { newestLots, unspentOf } from './lots.ts';
import { assertSound, give, lend, openTestLedger, owned, upload } from './testing.ts';

const pay = (credits: Credits, address: string, amount: bigint, id: string) =>
  credits.credit({
    ...{ address, addressType: 'arweave', amount: winc(amount), reason: 'crypto_payment', id },
    payment: {
      type: 'crypto',
      tokenType: 'arweave',
      tokenQuantity: '1',
      usdEquivalent: '0',
      senderAddress: address,
      transactionId: id,
    },
  });

forEachEngine((_engine, open) => {
  describe('a spending', () => {
    it('may be of any amount that there can be, and of no other', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', MAX_WINC);
      await assert.rejects(credits.spend(upload('alice', MAX_WINC + 1n, 'more')), RangeError);
      await assert.rejects(credits.spend(upload('alice', -1n, 'less')), RangeError);
      assert.equal((await credits.spend(upload('alice', MAX_WINC, 'all'))).applied, true);
      assert.equal(await owned(credits, 'alice'), 0n);
    });

    it('names so many payers and no more', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 10n);
      const paidBy = Array.from({ length: MAX_PAYERS }, (_, n) => `payer ${n}`);
      assert.equal((await credits.spend(upload('alice', 1n, 'item', { paidBy }))).applied, true);
      const more = [...paidBy, 'one more'];
      await assert.rejects(credits.spend(upload('alice', 1n, 'other', { paidBy: more })), RangeError);
    });

    it('keeps who paid what of a part that is settled, so that a refund goes to them', async () => {
      const { sql, credits } = await openTestLedger(open);
      for (const payer of ['alice', 'carol', 'bob']) await give(credits, payer, 100n);
      await lend(credits, 'alice', 'bob', 30n, 'a');
      await lend(credits, 'carol', 'bob', 30n, 'c');
      await credits.reserve(upload('bob', 70n, 'item', { paidBy: ['alice', 'carol'] }));
      const settled = await credits.settle('upload', 'item', winc(50n));
      assert.deepEqual(
        settled.split.map(({ payer, amount }) => [payer, amount]),
        [
          ['alice', 30n],
          ['carol', 20n],
        ],
      );
      assert.deepEqual((await credits.spending('upload', 'item'))?.split, settled.split);
      const told = (await toldWallets(sql)).filter(({ type }) => type === 'credits.refunded');
      assert.equal(told.length > 0, true, 'what was not kept was told');
      await credits.refund('upload', 'item');
      const { receivedApprovals } = (await credits.balance('bob')) ?? {};
      assert.deepEqual(
        receivedApprovals?.map((one) => [one.approvalDataItemId, one.usedWincAmount]),
        [
          ['a', '0'],
          ['c', '0'],
        ],
      );
      const refunds = async () =>
        (await toldWallets(sql)).filter(({ type }) => type === 'credits.refunded').length;
      assert.equal(
        await refunds(),
        told.length,
        'an upload that was paid for is told by whoever gives it up',
      );
      await credits.reserve(upload('bob', 5n, 'held'));
      await credits.refund('upload', 'held');
      assert.equal(await refunds(), told.length + 1);
      await assertSound(credits);
    });

    it('that is made again after its refund leaves another of the same id alone', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      const name = { ...upload('alice', 20n, 'same'), reason: 'arns_action' as const };
      await credits.spend(upload('alice', 10n, 'same'));
      await credits.spend(name);
      await credits.refund('upload', 'same');
      await credits.refund('arns_action', 'same');
      assert.equal((await credits.spend(upload('alice', 11n, 'same'))).applied, true);
      assert.equal((await credits.spending('arns_action', 'same'))?.state, 'refunded');
      assert.equal(await owned(credits, 'alice'), 89n);
      await assertSound(credits);
    });

    it('that takes over nothing of a payment gives all of it back, and one that takes all tells of no rest', async () => {
      const { sql, credits } = await openTestLedger(open);
      const payAndReserve = (id: string) =>
        credits.credit({
          address: 'alice',
          addressType: 'arweave',
          amount: winc(50n),
          reason: 'x402_payment',
          id,
          reserve: { reason: 'upload', id, amount: winc(50n) },
        });
      const refunds = async () =>
        (await toldWallets(sql)).filter(({ type }) => type === 'credits.refunded').length;
      await payAndReserve('one');
      assert.equal((await credits.assign('upload', 'one', 'item', winc(0n))).amount, 0n);
      assert.equal(await owned(credits, 'alice'), 50n);
      assert.equal(await refunds(), 1);
      const zeros = await sql.all("SELECT 1 AS one FROM credits_entries WHERE amount = '0'");
      assert.deepEqual(zeros, [], 'what costs nothing has no entry');
      await payAndReserve('two');
      await assert.rejects(credits.assign('upload', 'two', 'other', winc(-1n)));
      assert.equal((await credits.assign('upload', 'two', 'other', winc(50n))).amount, 50n);
      assert.equal(await owned(credits, 'alice'), 50n);
      assert.equal(await refunds(), 1);
      await assertSound(credits);
    });
  });

  describe('an approval', () => {
    it('ends at its moment, counted, and not before', async () => {
      const { credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 10n, 'a', 60);
      await lend(credits, 'alice', 'bob', 10n, 'b', 60);
      await lend(credits, 'alice', 'bob', 10n, 'gone', 60);
      await credits.spend(upload('bob', 10n, 'item', { paidBy: ['alice'] }));
      const from = clock.now;
      clock.now = from + 59_999;
      assert.equal(await credits.expireApprovals(), 0);
      clock.now = from + 60_000;
      assert.equal(await credits.expireApprovals(1), 1, 'so many as were asked for');
      assert.equal(
        await credits.expireApprovals(),
        0,
        'those of one payer end together; the used one is over',
      );
      assert.equal(await owned(credits, 'alice'), 90n);
      await assertSound(credits);
    });

    it('that has ended leaves a stranger to the ledger one', async () => {
      const { credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 10n, 'a', 60);
      assert.equal((await credits.balance('bob'))?.effectiveBalance, 10n);
      clock.now += 60_000;
      assert.equal(await credits.balance('bob'), undefined);
    });

    it('is listed for both sides', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 10n, 'a');
      const ids = ({
        givenApprovals,
        receivedApprovals,
      }: Awaited<ReturnType<typeof credits.approvalsOf>>) => [
        givenApprovals.map((one) => one.approvalDataItemId),
        receivedApprovals.map((one) => one.approvalDataItemId),
      ];
      assert.deepEqual(ids(await credits.approvalsOf('alice')), [['a'], []]);
      assert.deepEqual(ids(await credits.approvalsOf('bob')), [[], ['a']]);
      assert.deepEqual(ids(await credits.approvalsOf('carol')), [[], []]);
    });

    it('that is revoked leaves those that ended before as they are', async () => {
      const { sql, credits, clock } = await openTestLedger(open);
      await give(credits, 'alice', 100n);
      await lend(credits, 'alice', 'bob', 10n, 'expired', 60);
      clock.now += 60_000;
      await credits.expireApprovals();
      await lend(credits, 'alice', 'bob', 10n, 'a');
      await lend(credits, 'alice', 'bob', 10n, 'b');
      const ended = await credits.revoke({ id: 'r', payer: 'alice', approved: 'bob' });
      assert.deepEqual(ended.map((one) => one.approvalDataItemId).sort(), ['a', 'b']);
      assert.deepEqual(
        (
          await sql.all<{ id: string; status: string }>(
            'SELECT id, status FROM credits_approvals ORDER BY id',
          )
        ).map(({ id, status }) => [id, status]),
        [
          ['a', 'revoked'],
          ['b', 'revoked'],
          ['expired', 'expired'],
        ],
      );
      assert.equal(await owned(credits, 'alice'), 100n);
      await assertSound(credits);
    });
  });

  describe('what came in', () => {
    it('was paid by whoever has paid, and by nobody else', async () => {
      const { sql, credits } = await openTestLedger(open);
      await pay(credits, 'alice', 10n, 'paid');
      await lend(credits, 'alice', 'bob', 5n, 'a');
      await credits.spend(upload('bob', 5n, 'item', { paidBy: ['alice'] }));
      await credits.spend(upload('carol', 0n, 'free'));
      assert.equal(await credits.hasPaid(sql, 'alice'), true);
      assert.equal(await credits.hasPaid(sql, 'bob'), false);
      await sql.run(
        "INSERT INTO credits_entries (account, amount, reason, change_id, line, created_at) VALUES ('carol', '5', 'refunded_upload', 'x', 0, 1)",
      );
      assert.equal(await credits.hasPaid(sql, 'carol'), false, 'what came back was not paid');
    });

    it('is summed once, also what is written late', async () => {
      const { sql, credits, clock } = await openTestLedger(open);
      const enter = (sequence: number, amount: string, at: number) =>
        sql.run(
          `INSERT INTO credits_entries (sequence, account, amount, reason, change_id, line, created_at, payment)
           VALUES (?, 'alice', ?, 'payment', ?, 0, ?, '{}')`,
          sequence,
          amount,
          `p${sequence}`,
          at,
        );
      await enter(10, '7', clock.now);
      assert.equal(await credits.sold(), 7n);
      await enter(5, '3', clock.now);
      assert.equal(await credits.sold(), 10n);
      clock.now += 11 * 60_000;
      assert.equal(await credits.sold(), 10n);
      await enter(12, '1', clock.now);
      assert.equal(await credits.sold(), 11n);
      assert.equal(await credits.sold(), 11n);
    });

    it('is listed by wallet since then, the newest first', async () => {
      const { sql, credits, clock } = await openTestLedger(open);
      const from = clock.now;
      for (const [address, amount] of [
        ['alice', 1n],
        ['bob', 2n],
        ['alice', 3n],
        ['alice', 4n],
      ] as const) {
        clock.now += 1_000;
        await pay(credits, address, amount, `${address} ${amount}`);
      }
      const ids = async (since: number, limit: number) =>
        (await newestLots(sql, 'alice', since, limit)).map(({ changeId }) => changeId);
      assert.deepEqual(await ids(from, 9), ['alice 4', 'alice 3', 'alice 1']);
      assert.deepEqual(await ids(from + 3_000, 9), ['alice 4', 'alice 3']);
      assert.deepEqual(await ids(from + 3_001, 9), ['alice 4']);
      assert.deepEqual(await ids(from, 2), ['alice 4', 'alice 3']);
    });
  });

  it('a sum is read to its end, however many entries an account has', async () => {
    const { sql, credits } = await openTestLedger(open);
    await give(credits, 'alice', 1n);
    const rows = Array.from({ length: 10_000 }, (_, n) => `('alice', '1', 'payment', 'p${n}', 0, 1)`);
    await sql.run(
      `INSERT INTO credits_entries (account, amount, reason, change_id, line, created_at) VALUES ${rows.join(', ')}`,
    );
    await sql.run("UPDATE credits_accounts SET balance = '10001'");
    await assertSound(credits);
  });

  it('one that lacks by a single winc is refused', async () => {
    const { credits } = await openTestLedger(open);
    await give(credits, 'alice', 10n);
    await assert.rejects(credits.spend(upload('alice', 11n, 'item')), InsufficientCredits);
    assert.equal((await credits.spend(upload('alice', 10n, 'item'))).applied, true);
  });
});

it('the newest that came in is what is left of a balance', () => {
  const lots = [{ size: 5n }, { size: 10n }, { size: 20n }];
  const left = (balance: bigint) => unspentOf(balance, lots).map(({ unspent }) => unspent);
  assert.deepEqual(left(12n), [5n, 7n, 0n]);
  assert.deepEqual(left(35n), [5n, 10n, 20n]);
  assert.deepEqual(left(40n), [5n, 10n, 20n]);
  assert.deepEqual(left(0n), [0n, 0n, 0n]);
  assert.deepEqual(left(-3n), [0n, 0n, 0n]);
});
