/** Quotes and webhooks as rows: each statement finds and changes those that are meant, and leaves the others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { winc } from '../../pricing/pricing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import {
  countOpenEvents,
  dueEvents,
  endEvents,
  endOpenEvent,
  forgetEvents,
  nextEventAt,
  openEvents,
  postponeEvents,
  readCursor,
  storeEvent,
  wakeOpenEvents,
  writeCursor,
} from './inbox.ts';
import { cardMigrations } from './migrations.ts';
import {
  changeReturned,
  chargebacksOf,
  dueQuotes,
  isGivenUp,
  postponeQuote,
  quoteIdBy,
  quotesByReceipt,
  readQuote,
  recentQuotes,
  takeTicket,
  updateQuote,
  wakeOpenQuotes,
} from './quotes.ts';
import { addQuote, aQuote } from './testing.ts';

const minute = 60_000;
const hour = 60 * minute;

forEachEngine((_engine, open) => {
  describe('quotes', () => {
    it('are found by what their payment is called, and by their receipts', async () => {
      const sql = await open(cardMigrations);
      await addQuote(sql, 'a', { sessionId: 'cs_a', receiptId: 'r_a' });
      await addQuote(sql, 'b', { debtor: undefined, details: { note: null } });
      assert.equal(await quoteIdBy(sql, 'intent_id', 'pi_b'), 'b');
      assert.equal(await quoteIdBy(sql, 'session_id', 'cs_a'), 'a');
      assert.equal(await quoteIdBy(sql, 'session_id', 'pi_a'), undefined);
      assert.deepEqual([...(await quotesByReceipt(sql, ['r_a', 'r_b'])).keys()], ['r_a']);
      assert.equal((await quotesByReceipt(sql, [])).size, 0);
      assert.deepEqual(await readQuote(sql, 'b'), {
        ...aQuote,
        id: 'b',
        intentId: 'pi_b',
        debtor: undefined,
        details: { note: null },
      });
      assert.equal(await readQuote(sql, 'c'), undefined);
    });

    it('are due when their time has come, or lies further ahead than anything waits', async () => {
      const sql = await open(cardMigrations);
      const now = 10 * hour;
      await addQuote(sql, 'opening', { state: 'opening' }, now);
      await addQuote(sql, 'quoted', {}, now - 1);
      await addQuote(sql, 'early', {}, now + 1);
      await addQuote(sql, 'ahead', {}, now + 2 * hour + 1);
      await addQuote(sql, 'not quite', {}, now + 2 * hour);
      await addQuote(sql, 'paid', { state: 'paid' }, now - 5);
      await addQuote(sql, 'owed', { state: 'failed', refundDue: true }, now - 3);
      await addQuote(sql, 'owed later', { state: 'failed', refundDue: true }, now + 3 * hour);
      await addQuote(sql, 'owed wrongly', { state: 'paid', refundDue: true }, now + 48 * hour + 1);
      assert.deepEqual(await dueQuotes(sql, now, 9), ['owed', 'quoted', 'opening', 'ahead', 'owed wrongly']);
      assert.deepEqual(await dueQuotes(sql, now, 2), ['owed', 'quoted']);
      await wakeOpenQuotes(sql, now - 2);
      const rows = await sql.all<{ id: string; due_at: number }>('SELECT id, due_at FROM card_quotes');
      const due = Object.fromEntries(rows.map(({ id, due_at }) => [id, due_at - now]));
      assert.deepEqual(due, {
        ...{ opening: -2, quoted: -2, early: -2, ahead: -2, 'not quite': -2 },
        ...{ paid: -5, owed: -3, 'owed later': -2, 'owed wrongly': -2 },
      });
      await postponeQuote(sql, 'quoted', now + 7);
      assert.equal((await readQuote(sql, 'quoted'))?.attempts, 1);
      assert.equal((await readQuote(sql, 'opening'))?.attempts, 0);
      assert.deepEqual(await dueQuotes(sql, now, 1), ['owed']);
    });

    it('change one at a time', async () => {
      const sql = await open(cardMigrations);
      await addQuote(sql, 'a');
      await addQuote(sql, 'b');
      await sql.transaction((tx) =>
        updateQuote(tx, { ...aQuote, id: 'a', state: 'charged_back', paidAmount: 5 }, 99),
      );
      assert.deepEqual(
        [(await readQuote(sql, 'a'))?.paidAmount, (await readQuote(sql, 'b'))?.paidAmount],
        [5, undefined],
      );
      assert.deepEqual(await sql.get("SELECT changed_at FROM card_quotes WHERE id = 'a'"), {
        changed_at: 99,
      });
      assert.deepEqual(
        [await takeTicket(sql, 'a'), await takeTicket(sql, 'a'), await takeTicket(sql, 'b')],
        [1, 2, 1],
      );
      assert.equal(await takeTicket(sql, 'c'), undefined);
      assert.deepEqual([await chargebacksOf(sql, 'wallet'), await chargebacksOf(sql, 'another')], [1, 0]);
      const returned = (by: bigint, id = 'b') => sql.transaction((tx) => changeReturned(tx, id, by, 1));
      await returned(1_000n);
      await assert.rejects(returned(1n), /returns cannot have taken 1001 winc of quote b/);
      await returned(-1_000n);
      await assert.rejects(returned(-1n), /-1 winc/);
      await assert.rejects(returned(0n, 'c'), /of quote c/);
      await returned(4n);
      assert.deepEqual(
        [(await readQuote(sql, 'a'))?.returned, (await readQuote(sql, 'b'))?.returned],
        [0n, 4n],
      );
    });

    it('are listed for operators, the newest first', async () => {
      const sql = await open(cardMigrations);
      for (const [index, id] of ['a', 'b', 'c', 'd'].entries())
        await addQuote(sql, id, { createdAt: Math.min(index, 2), state: index === 1 ? 'paid' : 'quoted' });
      await addQuote(sql, 'e', { createdAt: 0, paidAmount: 7, refundDue: true, failure: 'late' });
      const ids = async (query: Parameters<typeof recentQuotes>[1]) =>
        (await recentQuotes(sql, query)).map(({ id }) => id).join('');
      assert.equal(await ids({ page: { before: undefined, limit: 9 } }), 'dcbea');
      assert.equal(await ids({ page: { before: undefined, limit: 1 } }), 'dc', 'one more than the page');
      assert.equal(await ids({ page: { before: { at: 2, id: 'd' }, limit: 9 } }), 'cbea');
      assert.equal(await ids({ page: { before: { at: 2, id: 'c' }, limit: 9 } }), 'bea');
      assert.equal(await ids({ state: 'paid', page: { before: undefined, limit: 9 } }), 'b');
      assert.equal(await ids({ state: 'quoted', page: { before: { at: 2, id: 'd' }, limit: 9 } }), 'cea');
      const [last, first] = (
        await recentQuotes(sql, { page: { before: { at: 1, id: 'a' }, limit: 9 } })
      ).slice(-2);
      assert.deepEqual([last?.amount, last?.open, last?.reason, last?.changedAt], ['7', true, 'late', 0]);
      assert.deepEqual([first?.amount, first?.open, first?.reason], ['1000', false, null]);
    });

    it('are left to a person after so many refunds in vain', () => {
      assert.equal(isGivenUp({ refundDue: true, refundTries: 8 }), true);
      assert.equal(isGivenUp({ refundDue: true, refundTries: 7 }), false);
      assert.equal(isGivenUp({ refundDue: false, refundTries: 8 }), false);
    });
  });

  describe('webhooks', () => {
    const event = (id: string, intentId?: string) => ({
      ...{ id, type: 'payment_intent.succeeded', created: 1 },
      ...{ quoteId: undefined, intentId, sessionId: undefined },
    });

    it('are kept once, and dealt with when they are due, the oldest first', async () => {
      const sql = await open(cardMigrations);
      assert.equal(await nextEventAt(sql), undefined);
      assert.equal(await storeEvent(sql, event('b'), 'waiting', 50), true);
      assert.equal(await storeEvent(sql, event('b'), 'waiting', 51), false);
      await storeEvent(sql, event('a'), 'waiting', 50);
      await storeEvent(sql, event('c'), 'waiting', 40);
      await storeEvent(sql, event('d'), 'ignored', 1);
      const due = async (now: number, limit = 9) =>
        (await dueEvents(sql, now, limit)).map(({ id }) => id).join('');
      assert.deepEqual(
        [await due(50), await due(49), await due(50, 2), await nextEventAt(sql)],
        ['cab', 'c', 'ca', 40],
      );
      const waiting = await dueEvents(sql, 40, 9);
      await sql.transaction((tx) => postponeEvents(tx, waiting, ({ attempts }) => 90 + attempts));
      assert.deepEqual([await due(50), await due(90), await nextEventAt(sql)], ['ab', 'cab', 50]);
      assert.equal((await dueEvents(sql, 90, 1))[0]?.attempts, 1);
      // A time that no right clock has given.
      await sql.run("UPDATE card_events SET due_at = ? WHERE id = 'a'", 100 + 20 * minute + 1);
      assert.equal(await due(100), 'cab');
      assert.equal(await due(101), 'cb');
      await sql.transaction((tx) => endEvents(tx, waiting, 'done'));
      assert.equal(await due(101), 'b');
    });

    it('of payments that nobody knows stay until somebody deals with them', async () => {
      const sql = await open(cardMigrations);
      for (const [index, id] of ['a', 'b', 'c'].entries())
        await storeEvent(sql, event(id, `pi_${id}`), 'waiting', 9 - index);
      await storeEvent(sql, event('d'), 'ignored', 1);
      await storeEvent(sql, event('e'), 'ignored', 2);
      const all = await dueEvents(sql, 9, 9);
      await sql.transaction((tx) => endEvents(tx, all.slice(0, 2), 'open'));
      assert.equal(await countOpenEvents(sql), 2);
      assert.deepEqual(
        (await openEvents(sql, 9)).map(({ id, intentId, quoteId }) => [id, intentId, quoteId]),
        [
          ['c', 'pi_c', null],
          ['b', 'pi_b', null],
        ],
      );
      assert.equal((await openEvents(sql, 1)).length, 1);
      assert.deepEqual(
        [await endOpenEvent(sql, 'a'), await endOpenEvent(sql, 'b'), await endOpenEvent(sql, 'b')],
        [false, true, false],
      );
      await sql.transaction((tx) => wakeOpenEvents(tx, 'pi_x', 20));
      assert.equal(await countOpenEvents(sql), 1);
      await forgetEvents(sql, 2);
      assert.deepEqual(
        (await sql.all<{ id: string }>('SELECT id FROM card_events ORDER BY id')).map(({ id }) => id),
        ['a', 'b', 'c', 'e'],
      );
      await forgetEvents(sql, 99);
      await sql.transaction((tx) => wakeOpenEvents(tx, 'pi_c', 20));
      assert.deepEqual(await sql.all('SELECT id, state, due_at FROM card_events ORDER BY id'), [
        { id: 'a', state: 'waiting', due_at: 9 },
        { id: 'c', state: 'waiting', due_at: 20 },
      ]);
    });

    it('are read on from where they were read to', async () => {
      const sql = await open(cardMigrations);
      await sql.run("INSERT INTO card_cursor (name, value) VALUES ('another list', 3)");
      assert.equal(await readCursor(sql), undefined);
      await writeCursor(sql, 5);
      await writeCursor(sql, 7);
      assert.equal(await readCursor(sql), 7);
    });
  });

  it('what a quote is worth is read as it was written', async () => {
    const sql = await open(cardMigrations);
    await addQuote(sql, 'a', { winc: winc(10n ** 30n), undelivered: true });
    const { winc: stored, undelivered, refundDue } = (await readQuote(sql, 'a')) ?? {};
    assert.deepEqual([stored, undelivered, refundDue], [10n ** 30n, true, false]);
  });
});
