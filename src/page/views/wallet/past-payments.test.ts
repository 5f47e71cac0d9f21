import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creditsByDay, describePayment } from './past-payments.ts';

const paid = (date: string, wincCredited: string) => ({ type: 'fiat', date, wincCredited });
const now = Date.parse('2026-11-16T12:00:00Z');

test('payments are told as people paid them', () => {
  const card = { ...paid('', '1'), paymentAmount: '2500', currencyType: 'usd', receiptId: 'r' };
  assert.deepEqual(describePayment(card), { how: 'Card', paid: '$25.00', reference: 'r' });
  const yen = { ...paid('', '1'), paymentAmount: '2500', currencyType: 'jpy' };
  assert.equal(describePayment(yen).paid, '¥2,500');
  const coin = {
    ...paid('', '1'),
    type: 'crypto',
    tokenType: 'arweave',
    tokenQuantity: '1500000000000',
    transactionId: 't',
  };
  assert.deepEqual(describePayment(coin), { how: 'Coin (AR)', paid: '1.5 AR', reference: 't' });
});

test('what a service says in another form is not guessed at', () => {
  assert.equal(describePayment({ ...paid('', '1'), paymentAmount: {}, currencyType: 'x' }).paid, '–');
  const strange = { ...paid('', '1'), type: 'crypto', tokenType: '__proto__', tokenQuantity: '-1' };
  assert.deepEqual(describePayment(strange), { how: 'Coin (__proto__)', paid: '–', reference: undefined });
});

test('the chart has every day of the last month, and a long history only the days that matter', () => {
  const month = creditsByDay(
    [paid('2026-11-16T01:00:00Z', '1000000000000'), paid('2026-11-16T02:00:00Z', '500000000000')],
    now,
  );
  assert.equal(month.length, 30);
  assert.deepEqual(month.at(-1), [Date.parse('2026-11-16T00:00:00Z'), 1.5]);
  assert.deepEqual(month.at(0), [Date.parse('2026-10-18T00:00:00Z'), 0]);
  assert.equal(creditsByDay([paid('2020-01-01T00:00:00Z', '1'), paid('no date', '1')], now).length, 1);
});
