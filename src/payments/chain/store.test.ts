/** Reported transactions as rows: which are looked for, shown to a person, moved and left alone. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { creditsMigrations } from '../../credits/migrations.ts';
import { paymentMigrations } from '../../payment/migrations.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import {
  type ChainPaymentRow,
  chainPaymentsById,
  dueFailed,
  duePending,
  failedPayments,
  insertRow,
  isFinal,
  moveRow,
  readRow,
  recentChainPayments,
  voidPayment,
} from './store.ts';
import { aChainPayment } from './testing.ts';

const day = 86_400_000;
const now = 100 * day;
const pending: ChainPaymentRow = { ...aChainPayment, next_check_at: now };

const add = (sql: Sql, transaction_id: string, more: Partial<ChainPaymentRow> = {}) =>
  insertRow(sql, { ...pending, transaction_id, ...more });
const failed = (failure_reason: string, ended_at = now): Partial<ChainPaymentRow> => ({
  state: 'failed',
  failure_reason,
  ended_at,
});
const ids = (rows: readonly ChainPaymentRow[]) => rows.map(({ transaction_id: id }) => id).join(' ');

forEachEngine((_engine, open) => {
  const opened = () => open([...creditsMigrations, ...paymentMigrations]);

  describe('a chain payment', () => {
    it('is stored once for its chain, and moves on only from where it was read', async () => {
      const sql = await opened();
      assert.equal(await add(sql, 'tx'), true);
      assert.equal(await add(sql, 'tx', { quantity: '99' }), false);
      const elsewhere: ChainPaymentRow = { ...pending, state: 'failed' };
      assert.equal(await moveRow(sql, elsewhere, { ...pending, checks: 5 }), false, 'it waits');
      assert.equal(await add(sql, 'tx', { chain: 'solana' }), true);
      assert.deepEqual(await readRow(sql, 'arweave', 'tx'), pending);
      assert.equal(await readRow(sql, 'ethereum', 'tx'), undefined);
      assert.equal(await readRow(sql, 'arweave', 'other'), undefined);
      const gone = { ...pending, ...failed('not_found') };
      assert.equal(await moveRow(sql, gone, pending), false);
      assert.equal(await moveRow(sql, pending, gone), true);
      assert.equal((await readRow(sql, 'solana', 'tx'))?.state, 'pending');
      assert.equal(await moveRow(sql, pending, gone), false);
      assert.equal(await moveRow(sql, { ...gone, failure_reason: 'reverted' }, pending), false);
      const credited: ChainPaymentRow = { ...pending, state: 'credited' };
      assert.equal(await moveRow(sql, gone, credited), true);
      assert.equal(await moveRow(sql, credited, pending), false, 'what is credited stays so');
    });

    it('is looked for while it is pending, and for a month after it failed without a last word', async () => {
      const sql = await opened();
      await add(sql, 'later', { next_check_at: now + 1 });
      await add(sql, 'now');
      await add(sql, 'before', { next_check_at: now - 1 });
      await add(sql, 'ahead', { next_check_at: now + 2 * 600_000 + 1 });
      await add(sql, 'credited', { state: 'credited' });
      for (const reason of ['reverted', 'not_paid', 'voided']) await add(sql, reason, failed(reason));
      await add(sql, 'lost', failed('not_found', now - 30 * day));
      await add(sql, 'long lost', { ...failed('not_found', now - 30 * day - 1), next_check_at: now - 5 });
      await add(sql, 'small', { ...failed('too_small'), next_check_at: now - 2 });
      await add(sql, 'small later', { ...failed('too_small'), next_check_at: now + 2 * 3_600_000 });
      assert.equal(ids(await duePending(sql, now, 9)), 'before now ahead');
      assert.equal(ids(await duePending(sql, now, 1)), 'before');
      assert.equal(ids(await dueFailed(sql, now, 9)), 'small lost');
      assert.equal(ids(await dueFailed(sql, now, 1)), 'small');
    });

    it('is shown to a person while our wallet may have been paid, and ended by one', async () => {
      const sql = await opened();
      await add(sql, 'b', failed('not_found', now - 30 * day));
      await add(sql, 'c', failed('not_found', now - 30 * day - 1));
      await add(sql, 'd', failed('too_small', 5));
      await add(sql, 'a', failed('too_small', 5));
      await add(sql, 'e', failed('reverted'));
      await add(sql, 'f');
      assert.equal(ids(await failedPayments(sql, 9, now)), 'b a d');
      assert.equal(ids(await failedPayments(sql, 2, now)), 'b a');
      const listed = await recentChainPayments(sql, { page: { before: undefined, limit: 9 } }, now);
      assert.deepEqual(
        listed.map(({ id, open: isOpen }) => `${id} ${isOpen}`),
        ['f false', 'e false', 'd true', 'c false', 'b true', 'a true'].map((one) => `arweave:${one}`),
      );
      assert.deepEqual([listed[0]?.changedAt, listed[1]?.changedAt], [2, now]);
      assert.equal(await voidPayment(sql, 'arweave:x'), false);
      assert.equal(await voidPayment(sql, 'a'), false);
      assert.equal(await voidPayment(sql, 'arweave:e'), false);
      assert.equal(await voidPayment(sql, 'arweave:f'), false);
      assert.equal(await voidPayment(sql, 'arweave:a'), true);
      assert.equal(await voidPayment(sql, 'arweave:a'), false);
      assert.equal((await readRow(sql, 'arweave', 'a'))?.failure_reason, 'voided');
      assert.equal(ids(await failedPayments(sql, 9, now)), 'b d');
    });

    it('is final when it is credited, or failed with the last word of its chain or of a person', () => {
      assert.equal(isFinal(pending), false);
      assert.equal(isFinal({ ...pending, state: 'credited' }), true);
      assert.equal(isFinal({ ...pending, ...failed('reverted') }), true);
      assert.equal(isFinal({ ...pending, ...failed('not_found') }), false);
      assert.equal(isFinal({ ...pending, failure_reason: 'reverted' }), false);
    });

    it('is found among those that were credited by its chain and transaction', async () => {
      const sql = await opened();
      await add(sql, 'a', { state: 'credited', quantity: '7' });
      await add(sql, 'b');
      await add(sql, 'c', { state: 'credited', chain: 'solana' });
      assert.deepEqual(await chainPaymentsById(sql, []), []);
      assert.deepEqual(await chainPaymentsById(sql, ['arweave:a', 'arweave:b', 'arweave:c', 'x']), [
        {
          id: 'arweave:a',
          chain: 'arweave',
          transactionId: 'a',
          token: 'arweave',
          sender: 'from',
          quantity: 7n,
        },
      ]);
    });
  });
});
