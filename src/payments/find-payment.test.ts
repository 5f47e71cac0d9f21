/** One payment by what its payer knows of it, and the newest of all kinds for operators. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { winc } from '../credits/credits.ts';
import { creditsMigrations } from '../credits/migrations.ts';
import { paymentMigrations } from '../payment/migrations.ts';
import { insertion } from '../storage/sql/columns.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { cardMigrations } from './card/migrations.ts';
import { insertQuote, type QuoteRow } from './card/quotes.ts';
import { aQuote } from './card/testing.ts';
import { insertRow } from './chain/store.ts';
import { aChainPayment } from './chain/testing.ts';
import { describeChainPayment, findCardPayment, findX402Payment } from './find-payment.ts';
import { isPaymentKind, recentPayments } from './recent-payments.ts';
import { x402Migrations } from './x402/migrations.ts';

const addQuote = (sql: Sql, id: string, more: Partial<QuoteRow> = {}) =>
  sql.transaction((tx) =>
    insertQuote(tx, {
      row: { ...aQuote, id, intentId: `pi_${id}`, ...more },
      ...{ adjustments: '[]', referer: null, dueAt: 0 },
    }),
  );

async function addX402(sql: Sql, id: string, state: string, at: number): Promise<void> {
  const row = {
    ...{ id, version: 1, network: 'eip155:84532', payer: 'payer', nonce: id, value: '5', valid_before: '0' },
    ...{ request: '{}', purpose: 'top-up', address: 'anna', address_type: 'arweave', winc: '50', state },
    ...{ leased_until: 0, attempts: 0, due_at: at, created_at: at, changed_at: at + 1 },
    transaction_id: `0xab${id}`,
  };
  await sql.run(`INSERT INTO x402_payments ${insertion(row)}`, ...Object.values(row));
}

forEachEngine((_engine, open) => {
  const opened = () =>
    open([...creditsMigrations, ...paymentMigrations, ...cardMigrations, ...x402Migrations]);

  it('a card payment is found by its quote or its receipt, and says how it stands', async () => {
    const sql = await opened();
    await addQuote(sql, 'a', { receiptId: 'ra', state: 'paid', paidAmount: 1100 });
    await addQuote(sql, 'b', { receiptId: 'rb', state: 'charged_back' });
    await addQuote(sql, 'c', { addressType: 'email', winc: winc(5n) });
    const found = async (id: string) => {
      const payment = await findCardPayment(sql, id);
      return payment && [payment.id, payment.state, payment.amount, payment.address, payment.winc];
    };
    assert.deepEqual(await found('a'), ['a', 'credited', '1100', 'wallet', '1000']);
    assert.deepEqual(await found('ra'), await found('a'));
    assert.deepEqual(await found('rb'), ['b', 'returned', '1000', 'wallet', '1000']);
    assert.deepEqual(await found('c'), ['c', 'pending', '1000', null, '5'], 'a gift is for who knows it');
    assert.equal(await found('rc'), undefined);
  });

  it('an x402 payment is found by its own id or its transaction, in any case of letters', async () => {
    const sql = await opened();
    await addX402(sql, '1', 'credited', 10);
    await addX402(sql, '2', 'open', 20);
    await addX402(sql, '3', 'failed', 30);
    await addX402(sql, '4', 'unclear', 40);
    const found = async (id: string) => {
      const payment = await findX402Payment(sql, id);
      return payment && [payment.id, payment.state, payment.endedAt];
    };
    assert.deepEqual(await found('1'), ['1', 'credited', 11]);
    assert.deepEqual(await found('0xAB2'), ['2', 'pending', null]);
    assert.deepEqual(await found('0xab3'), ['3', 'failed', 31]);
    assert.deepEqual(await found('4'), ['4', 'unclear', null]);
    assert.equal(await found('5'), undefined);
  });

  it('a chain payment says why it failed', () => {
    const told = (more: Partial<typeof aChainPayment>) =>
      describeChainPayment({ ...aChainPayment, ...more }).explanation;
    assert.match(told({}), /waits for more confirmations/);
    assert.match(told({ state: 'credited' }), /has arrived/);
    assert.match(told({ state: 'failed', failure_reason: 'too_small' }), /less than one winc/);
    assert.equal(told({ state: 'failed' }), 'The payment failed.');
  });

  it('the newest of all kinds come in one list, page by page', async () => {
    const sql = await opened();
    await addQuote(sql, 'card 1', { createdAt: 10 });
    await addQuote(sql, 'card 2', { createdAt: 30, state: 'paid' });
    await addX402(sql, 'x402 1', 'open', 20);
    await addX402(sql, 'x402 2', 'credited', 30);
    await sql.transaction((tx) =>
      insertRow(tx, { ...aChainPayment, transaction_id: 'chain 1', created_at: 25 }),
    );
    const list = async (limit: number, more: Partial<Parameters<typeof recentPayments>[1]> = {}) => {
      const { items, next } = await recentPayments(sql, {
        now: 40,
        page: { before: undefined, limit },
        ...more,
      });
      return { ids: items.map(({ id }) => id), next };
    };
    const all = ['x402 2', 'card 2', 'arweave:chain 1', 'x402 1', 'card 1'];
    assert.deepEqual((await list(9)).ids, all);
    const first = await list(2);
    assert.deepEqual(first.ids, all.slice(0, 2));
    assert.notEqual(first.next, null);
    assert.equal((await list(5)).next, null);
    assert.deepEqual(
      (await list(9, { page: { before: { at: 30, id: 'card 2' }, limit: 9 } })).ids,
      all.slice(2),
    );
    assert.deepEqual((await list(9, { kind: 'card' })).ids, ['card 2', 'card 1']);
    assert.deepEqual((await list(9, { kind: 'chain' })).ids, ['arweave:chain 1']);
    assert.deepEqual((await list(9, { kind: 'x402', state: 'open' })).ids, ['x402 1']);
    assert.deepEqual([isPaymentKind('x402'), isPaymentKind('cash')], [true, false]);
  });
});
