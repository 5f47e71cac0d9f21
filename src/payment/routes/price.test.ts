import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addRow } from '../../pricing/catalogue/rows.ts';
import { ethereum, ethereumHeaders, solana } from '../testing-wallets.ts';
import { type RoutesBench, routesBench } from './testing.ts';

describe('prices and rates', () => {
  let bench: RoutesBench;
  before(async () => {
    bench = await routesBench();
  });
  after(() => bench.close());

  describe('GET /price/bytes/{byteCount}', () => {
    it('answers winc as text', async () => {
      const answer = await bench.answers('/v1/price/bytes/1024', 200, { winc: '4377376', adjustments: [] });
      assert.equal(answer.headers['cache-control'], 'public, max-age=60');
      await bench.answers('/v1/price/bytes/0', 200, { winc: '3200000', adjustments: [] });
      await bench.answers('/v1/price/1024', 200, { winc: '4377376', adjustments: [] });
      await bench.answers('/price/ethereum/1024', 200, 4_377_376);
    });

    it('refuses what is not plain digits', async () => {
      for (const wrong of ['-1', '1.5', '1e3', '0x10', '+1', '%201', 'abc', '1%0A']) {
        await bench.answers(`/v1/price/bytes/${wrong}`, 400, 'Invalid byte count');
      }
      await bench.answers('/v1/price/bytes/9007199254740992', 400, 'Byte count too large');
      await bench.answers('/price/dogecoin/1', 400, 'Token not supported');
    });
  });

  describe('GET /price/{type}/{amount}', () => {
    const fee = (adjustmentAmount: string) => ({
      name: 'Infrastructure Fee',
      description: 'Covers the cost of infrastructure and of the payment provider',
      operator: 'multiply',
      operatorMagnitude: '0.766',
      adjustmentAmount,
    });

    it('quotes currencies in any letter case, and fiat as dollars', async () => {
      const expected = {
        winc: '1225600000000',
        adjustments: [],
        fees: [fee('-234')],
        actualPaymentAmount: 1_000,
        quotedPaymentAmount: 1_000,
      };
      const ofAmount = async (token: string) => (await bench.get(`/v1/price/${token}/1000000000`)).text;
      assert.equal(await ofAmount('base-ario'), await ofAmount('ario'), 'the same coin on another chain');
      for (const type of ['usd', 'USD', 'fiat']) await bench.answers(`/v1/price/${type}/1000`, 200, expected);
      await bench.answers('/v1/price/usd/1000?destinationAddress=placeholder', 200, expected);
    });

    it('quotes tokens, with every digit of large amounts', async () => {
      const answer = await bench.get('/v1/price/arweave/90071992547409930000001');
      assert.match(answer.text, /"actualPaymentAmount":90071992547409930000001,/);
      await bench.answers('/v1/price/ethereum/10000000000000000', 200, {
        winc: '3830000000000',
        adjustments: [],
        fees: [fee('-1170000000000')],
        actualPaymentAmount: 5_000_000_000_000,
        quotedPaymentAmount: 5_000_000_000_000,
      });
    });

    it('refuses bad amounts, currencies and addresses', async () => {
      for (const wrong of [
        '-1',
        '10.5',
        '1e3',
        '0x10',
        '1999.9999999999998',
        '9'.repeat(17),
        '9'.repeat(40),
      ]) {
        await bench.answers(`/v1/price/usd/${wrong}`, 400, 'Payment Amount is Invalid');
      }
      await bench.answers('/v1/price/arweave/1e3', 400, 'Payment Amount is Invalid');
      await bench.answers(
        '/v1/price/xyz/100',
        400,
        "The currency type 'xyz' is currently not supported by this API!",
      );
      await bench.answers(
        '/v1/price/ethereum/1',
        400,
        'Crypto payment amount is too small! Token value must convert to at least one winc',
      );
      const wrongChecksum = ethereum.replace('E7E3', 'e7E3');
      await bench.answers(
        `/v1/price/usd/100?destinationAddress=${wrongChecksum}`,
        400,
        'Invalid destinationAddress format',
      );
      const repeated = await bench.get('/v1/price/usd/100?destinationAddress=a&destinationAddress=b');
      assert.equal(repeated.status, 400);
    });

    it('judges promo codes for the destination or the signer', async () => {
      const row = {
        kind: 'promo',
        name: '20 % off',
        operator: 'multiply',
        magnitude: '0.8',
        code: 'TWENTY',
      } as const;
      await addRow(bench.sql, row, bench.outside.now - 1);
      const needsWallet =
        'Promo codes must be applied to a specific `destinationAddress` or to the request signer';
      await bench.answers('/v1/price/usd/1000?promoCode=TWENTY', 400, needsWallet);
      await bench.answers('/v1/price/usd/1000?promoCode=TWENTY', 400, needsWallet, {
        ...ethereumHeaders,
        'x-nonce': 'another',
      });
      await bench.answers(
        `/v1/price/usd/1000?promoCode=NOPE&destinationAddress=${solana}`,
        400,
        "No promo code found with code 'NOPE'",
      );
      for (const query of [
        'promoCode=TWENTY',
        'promoCode=TWENTY,%20TWENTY',
        'promoCode=TWENTY&promoCode=,',
      ]) {
        const answer = await bench.get(`/v1/price/usd/1000?${query}`, ethereumHeaders);
        assert.equal(answer.status, 200, answer.text);
        assert.match(answer.text, /"actualPaymentAmount":800,"quotedPaymentAmount":1000/);
        assert.match(answer.text, /"promoCode":"TWENTY"/);
        assert.equal(answer.headers['cache-control'], 'no-store');
      }
    });
  });

  describe('GET /rates, /currencies, /countries', () => {
    it('answers the price of a gibibyte as numbers', async () => {
      const answer = await bench.get('/v1/rates');
      assert.equal(answer.status, 200);
      assert.match(answer.text, /^\{"winc":1234567890124,"fiat":\{"aud":/);
      assert.equal(answer.headers['cache-control'], 'public, max-age=60');
    });

    it('answers the price of AR per currency', async () => {
      await bench.answers('/v1/rates/usd', 200, { currency: 'usd', rate: 6.25 });
      await bench.answers('/v1/rates/JPY', 200, { currency: 'jpy', rate: 940 });
      await bench.answers('/v1/rates/xyz', 404, 'Invalid currency');
      await bench.answers('/v1/rates/__proto__', 404, 'Invalid currency');
    });

    it('lists currencies with their limits, and countries', async () => {
      const { json, headers } = await bench.get('/v1/currencies');
      assert.ok(
        typeof json === 'object' && json !== null && 'supportedCurrencies' in json && 'limits' in json,
      );
      assert.deepEqual(json.supportedCurrencies, 'aud brl cad eur gbp hkd inr jpy sgd usd'.split(' '));
      assert.ok(typeof json.limits === 'object' && json.limits !== null && 'jpy' in json.limits);
      assert.deepEqual(json.limits.jpy, {
        minimumPaymentAmount: 750,
        maximumPaymentAmount: 1_500_000,
        suggestedPaymentAmounts: [3_500, 6_500, 15_000],
        zeroDecimalCurrency: true,
      });
      assert.equal(headers['cache-control'], 'public, max-age=3600');
      const countries = (await bench.get('/v1/countries')).json;
      assert.ok(Array.isArray(countries));
      assert.equal(countries.length, 192);
      assert.deepEqual(countries.slice(0, 3), ['United States', 'United Kingdom', 'Afghanistan']);
    });
  });
});
