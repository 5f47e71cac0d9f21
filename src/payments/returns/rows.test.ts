/** Returns as rows: who may take one, what is due, and what another has moved. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { winc } from '../../credits/credits.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import {
  countReturns,
  dueReturns,
  insertReturn,
  isQueueBusy,
  leaseReturn,
  moveReturn,
  newestReturns,
  nextReturnAt,
  type ReturnRow,
  readReturn,
  returnByRequest,
  returnsByHand,
  returnsOf,
  standingReturns,
} from './rows.ts';
import { returnsTestMigrations } from './testing.ts';

const row: ReturnRow = {
  ...{ id: 'a', requestKey: 'key a', address: 'wallet', addressType: 'arweave', kind: 'chain', payment: 'p' },
  ...{ quoteId: undefined, chain: 'arweave', token: 'arweave', winc: winc(10n ** 20n), amount: 7n },
  ...{ recipient: 'payer', state: 'due', reference: undefined, wire: undefined, queue: undefined },
  ...{ validUntil: undefined, tries: 0, reason: undefined, dueAt: 100, leasedUntil: 0, leases: 0 },
  ...{ createdAt: 1, changedAt: 1 },
};
const add = (sql: Sql, id: string, more: Partial<ReturnRow> = {}) =>
  sql.transaction((tx) => insertReturn(tx, { ...row, id, requestKey: `key ${id}`, ...more }));
const ids = (rows: readonly ReturnRow[]) => rows.map(({ id }) => id).join('');

forEachEngine((_engine, open) => {
  describe('a return', () => {
    it('is read as it was written, by its id, its request and its wallet', async () => {
      const sql = await open(returnsTestMigrations);
      await add(sql, 'a');
      await add(sql, 'b', { createdAt: 2, payment: 'q', state: 'refused' });
      await add(sql, 'c', { createdAt: 2, payment: 'q', address: 'another', state: 'failed' });
      await add(sql, 'd', { createdAt: 2, payment: 'q', state: 'confirmed' });
      assert.deepEqual(await readReturn(sql, 'a'), row);
      assert.equal(await readReturn(sql, 'x'), undefined);
      assert.equal((await returnByRequest(sql, 'key b'))?.id, 'b');
      assert.equal(await returnByRequest(sql, 'key x'), undefined);
      assert.equal(ids(await returnsOf(sql, 'wallet', 9)), 'dba');
      assert.equal(ids(await returnsOf(sql, 'wallet', 1)), 'd');
      assert.equal(ids(await standingReturns(sql, ['q'])), 'd');
      assert.equal(
        ids((await standingReturns(sql, ['p', 'q'])).sort((x, y) => (x.id < y.id ? -1 : 1))),
        'ad',
      );
      assert.deepEqual(await standingReturns(sql, []), []);
      assert.deepEqual([await countReturns(sql, 'refused'), await countReturns(sql, 'by_hand')], [1, 0]);
      assert.equal(ids(await newestReturns(sql, { page: { before: undefined, limit: 9 } })), 'dcba');
      assert.equal(
        ids(await newestReturns(sql, { state: 'due', page: { before: undefined, limit: 9 } })),
        'a',
      );
    });

    it('is due at its time, while nobody has it and it has not ended', async () => {
      const sql = await open(returnsTestMigrations);
      assert.equal(await nextReturnAt(sql), undefined);
      await add(sql, 'a');
      await add(sql, 'b', { dueAt: 99, state: 'sent', leasedUntil: 100 });
      await add(sql, 'c', { dueAt: 101 });
      await add(sql, 'd', { dueAt: 50, leasedUntil: 101 });
      await add(sql, 'e', { dueAt: 1, state: 'confirmed' });
      await add(sql, 'f', { dueAt: 1, state: 'by_hand', createdAt: 3 });
      await add(sql, 'g', { dueAt: 1, state: 'by_hand', createdAt: 2 });
      assert.deepEqual(await dueReturns(sql, 100, 9), ['b', 'a']);
      assert.deepEqual(await dueReturns(sql, 100, 1), ['b']);
      assert.equal(await nextReturnAt(sql), 50);
      assert.equal(ids(await returnsByHand(sql, 9)), 'gf');
      assert.equal(ids(await returnsByHand(sql, 1)), 'g');
    });

    it('is taken by one, and moved only as it was read', async () => {
      const sql = await open(returnsTestMigrations);
      await add(sql, 'a', { leasedUntil: 100 });
      await add(sql, 'b', { state: 'confirmed' });
      assert.equal(await leaseReturn(sql, 'a', 99), undefined);
      assert.equal(await leaseReturn(sql, 'b', 100), undefined);
      assert.equal(await leaseReturn(sql, 'x', 100), undefined);
      const leased = await leaseReturn(sql, 'a', 100);
      assert.deepEqual([leased?.leasedUntil, leased?.leases], [20_100, 1]);
      assert.ok(leased !== undefined);
      assert.equal(await leaseReturn(sql, 'a', 150), undefined);
      assert.equal(await moveReturn(sql, row, { state: 'sent' }, 5), false, 'another has taken it since');
      assert.equal(await moveReturn(sql, { ...leased, state: 'sent' }, { state: 'due' }, 5), false);
      assert.equal(await isQueueBusy(sql, 'sender'), false);
      assert.equal(await moveReturn(sql, leased, { state: 'sent', queue: 'sender' }, 5, true), true);
      const sent = await readReturn(sql, 'a');
      assert.deepEqual(
        [sent?.state, sent?.leasedUntil, sent?.changedAt, sent?.tries],
        ['sent', 20_100, 5, 0],
      );
      assert.deepEqual([await isQueueBusy(sql, 'sender'), await isQueueBusy(sql, 'another')], [true, false]);
      assert.ok(sent !== undefined);
      assert.equal(await moveReturn(sql, sent, { tries: 2 }, 6), true);
      assert.deepEqual(
        [(await readReturn(sql, 'a'))?.leasedUntil, (await readReturn(sql, 'a'))?.tries],
        [0, 2],
      );
      assert.equal((await readReturn(sql, 'b'))?.changedAt, 1);
      await sql.run("UPDATE payment_returns SET state = 'confirmed'");
      assert.equal(await isQueueBusy(sql, 'sender'), false);
    });
  });
});
