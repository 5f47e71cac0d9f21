import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pricing as variables } from '../config/variables/pricing.ts';
import { createCredits } from '../credits/ledger/ledger.ts';
import { creditsMigrations } from '../credits/migrations.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { addRow, allRows, endRows, InvalidRow } from './catalogue/rows.ts';
import { configuredFees } from './configured.ts';
import { parseCurrency } from './currencies.ts';
import { AdjustmentUsedUp, OracleUnavailable, PromoCodeRefused, renderAdjustment, winc } from './pricing.ts';
import { staticRates } from './rates/table.ts';
import { createPricing } from './service.ts';

forEachEngine((_engine, open) => {
  async function market() {
    const clock = { now: Date.UTC(2026, 0, 1) };
    const sql = await open(creditsMigrations);
    const credits = createCredits({ sql, now: () => clock.now });
    const outside = { networkDown: false, ratesDown: false };
    const rates = staticRates(variables.STATIC_RATES.fallback);
    const pricing = createPricing({
      sql,
      rates: {
        fetch: () => (outside.ratesDown ? Promise.reject(new Error('down')) : rates.fetch()),
      },
      network: {
        fetch: () =>
          outside.networkDown ? Promise.reject(new Error('down')) : Promise.resolve(12_345_678_901_234n),
      },
      hasPaid: credits.hasPaid,
      ratesFreshMs: 60_000,
      ratesUsableMs: 3_600_000,
      networkFreshMs: 900_000,
      networkUsableMs: 3_600_000,
      catalogueFreshMs: 0,
      usdPerItem: '0.00002',
      fees: configuredFees('Infrastructure Fee', '0.766', '0.5'),
      tokensWithoutFees: ['ario'],
      now: () => clock.now,
    });
    /** Old enough that nothing in memory is used any more. */
    const refresh = () => {
      clock.now += 3_600_000;
    };
    return { sql, credits, pricing, clock, outside, refresh };
  }

  describe('pricing', () => {
    it('quotes bytes with the surcharge and the rates of a gibibyte without it', async () => {
      const { pricing } = await market();
      const quote = await pricing.quoteBytes(1_024);
      assert.deepEqual(
        [quote.winc, quote.networkWinc, quote.surchargeWinc, quote.adjustments],
        [4_377_376n, 1_177_376n, 3_200_000n, []],
      );
      const rates = await pricing.gibibyteRates();
      assert.equal(rates.winc, 1_234_567_890_124n);
      assert.ok(Math.abs(rates.fiat.usd - (1.234567890124 * 6.25) / 0.766) < 1e-9);
    });

    it('says what it lacks to price anything, and asks for it before it says so', async () => {
      const { pricing, outside, refresh } = await market();
      assert.deepEqual(await pricing.problems(), []);
      outside.networkDown = true;
      assert.deepEqual(await pricing.problems(), [], 'the price of a moment ago is used');
      refresh();
      assert.deepEqual(await pricing.problems(), ['No price of storage is known: no Arweave node tells it.']);
      outside.ratesDown = true;
      refresh();
      assert.equal((await pricing.problems()).length, 2);
      Object.assign(outside, { networkDown: false, ratesDown: false });
      refresh();
      assert.deepEqual(await pricing.problems(), []);
    });

    it('quotes fiat and tokens with the configured fee', async () => {
      const { pricing } = await market();
      const fiat = await pricing.quoteFiat(1_000, 'usd');
      assert.deepEqual(
        [fiat.winc, fiat.paymentAmount, fiat.quotedPaymentAmount, fiat.adjustments],
        [1_225_600_000_000n, 1_000, 1_000, []],
      );
      assert.deepEqual(fiat.fees.map(renderAdjustment), [
        {
          name: 'Infrastructure Fee',
          description: 'Covers the cost of infrastructure and of the payment provider',
          operator: 'multiply',
          operatorMagnitude: '0.766',
          adjustmentAmount: '-234',
        },
      ]);
      assert.equal((await pricing.quoteToken(10n ** 12n, 'arweave')).winc, 766_000_000_000n);
      const kyve = await pricing.quoteToken(10n ** 9n, 'kyve');
      assert.equal(kyve.winc * 2n, kyve.equivalentWinc);
      const ario = await pricing.quoteToken(10n ** 9n, 'ario');
      assert.equal(ario.winc, ario.equivalentWinc);
      assert.deepEqual(ario.fees, []);
    });

    it('finds the charge for a purchase and raises it to what the provider takes', async () => {
      const { pricing } = await market();
      const quote = await pricing.quotePurchase(winc(1_225_600_000_000n), 'usd');
      assert.deepEqual(
        [quote.quotedPaymentAmount, quote.paymentAmount, quote.excessWinc],
        [1_000, 1_000, 0n],
      );
      const small = await pricing.quotePurchase(winc(1n), 'usd');
      assert.deepEqual([small.quotedPaymentAmount, small.paymentAmount], [2, 50]);
      assert.ok(small.excessWinc > 0n);
      assert.equal(await pricing.fiatOf(winc(10n ** 12n), 'usd'), 625);
    });

    it('sees rows added to the catalogue and those ended', async () => {
      const { sql, pricing, clock, refresh } = await market();
      const common = { operator: 'multiply', magnitude: '0.5' } as const;
      const half = await addRow(sql, { ...common, kind: 'upload', name: 'Half price' }, clock.now);
      await addRow(sql, { ...common, kind: 'payment', name: 'Sale', exclusivity: 'exclusive' }, clock.now);
      refresh();
      assert.equal((await pricing.quoteBytes(1_024)).winc, 588_688n + 3_200_000n);
      assert.equal((await pricing.quoteFiat(1_000, 'usd')).paymentAmount, 500);
      assert.equal(await endRows(sql, half, clock.now), 1);
      assert.equal(await endRows(sql, half, clock.now), 0);
      refresh();
      assert.equal((await pricing.quoteBytes(1_024)).winc, 4_377_376n);
      assert.equal((await allRows(sql)).length, 2);
    });

    it('refuses catalogue rows that make no sense', async () => {
      const { sql, clock } = await market();
      const fine = {
        kind: 'promo',
        name: 'Promo',
        operator: 'multiply',
        magnitude: '0.8',
        code: 'X',
      } as const;
      for (const wrong of [
        { magnitude: 'lots' },
        { magnitude: '-1' },
        { name: '' },
        { code: 'two words' },
        { code: '' },
        { maxUses: -1 },
        { minimumPayment: 1.5 },
        { startsAt: 5, endsAt: 5 },
        { wincLimitation: -1n },
        { kind: 'payment' as const },
      ]) {
        await assert.rejects(addRow(sql, { ...fine, ...wrong }, clock.now), InvalidRow);
      }
      assert.deepEqual(await allRows(sql), []);
    });

    it('counts what a limited row has spared a user, until the spending is refunded', async () => {
      const { sql, credits, pricing, clock, refresh } = await market();
      await addRow(
        sql,
        { kind: 'upload', name: 'Free', operator: 'multiply', magnitude: '0', wincLimitation: 2_000_000n },
        clock.now,
      );
      refresh();
      const first = await pricing.quoteBytes(1_024, 'alice');
      assert.equal(first.winc, 3_200_000n);
      assert.equal((await pricing.quoteBytes(1_024)).winc, 4_377_376n, 'not without a user');
      await credits.credit({
        address: 'alice',
        addressType: 'arweave',
        amount: winc(10n ** 12n),
        reason: 'payment',
        id: 'r',
      });
      await credits.spend({
        id: 'item',
        reason: 'upload',
        signer: 'alice',
        signerType: 'arweave',
        amount: first.winc,
        adjustments: first.adjustments,
      });
      assert.equal((await pricing.quoteBytes(1_024, 'alice')).winc, 4_377_376n, 'the limit is reached');
      assert.equal((await pricing.quoteBytes(1_024, 'bob')).winc, 3_200_000n, 'others have their own');
      await credits.refund('upload', 'item');
      assert.equal((await pricing.quoteBytes(1_024, 'alice')).winc, 3_200_000n);
    });

    const free = { kind: 'upload', name: 'Free', operator: 'multiply', magnitude: '0' } as const;

    it('counts it for the signer, whomever he asks to pay', async () => {
      const { sql, credits, pricing, clock, refresh } = await market();
      await addRow(sql, { ...free, wincLimitation: 2_000_000n }, clock.now);
      refresh();
      const quote = await pricing.quoteBytes(1_024, 'alice');
      const signed = { reason: 'upload', signer: 'alice', signerType: 'arweave' } as const;
      const payment = { amount: winc(0n), adjustments: quote.adjustments, paidBy: ['nobody'] };
      await credits.spend({ id: 'item', ...signed, ...payment });
      assert.equal((await pricing.quoteBytes(1_024, 'alice')).winc, 4_377_376n);
    });

    it('spares nobody more than its limit, however many spend at once', async () => {
      const { sql, credits, pricing, clock, refresh } = await market();
      await addRow(sql, { ...free, wincLimitation: 4_000_000n }, clock.now);
      refresh();
      const { adjustments } = await pricing.quoteBytes(1_024, 'alice');
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) =>
          credits.spend({
            id: `item ${index}`,
            reason: 'upload',
            signer: 'alice',
            signerType: 'arweave',
            amount: winc(0n),
            adjustments,
          }),
        ),
      );
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof AdjustmentUsedUp);
      }
      assert.equal((await credits.selfCheck()).spendings, 3);
    });

    it('answers from the last price while the network is down, then refuses', async () => {
      const { pricing, clock, outside } = await market();
      await pricing.quoteBytes(1);
      outside.networkDown = true;
      clock.now += 3_599_999;
      assert.equal((await pricing.quoteBytes(1)).networkWinc, 1_150n);
      clock.now += 1;
      await assert.rejects(
        pricing.quoteBytes(1),
        (error) => error instanceof OracleUnavailable && error.oracle === 'network',
      );
    });
  });

  describe('without exchange rates', () => {
    it('AR is priced all the same, unless a fee is in cents; other tokens are not', async () => {
      const { sql, pricing, clock, outside, refresh } = await market();
      outside.ratesDown = true;
      const bare = { inWincOnly: true };
      const quote = await pricing.quoteToken(10n ** 12n, 'arweave', bare);
      assert.deepEqual(
        [quote.winc, quote.equivalentWinc, quote.usdEquivalent],
        [766_000_000_000n, 10n ** 12n, '0'],
      );
      const isRates = (error: unknown) => error instanceof OracleUnavailable && error.oracle === 'rates';
      await assert.rejects(pricing.quoteToken(10n ** 9n, 'solana', bare), isRates);
      // A payment is remembered with its worth in dollars.
      await assert.rejects(pricing.quoteToken(10n ** 12n, 'arweave'), isRates);
      const cents = { kind: 'payment', name: 'Cents', operator: 'add', magnitude: '-1' } as const;
      await addRow(sql, { ...cents, exclusivity: 'inclusive' }, clock.now);
      refresh();
      await assert.rejects(pricing.quoteToken(10n ** 12n, 'arweave', bare), isRates);
    });

    it('a currency is spelled in ASCII letters of any case', () => {
      assert.equal(parseCurrency('HKD'), 'hkd');
      assert.equal(parseCurrency('H\u212Ad'), undefined);
    });
  });

  describe('promo codes', () => {
    const twenty = { kind: 'promo', name: '20 % off', operator: 'multiply', magnitude: '0.8' } as const;
    const codes = (...list: string[]) => ({ codes: list, address: 'alice' });
    const refused = (text: string) => (error: unknown) =>
      error instanceof PromoCodeRefused && error.message === text;

    it('are used no more often than their limit, however many are paid at once', async () => {
      const { sql, pricing, clock } = await market();
      await addRow(sql, { ...twenty, code: 'TWENTY', maxUses: 2 }, clock.now);
      const { adjustments } = await pricing.quoteFiat(1_000, 'usd', codes('TWENTY'));
      const wallets = Array.from({ length: 12 }, (_, index) => `wallet ${index}`);
      for (const address of wallets) {
        const hold = { quoteId: address, address, expiresAt: clock.now + 1, adjustments };
        await sql.transaction((tx) => pricing.promoUses.holdIn(tx, hold));
      }
      const outcomes = await Promise.allSettled(
        wallets.map((quoteId) =>
          sql.transaction(async (tx) => {
            await pricing.promoUses.useIn(tx, quoteId);
            // What a payment does besides: the transaction stays open, so that others come between.
            for (let turn = 0; turn < 20; turn += 1) await tx.get('SELECT 1 AS one');
          }),
        ),
      );
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
    });

    it('lower the charge and not the credit', async () => {
      const { sql, pricing, clock } = await market();
      await addRow(sql, { ...twenty, code: 'TWENTY' }, clock.now);
      const quote = await pricing.quoteFiat(1_000, 'usd', codes('TWENTY'));
      assert.deepEqual([quote.paymentAmount, quote.winc], [800, 1_225_600_000_000n]);
      assert.equal(quote.adjustments[0]?.promoCode, 'TWENTY');
    });

    it('are refused in the words that clients know', async () => {
      const { sql, pricing, clock } = await market();
      await addRow(sql, { ...twenty, code: 'OLD', endsAt: clock.now + 10 }, clock.now);
      await addRow(sql, { ...twenty, code: 'BIG', minimumPayment: 5_000 }, clock.now);
      await addRow(sql, { ...twenty, code: 'LOYAL', targetGroup: 'existing' }, clock.now);
      await addRow(sql, { ...twenty, code: 'LATER', startsAt: clock.now + 60_000 }, clock.now);
      clock.now += 10;
      const cases: [string, string][] = [
        ['NONE', "No promo code found with code 'NONE'"],
        ['LATER', "No promo code found with code 'LATER'"],
        ['OLD', "The promo code 'OLD' expired on '2026-01-01T00:00:00.010Z'"],
        ['BIG', "The promo code 'BIG' can only used on payments above '5000'"],
        ['LOYAL', "The user 'alice' is ineligible for the promo code 'LOYAL'"],
      ];
      for (const [code, text] of cases) {
        await assert.rejects(pricing.quoteFiat(1_000, 'usd', codes(code)), refused(text));
      }
      await assert.rejects(pricing.quoteFiat(1_000, 'jpy', codes('BIG')), PromoCodeRefused);
      assert.equal((await pricing.quoteFiat(7_600, 'jpy', codes('BIG'))).paymentAmount, 6_080);
      const many = Array.from({ length: 11 }, (_, index) => `C${index}`);
      await assert.rejects(pricing.quoteFiat(1_000, 'usd', codes(...many)), PromoCodeRefused);
    });

    it('count what was paid: open quotes of one wallet or many keep nobody out', async () => {
      const { sql, pricing, clock } = await market();
      await addRow(sql, { ...twenty, code: 'TWICE', maxUses: 2 }, clock.now);
      const hold = async (address: string, quoteId: string) => {
        const quote = await pricing.quoteFiat(1_000, 'usd', { codes: ['TWICE'], address });
        const expiresAt = clock.now + 1_000;
        await sql.transaction((tx) =>
          pricing.promoUses.holdIn(tx, { quoteId, address, expiresAt, adjustments: quote.adjustments }),
        );
      };
      for (const quoteId of ['m1', 'm2', 'm3']) await hold('mallory', quoteId);
      await hold('alice', 'q1');
      await hold('alice', 'q1 reloaded');
      await hold('bob', 'q2');
      await hold('carol', 'q3');
      await sql.transaction((tx) => pricing.promoUses.useIn(tx, 'q1 reloaded'));
      await sql.transaction((tx) => pricing.promoUses.useIn(tx, 'q2'));
      const usedUp = "The promo code 'TWICE' has already been used the maximum number of times (2)";
      for (const late of ['m1', 'q1', 'q3']) {
        await assert.rejects(
          sql.transaction((tx) => pricing.promoUses.useIn(tx, late)),
          refused(usedUp),
        );
      }
      await sql.transaction((tx) => pricing.promoUses.releaseIn(tx, 'q3'));
      await assert.rejects(hold('dora', 'q4'), refused(usedUp));
      assert.equal((await sql.all("SELECT 1 AS one FROM pricing_promo_uses WHERE state = 'used'")).length, 2);
    });

    it('work once per wallet, also when two quotes were open', async () => {
      const { sql, pricing, clock } = await market();
      await addRow(sql, { ...twenty, code: 'ONCE' }, clock.now);
      const { adjustments } = await pricing.quoteFiat(1_000, 'usd', codes('ONCE'));
      const expiresAt = clock.now + 1_000;
      for (const quoteId of ['q1', 'q2']) {
        await sql.transaction((tx) =>
          pricing.promoUses.holdIn(tx, { quoteId, address: 'alice', expiresAt, adjustments }),
        );
      }
      const ineligible = "The user 'alice' is ineligible for the promo code 'ONCE'";
      await sql.transaction((tx) => pricing.promoUses.useIn(tx, 'q1'));
      await assert.rejects(
        sql.transaction((tx) => pricing.promoUses.useIn(tx, 'q2')),
        refused(ineligible),
      );
      await assert.rejects(pricing.quoteFiat(1_000, 'usd', codes('ONCE')), refused(ineligible));
    });

    it('for new wallets end with the first payment', async () => {
      const { sql, credits, pricing, clock } = await market();
      await addRow(sql, { ...twenty, code: 'HELLO', targetGroup: 'new' }, clock.now);
      assert.equal((await pricing.quoteFiat(1_000, 'usd', codes('HELLO'))).paymentAmount, 800);
      await credits.credit({
        address: 'alice',
        addressType: 'arweave',
        amount: winc(1n),
        reason: 'payment',
        id: 'r',
        payment: {
          type: 'fiat',
          paymentAmount: '1',
          currencyType: 'usd',
          paymentProvider: 'stripe',
          receiptId: 'r',
          giftMessage: null,
        },
      });
      await assert.rejects(pricing.quoteFiat(1_000, 'usd', codes('HELLO')), PromoCodeRefused);
    });
  });
});
