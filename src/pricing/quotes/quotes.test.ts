import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decimal } from '../decimal.ts';
import { AmountTooSmall, type Currency } from '../pricing.ts';
import type { AdjustmentRow } from './adjust.ts';
import { adjustUpload, itemSurcharge, networkPrice, type UploadRow } from './bytes.ts';
import {
  chargeFees,
  discount,
  type FiatPrices,
  fromCents,
  limitsOf,
  toCents,
  wincOfFiat,
  withFees,
} from './fiat.ts';
import { chargeTokenFees, usdcOfWinc, usdOfToken, wincOfToken, wincOfUsdc } from './token.ts';

const usdPerAr = decimal('6.25');
const reference = 12_345_678_901_234n;

const row = (operator: 'multiply' | 'add', magnitude: string): AdjustmentRow => ({
  id: `${operator} ${magnitude}`,
  name: 'Fee',
  description: '',
  operator,
  magnitude: decimal(magnitude),
  magnitudeText: magnitude,
});
const upload = (
  operator: 'multiply' | 'add',
  magnitude: string,
  more: Partial<UploadRow> = {},
): UploadRow => ({
  ...row(operator, magnitude),
  byteCountThreshold: 0,
  wincLimitation: 0n,
  ...more,
});
const prices = (currency: Currency, perAr: string): FiatPrices => ({
  currency,
  perAr: decimal(perAr),
  usdPerAr,
});
const fee = [row('multiply', '0.766')];

describe('bytes to winc', () => {
  it('prorates the price of 10 GiB and rounds up once', () => {
    const expected: [number, bigint][] = [
      [0, 0n],
      [1, 1_150n],
      [1_024, 1_177_376n],
      [262_144, 301_408_177n],
      [262_145, 301_409_327n],
      [1_048_576, 1_205_632_706n],
      [2 ** 30, 1_234_567_890_124n],
      [10 * 2 ** 30, reference],
    ];
    for (const [bytes, winc] of expected)
      assert.equal(networkPrice(reference, bytes), winc, `${bytes} bytes`);
  });

  it('adds a surcharge per item without the error of doubles', () => {
    assert.equal(itemSurcharge(decimal('0.00002'), usdPerAr), 3_200_000n);
    assert.equal(networkPrice(reference, 1_024) + itemSurcharge(decimal('0.00002'), usdPerAr), 4_377_376n);
  });

  it('applies rows in order, rounds down, stays at zero or above and then stops', () => {
    const adjusted = adjustUpload(1_001n, 10, [
      upload('multiply', '0.5'),
      upload('add', '-600'),
      upload('multiply', '2'),
    ]);
    assert.equal(adjusted.amount, 0n);
    assert.deepEqual(
      adjusted.applied.map(({ amount }) => amount),
      [-501n, -500n],
    );
  });

  it('skips a row above its threshold', () => {
    const rows = [upload('multiply', '0', { byteCountThreshold: 100 })];
    assert.equal(adjustUpload(50n, 100, rows).amount, 0n);
    assert.equal(adjustUpload(50n, 101, rows).amount, 50n);
  });

  it('applies a limited row only to a user who has not yet been spared so much', () => {
    const rows = [upload('multiply', '0', { id: 'free', wincLimitation: 100n })];
    assert.equal(adjustUpload(60n, 1, rows).amount, 60n);
    assert.equal(adjustUpload(60n, 1, rows, new Map([['free', 40n]])).amount, 0n);
    assert.equal(adjustUpload(60n, 1, rows, new Map([['free', 41n]])).amount, 60n);
  });
});

describe('fiat to winc', () => {
  it('credits what is left after the fee at the price of AR', () => {
    const cases: [bigint, FiatPrices, bigint, bigint][] = [
      [1_000n, prices('usd', '6.25'), 766n, 1_225_600_000_000n],
      [1_500n, prices('jpy', '940'), 1_149n, 1_222_340_425_532n],
      [2_500n, prices('eur', '5.7'), 1_915n, 3_359_649_122_807n],
    ];
    for (const [amount, at, credited, winc] of cases) {
      const fees = chargeFees(amount, fee, at);
      assert.equal(fees.amount, credited);
      assert.equal(fees.applied[0]?.amount, credited - amount);
      assert.equal(wincOfFiat(fees.amount, at), winc);
    }
  });

  it('converts US cents to the currency and back', () => {
    assert.equal(fromCents(500n, prices('jpy', '940')), 752n);
    assert.equal(fromCents(500n, prices('aud', '9.4')), 752n);
    assert.equal(toCents(752n, prices('jpy', '940')), 500n);
    assert.equal(toCents(752n, prices('aud', '9.4')), 500n);
  });

  it('discounts the charge, at most by the maximum, never below zero', () => {
    const usd = prices('usd', '6.25');
    const twenty = { ...row('multiply', '0.8'), promoCode: 'TWENTY', maximumDiscount: 0n };
    assert.equal(discount(1_000n, [twenty], usd).amount, 800n);
    assert.equal(discount(1_000n, [twenty], usd).applied[0]?.promoCode, 'TWENTY');
    assert.equal(discount(1_000n, [{ ...twenty, maximumDiscount: 150n }], usd).amount, 850n);
    assert.equal(discount(1_000n, [{ ...twenty, maximumDiscount: 200n }], usd).amount, 800n);
    assert.equal(discount(1_000n, [{ ...twenty, maximumDiscount: 150n }], prices('jpy', '940')).amount, 800n);
    const off = { ...row('add', '-300'), maximumDiscount: 0n };
    assert.equal(discount(200n, [off], usd).amount, 0n);
    assert.equal(discount(1_000n, [off], prices('aud', '9.4')).amount, 549n);
  });

  it('finds the payment of which enough is left after the fees', () => {
    const usd = prices('usd', '6.25');
    const rows = [row('multiply', '0.766'), row('add', '-30')];
    for (let credited = 1n; credited < 3_000n; credited += 37n) {
      const payment = withFees(credited, rows, usd);
      assert.ok(chargeFees(payment, rows, usd).amount >= credited, `${credited}`);
      assert.ok(chargeFees(payment - 2n, rows, usd).amount < credited, `${credited} is not the least`);
    }
  });
});

