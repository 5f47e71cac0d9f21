/** What a stranger may have the service do for nothing, and that nobody else notices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openCardBench, wallet } from '../../test/support/card-bench.ts';
import { openX402Bench } from '../../test/support/x402-bench.ts';
import { readConfig } from '../config/config.ts';
import { encodeHeader, examplePayment } from '../formats/x402/testing.ts';
import { signPayment, startFacilitator } from '../localnet/x402/testing.ts';
import { paymentBench } from './testing.ts';

const limits = { PAYMENT_RATE_LIMIT_BURST: 2, PAYMENT_RATE_LIMIT_PER_MINUTE: 1 };
const stranger = { 'x-forwarded-for': '192.0.2.66' };
const buyer = { 'x-forwarded-for': '192.0.2.1' };

describe('limits of the payment service', () => {
  test('card quotes beyond the limit are 429 with the time to wait, and open nothing', async (t) => {
    const bench = await openCardBench(t, { limits });
    const path = `payment-intent/${wallet}/usd/1000`;
    const count = async () => [
      (await bench.sql.all('SELECT id FROM card_quotes')).length,
      (await bench.stripe.events.list({ limit: 100 })).data.length,
    ];
    for (let made = 0; made < 2; made += 1) assert.equal((await bench.topUp(path, stranger)).status, 200);
    const before = await count();
    assert.equal(before[0], 2);
    for (const method of ['payment-intent', 'checkout-session']) {
      const refused = await bench.topUp(`${method}/${wallet}/usd/1000`, stranger);
      assert.equal(refused.status, 429);
      assert.equal(refused.text, '"Too many payment sessions were asked for from this network address"');
      const wait = Number(refused.headers.get('retry-after'));
      assert.ok(wait > 0 && wait <= 60, String(wait));
      assert.equal(refused.headers.get('cache-control'), 'no-store');
    }
    assert.deepEqual(await count(), before);
    assert.equal((await bench.topUp(path, buyer)).status, 200, 'somebody else is not kept out');
  });

  test('x402 payments that are refused count, those that pay and questions for the price do not', async (t) => {
    const { facilitator, mint, payTo } = await startFacilitator(t);
    const { url, rpcUrls } = facilitator;
    const { get, credits } = await openX402Bench(t, { facilitatorUrl: url, payTo, rpcUrls, limits });
    const query = 'type=credits&qty=1';
    const pay = (nonce: string, client: Record<string, string>) => {
      const { paymentPayload } = signPayment({ version: 1, payTo, value: 1_000_000n, nonce });
      return get(query, { ...client, 'x-payment': encodeHeader(paymentPayload) });
    };
    const nonce = (digit: string) => `0x${digit.repeat(64)}`;
    await mint(examplePayment.payer, 3_000_000n);
    for (const digit of ['1', '2', '3']) assert.equal((await pay(nonce(digit), stranger)).status, 200);
    for (let asked = 0; asked < 5; asked += 1) assert.equal((await get(query, stranger)).status, 402);
    // Nothing is left to pay with.
    for (const digit of ['4', '5']) assert.equal((await pay(nonce(digit), stranger)).status, 402);
    await mint(examplePayment.payer, 2_000_000n);
    const refused = await pay(nonce('6'), stranger);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await credits.balance(examplePayment.payer))?.winc, 3_000_000_000_000n);
    assert.equal((await pay(nonce('7'), buyer)).status, 200);
  });

  test('gifts redeemed in vain count', async (t) => {
    const bench = await paymentBench({
      PAYMENT_RATE_LIMIT_BURST: '2',
      PAYMENT_RATE_LIMIT_PER_MINUTE: '1',
      TRUSTED_PROXY_COUNT: '1',
    });
    t.after(() => bench.close());
    const path = `/v1/redeem?id=guessed&email=a%40example.com&destinationAddress=${wallet}`;
    for (let tried = 0; tried < 2; tried += 1) assert.equal((await bench.get(path, stranger)).status, 400);
    const refused = await bench.get(path, stranger);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.equal((await bench.get(path, buyer)).status, 400);
  });

  test('by default a checkout page may be opened a hundred times at once', () => {
    const { PAYMENT_RATE_LIMIT_BURST, PAYMENT_RATE_LIMIT_PER_MINUTE } = readConfig({});
    assert.ok(PAYMENT_RATE_LIMIT_BURST >= 100 && PAYMENT_RATE_LIMIT_PER_MINUTE >= 30);
  });
});
