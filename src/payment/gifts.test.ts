import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FiatPayment, winc } from '../credits/credits.ts';
import { createCredits } from '../credits/ledger/ledger.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { createGifts, escapeHtml, isEmail, waitingGifts } from './gifts.ts';
import { paymentBenchMigrations } from './testing.ts';

const wallet = { address: 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB', addressType: 'solana' };
const payment: FiatPayment = {
  type: 'fiat',
  paymentAmount: '500',
  currencyType: 'usd',
  paymentProvider: 'stripe',
  receiptId: 'gift',
  giftMessage: 'for you',
};

forEachEngine((_engine, open) =>
  describe('gifts', () => {
    async function shop() {
      const sql = await open(paymentBenchMigrations);
      const credits = createCredits({ sql });
      const gifts = createGifts({ sql, credits });
      const gift = { receiptId: 'gift', quoteId: 'quote', email: 'a@example.com', amount: winc(7n), payment };
      await sql.transaction((tx) => gifts.createIn(tx, gift));
      await sql.transaction((tx) => gifts.createIn(tx, gift));
      return { sql, credits, gifts };
    }
    const redemption = { id: 'gift', email: 'a@example.com', wallet };

    it('are redeemed once however many try at the same time', async () => {
      const { credits, gifts } = await shop();
      const tries = await Promise.allSettled(Array.from({ length: 20 }, () => gifts.redeem(redemption)));
      assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal((await credits.balance(wallet.address))?.winc, 7n);
      const [shown] = (await credits.payments(wallet.address, { limit: 5 })).items;
      assert.deepEqual(shown?.record, payment);
    });

    it('that were withdrawn give nothing; of one redeemed, its holder is told', async () => {
      const { sql, credits, gifts } = await shop();
      assert.equal(await sql.transaction((tx) => gifts.withdrawIn(tx, 'gift')), undefined);
      await assert.rejects(gifts.redeem(redemption), /Failure to redeem/);
      assert.equal(await credits.balance(wallet.address), undefined);

      const again = {
        receiptId: 'second',
        quoteId: 'second quote',
        email: 'a@example.com',
        amount: winc(7n),
        payment,
      };
      await sql.transaction((tx) => gifts.createIn(tx, again));
      assert.deepEqual(
        (await waitingGifts(sql, Date.now(), 10)).map(({ receiptId, quoteId }) => [receiptId, quoteId]),
        [['second', 'second quote']],
      );
      await gifts.redeem({ ...redemption, id: 'second quote' });
      await assert.rejects(gifts.redeem({ ...redemption, id: 'second' }), /already been redeemed/);
      assert.deepEqual(await waitingGifts(sql, Date.now(), 10), []);
      assert.deepEqual(await sql.transaction((tx) => gifts.withdrawIn(tx, 'second')), wallet);
    });
  }),
);

describe('addresses of mail', () => {
  it('are told from what is none', () => {
    for (const fine of ['a@example.com', 'a.b+c@sub.example.org', "o'neil@example.com"])
      assert.ok(isEmail(fine));
    for (const wrong of [
      '',
      'a',
      '@example.com',
      'a@b',
      'a b@example.com',
      'a\u0000b@example.com',
      'a@exam\u0000ple.com',
      'a\ud800@example.com',
      'a@@example.com',
      '<a@example.com>',
    ]) {
      assert.ok(!isEmail(wrong), wrong);
    }
  });

  it('are kept escaped', () => {
    assert.equal(escapeHtml(`a&b<c>"d'@e`), 'a&#38;b&#60;c&#62;&#34;d&#39;@e');
  });
});