describe('tokens to winc', () => {
  it('takes winston as winc', () => {
    const worth = wincOfToken(10n ** 12n, 'arweave', { usdPerToken: usdPerAr, usdPerAr });
    assert.equal(worth, 10n ** 12n);
    assert.equal(chargeTokenFees(worth, fee, usdPerAr).amount, 766_000_000_000n);
  });

  it('converts others by their dollar prices', () => {
    const worth = wincOfToken(10n ** 16n, 'ethereum', { usdPerToken: decimal('3125'), usdPerAr });
    assert.equal(worth, 5_000_000_000_000n);
    assert.equal(chargeTokenFees(worth, fee, usdPerAr).amount, 3_830_000_000_000n);
    assert.equal(usdOfToken(10n ** 16n, 'ethereum', decimal('3125')), '31.250000');
    assert.equal(usdOfToken(1n, 'usdc', decimal('1')), '0.000001');
  });

  it('refuses what is worth less than one winc', () => {
    assert.throws(
      () => wincOfToken(1n, 'ethereum', { usdPerToken: decimal('3125'), usdPerAr }),
      AmountTooSmall,
    );
  });

  it('applies an addend in US cents', () => {
    assert.equal(chargeTokenFees(10n ** 12n, [row('add', '-625')], usdPerAr).amount, 0n);
    assert.equal(chargeTokenFees(10n ** 12n, [row('add', '-62.5')], usdPerAr).amount, 900_000_000_000n);
  });

  it('takes a USDC for a dollar, both ways', () => {
    assert.equal(wincOfUsdc(1_000_000n, [], usdPerAr), 160_000_000_000n);
    assert.equal(wincOfUsdc(1_000_000n, [decimal('0.766')], usdPerAr), 122_560_000_000n);
    for (const amount of [1n, 999n, 122_560_000_000n, 10n ** 15n + 7n]) {
      const price = usdcOfWinc(amount, [decimal('0.766')], usdPerAr);
      assert.ok(wincOfUsdc(price, [decimal('0.766')], usdPerAr) >= amount);
    }
  });
});

describe('limits of a currency', () => {
  it('follow the dollar unless the round figures are near', () => {
    const expected: [Currency, string, number, number][] = [
      ['aud', '9.4', 760, 1_500_000],
      ['brl', '33.9', 2_800, 5_400_000],
      ['cad', '8.55', 690, 1_300_000],
      ['eur', '5.7', 500, 1_000_000],
      ['gbp', '4.9', 400, 780_000],
      ['hkd', '48.8', 4_000, 7_800_000],
      ['inr', '530', 43_000, 90_000_000],
      ['jpy', '940', 750, 1_500_000],
      ['sgd', '8.3', 670, 1_300_000],
      ['usd', '6.25', 500, 1_000_000],
    ];
    for (const [currency, perAr, minimum, maximum] of expected) {
      const limits = limitsOf(prices(currency, perAr));
      assert.equal(limits.minimumPaymentAmount, minimum, `${currency} minimum`);
      assert.equal(limits.maximumPaymentAmount, maximum, `${currency} maximum`);
      assert.equal(limits.zeroDecimalCurrency, currency === 'jpy');
    }
  });

  it('suggest amounts that fit, and stay within what the provider takes', () => {
    const weak = limitsOf(prices('jpy', '940000'));
    assert.equal(weak.maximumPaymentAmount, 99_000_000);
    assert.deepEqual(weak.suggestedPaymentAmounts, [760_000, 1_520_000, 3_040_000]);
    assert.deepEqual(limitsOf(prices('usd', '6.25')).suggestedPaymentAmounts, [2_500, 5_000, 10_000]);
  });
});
