import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type PaymentBench, paymentBench } from '../testing.ts';
import { ethereum, ethereumHeaders, solana } from '../testing-wallets.ts';

describe('the payment service when something below it is down', () => {
  let bench: PaymentBench;
  before(async () => {
    bench = await paymentBench();
  });
  after(() => bench.close());

  it('answers 503 with the contract’s words and when to try again', async () => {
    bench.outside.ratesDown = true;
    bench.outside.networkDown = true;
    const cases: [string, string][] = [
      ['/v1/price/bytes/1024', 'Pricing Oracle Unavailable'],
      ['/v1/price/usd/1000', 'Fiat Oracle Unavailable'],
      ['/v1/price/solana/1000', 'Fiat Oracle Unavailable'],
      ['/v1/currencies', 'Fiat Oracle Unavailable'],
      ['/v1/rates', 'Failed to calculate rates.'],
      ['/v1/rates/usd', 'Failed to fetch fiat conversion for 1 AR.'],
    ];
    // The fee is a factor: no rate is needed.
    assert.equal((await bench.get('/v1/price/arweave/1000')).status, 200);
    for (const [path, body] of cases) {
      const answer = await bench.get(path);
      assert.deepEqual([answer.status, answer.json], [503, body], path);
      assert.match(String(answer.headers['retry-after']), /^[1-9][0-9]*$/, path);
    }
    bench.outside.ratesDown = false;
    bench.outside.networkDown = false;
    bench.outside.now += 120_000;
    for (const [path] of cases) assert.equal((await bench.get(path)).status, 200, path);
  });

  it('lets no cache keep a refusal', async () => {
    for (const [path, status] of [
      [`/v1/balance?address=${ethereum}`, 404],
      ['/v1/balance', 403],
      ['/v1/balance?address=x', 400],
      ['/v1/balance?address=x&address=y', 400],
      [`/v1/account/balance/ethereum?address=${ethereum}`, 404],
      [`/account/balance?address=${ethereum}`, 404],
      ['/v1/rates/nothing', 404],
      ['/v1/price/bytes/x', 400],
      ['/v1/account/approvals', 400],
    ] as const) {
      const answer = await bench.get(path);
      assert.deepEqual([answer.status, answer.headers['cache-control']], [status, 'no-store'], path);
    }
  });

  it('never answers 500 when the database is gone', async () => {
    bench.outside.databaseDown = true;
    const pair = `payingAddress=${ethereum}&approvedAddress=${solana}`;
    const cases: [string, string][] = [
      [`/v1/balance?address=${ethereum}`, 'Cloud Database Unavailable'],
      [`/v1/account/balance?address=${ethereum}`, 'Cloud Database Unavailable'],
      [`/v1/account/approvals?${pair}`, 'Internal server error'],
      [`/v1/account/approvals/get?userAddress=${ethereum}`, 'Internal server error'],
      [
        `/v1/redeem?id=x&email=a@example.com&destinationAddress=${solana}`,
        'Error while redeeming payment receipt. Unable to reach Database!',
      ],
      [`/v1/price/usd/1000?promoCode=X&destinationAddress=${ethereum}`, 'Cloud Database Unavailable'],
    ];
    for (const [path, body] of cases) {
      const answer = await bench.get(path);
      assert.deepEqual([answer.status, answer.json], [503, body], path);
      assert.equal(answer.headers['retry-after'], '5', path);
    }
    const payments = await bench.get('/v1/account/payments', ethereumHeaders);
    assert.deepEqual([payments.status, payments.json], [503, 'Cloud Database Unavailable']);
    assert.equal(
      (await bench.get('/v1/price/bytes/1')).status,
      200,
      'prices need no database while it rests',
    );
  });
});
