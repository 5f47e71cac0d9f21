/** x402 payments as rows: who may work on one, what is due, and who ends it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { creditsMigrations } from '../../credits/migrations.ts';
import { findX402Network } from '../../formats/x402/networks.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { recentX402Payments, unclearPayments } from './by-hand.ts';
import { x402Migrations } from './migrations.ts';
import {
  creditedPayments,
  duePayments,
  endCredited,
  endUncredited,
  insertPaymentRow,
  leasePayment,
  type PaymentRow,
  paymentId,
  readPaymentRow,
  releasePayment,
  renewLease,
} from './payment-rows.ts';
import type { SignedPayment } from './x402.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const row: PaymentRow = {
  ...{ id: 'a', version: 2, network: 'eip155:8453', payer: '0xpayer', nonce: '0x01' },
  ...{ value: 10n ** 20n, validBefore: 99n, purpose: 'upload', reference: 'item', address: 'anna' },
  ...{ addressType: 'ethereum', winc: winc(50n), reserved: winc(30n), purchase: undefined },
  ...{ item: undefined, claim: undefined, state: 'open', settlement: undefined, leasedUntil: 0 },
  ...{ attempts: 1, createdAt: 5 },
  request: {
    ...{ x402Version: 2, paymentPayload: { x402Version: 2 } },
    paymentRequirements: {
      ...{ scheme: 'exact', network: 'eip155:8453', payTo: '0xus', asset: '0xusdc', amount: '5' },
      ...{ maxTimeoutSeconds: 60, extra: { name: 'USDC', version: '2' } },
    },
  },
};
const made = { success: true, transaction: '0xABC', network: 'eip155:8453' };

const add = (sql: Sql, id: string, more: Partial<PaymentRow> = {}, now = 5) =>
  sql.transaction((tx) => insertPaymentRow(tx, { ...row, id, nonce: id, ...more }, now));
const read = async (sql: Sql, id: string) => (await readPaymentRow(sql, id)) ?? assert.fail(id);

forEachEngine((_engine, open) => {
  const opened = () => open([...creditsMigrations, ...x402Migrations]);

  it('a payment is known by its chain, its payer and its nonce; permits count theirs apart', () => {
    const network = findX402Network('base');
    assert.ok(network !== undefined);
    const signed = { network, payer: '0xpayer', payment: { authorization: { nonce: '0x1' } } };
    assert.equal(paymentId(signed as SignedPayment), 'eip155:8453:0xpayer:0x1');
    const permit = { ...signed, payment: { ...signed.payment, permit: {} } };
    assert.equal(paymentId(permit as unknown as SignedPayment), 'eip155:8453:0xpayer:permit2:0x1');
  });

  describe('an x402 payment', () => {
    it('is read as it was written, whole', async () => {
      const sql = await opened();
      await add(sql, 'a');
      await add(sql, 'b', { reserved: undefined, reference: undefined, settlement: made, state: 'failed' });
      assert.deepEqual(await read(sql, 'a'), { ...row, nonce: 'a' });
      const { reserved, settlement } = await read(sql, 'b');
      assert.deepEqual([reserved, settlement], [undefined, made]);
      assert.equal(await readPaymentRow(sql, 'c'), undefined);
    });

    it('is due while it is open, nobody has it and its time has come, the longest due first', async () => {
      const sql = await opened();
      await add(sql, 'early', {}, 101);
      await add(sql, 'now', {}, 100);
      await add(sql, 'before', {}, 90);
      await add(sql, 'held', { leasedUntil: 101 }, 1);
      await add(sql, 'lapsed', { leasedUntil: 100 }, 95);
      await add(sql, 'ended', { state: 'failed' }, 1);
      await add(sql, 'unclear', { state: 'unclear' }, 1);
      // No right clock can have given these.
      await add(sql, 'far ahead', {}, 100 + 20 * minute + 1);
      await add(sql, 'held too long', { leasedUntil: 100 + 20_001 }, 80);
      assert.deepEqual(await duePayments(sql, 100, 9), [
        ...['held too long', 'before', 'lapsed', 'now', 'far ahead'],
      ]);
      assert.deepEqual(await duePayments(sql, 100, 1), ['held too long']);
    });

    it('is worked on by one at a time: who has an older number has lost it', async () => {
      const sql = await opened();
      await add(sql, 'a', { leasedUntil: 100 });
      await add(sql, 'b', { leasedUntil: 100 });
      await add(sql, 'ended', { state: 'credited' });
      assert.equal(await leasePayment(sql, 'a', 99, 200), undefined);
      assert.equal(await leasePayment(sql, 'ended', 100, 200), undefined);
      assert.equal(await leasePayment(sql, 'none', 100, 200), undefined);
      const second = await leasePayment(sql, 'a', 100, 200);
      assert.deepEqual([second?.attempts, second?.leasedUntil], [2, 200]);
      assert.ok(second !== undefined);
      const first = { id: 'a', attempts: 1 };
      assert.equal(await renewLease(sql, first, 900), false);
      assert.equal(await releasePayment(sql, first, 110, 120), false);
      assert.equal(await endUncredited(sql, first, 'failed', made, 110), false);
      assert.equal((await read(sql, 'a')).leasedUntil, 200);
      assert.equal(await renewLease(sql, second, 300), true);
      assert.equal((await read(sql, 'a')).leasedUntil, 300);
      assert.equal(await releasePayment(sql, second, 110, 120), true);
      assert.deepEqual([(await read(sql, 'a')).leasedUntil, (await read(sql, 'a')).state], [0, 'open']);
      assert.deepEqual([await duePayments(sql, 119, 9), await duePayments(sql, 120, 9)], [['b'], ['b', 'a']]);
      assert.equal(await renewLease(sql, second, 400), false, 'it was put back');
      const other = await read(sql, 'b');
      assert.deepEqual([other.leasedUntil, other.attempts, other.state], [100, 1, 'open']);
    });

    it('ends once: what was credited stays, and what was given up may be credited after all', async () => {
      const sql = await opened();
      for (const id of ['a', 'b', 'c']) await add(sql, id, { leasedUntil: 50 });
      const a = await read(sql, 'a');
      assert.equal(await endUncredited(sql, a, 'unclear', made, 9, 'unclear'), false, 'it is open');
      assert.equal(await endUncredited(sql, a, 'unclear', { ...made, success: false }, 9), true);
      assert.equal(await endUncredited(sql, a, 'failed', made, 10), false, 'it is no longer open');
      for (const attempt of [renewLease(sql, a, 99), releasePayment(sql, a, 9, 9)])
        assert.equal(await attempt, false);
      assert.equal(await endUncredited(sql, a, 'failed', made, 10, 'unclear'), true);
      const ended = await read(sql, 'a');
      assert.deepEqual([ended.state, ended.settlement, ended.leasedUntil], ['failed', made, 0]);
      assert.equal(await endCredited(sql, a, made, 'reserved', 11), true);
      assert.equal(await endCredited(sql, a, made, 'returned', 12), false);
      const credited = await sql.get(
        "SELECT state, purchase, transaction_id, credited_at FROM x402_payments WHERE id = 'a'",
      );
      assert.deepEqual(credited, {
        ...{ state: 'credited', purchase: 'reserved', transaction_id: '0xabc', credited_at: 11 },
      });
      await endCredited(sql, { ...(await read(sql, 'b')), reserved: undefined }, made, 'reserved', 13);
      assert.equal((await read(sql, 'b')).purchase, undefined, 'it bought nothing but credits');
      assert.deepEqual([(await read(sql, 'c')).state, (await read(sql, 'c')).leasedUntil], ['open', 50]);
    });

    it('is listed among the credited with what it reserved and the transaction that made it', async () => {
      const sql = await opened();
      await add(sql, 'a', { state: 'credited', purchase: 'spent', settlement: made });
      await add(sql, 'b', { state: 'credited', reserved: undefined });
      await add(sql, 'c', { state: 'open' });
      const listed = await creditedPayments(sql, ['a', 'b', 'c', 'd']);
      assert.deepEqual(
        listed
          .map(({ id, reserved, purchase, transaction, value }) => [
            ...[id, reserved, purchase, transaction, value],
          ])
          .sort(),
        [
          ['a', 30n, 'spent', '0xABC', 10n ** 20n],
          ['b', 0n, undefined, undefined, 10n ** 20n],
        ],
      );
      assert.equal((await creditedPayments(sql, ['b'])).length, 1);
      assert.deepEqual(await creditedPayments(sql, []), []);
    });

    it('is left to a person where it is unclear, or open for more than a day', async () => {
      const sql = await opened();
      const now = 10 * day;
      const all: [string, PaymentRow['state'], number][] = [
        ['unclear', 'unclear', now - 1],
        ['old', 'open', now - day - 1],
        ['young', 'open', now - day],
        ['failed', 'failed', 1],
        ['oldest', 'unclear', 1],
      ];
      for (const [id, state, at] of all) await add(sql, id, { state }, at);
      const ids = async (limit: number) => (await unclearPayments(sql, limit, now)).map(({ id }) => id);
      assert.deepEqual(await ids(9), ['oldest', 'old', 'unclear']);
      assert.deepEqual(await ids(1), ['oldest']);
      const recent = await recentX402Payments(sql, { page: { before: undefined, limit: 9 } }, now);
      assert.deepEqual(
        recent.map(({ id, open: isOpen }) => `${id} ${isOpen}`),
        ['unclear true', 'young false', 'old true', 'oldest true', 'failed false'],
      );
      assert.deepEqual([recent[0]?.amount, recent[0]?.currency], [String(10n ** 20n), 'usdc']);
    });
  });
});
