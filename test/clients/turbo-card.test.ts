/** The published SDK buys credits by card, unmodified: checkout pages, embedded pages and payment intents. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurboFactory, USD } from '@ardrive/turbo-sdk/node';
import { openCardBench, wallet } from '../support/card-bench.ts';

const full = 1_225_600_000_000n;

async function open(t: Parameters<typeof openCardBench>[0]) {
  const bench = await openCardBench(t);
  const turbo = TurboFactory.unauthenticated({ paymentServiceConfig: { url: bench.url } });
  return { bench, turbo };
}

test('a hosted checkout session of the SDK is paid on its page', async (t) => {
  const { bench, turbo } = await open(t);
  const session = await turbo.createCheckoutSession({
    amount: USD(10),
    owner: wallet,
    successUrl: 'https://shop.example/thanks',
  });
  assert.equal(session.winc, full.toString());
  assert.equal(session.paymentAmount, 1000);
  assert.equal(session.quotedPaymentAmount, 1000);
  assert.equal(session.fees[0]?.operatorMagnitude, '0.766');
  const answer = await fetch(session.url ?? '', {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ number: '4242424242424242', expiry: '12/40', cvc: '123', name: 'Ada' }),
  });
  assert.equal(answer.headers.get('location'), 'https://shop.example/thanks');
  await bench.until(async () => (await bench.balance()) === full);
});

test('embedded sessions and payment intents of the SDK carry a client secret', async (t) => {
  const { bench, turbo } = await open(t);
  const embedded = await turbo.createCheckoutSession({ amount: USD(10), owner: wallet, uiMode: 'embedded' });
  assert.match(embedded.client_secret ?? '', /^cs_test_/);
  assert.equal(embedded.url, undefined);
  const intent = await turbo.createPaymentIntent({ amount: USD(10), owner: wallet });
  assert.match(intent.client_secret ?? '', /^pi_/);
  await bench.confirm(intent.id);
  await bench.until(async () => (await bench.balance()) === full);
});

test('what the service refuses is an error of the SDK', async (t) => {
  const { bench, turbo } = await open(t);
  await assert.rejects(
    turbo.createCheckoutSession({ amount: USD(1), owner: wallet }),
    /Payment Amount is Invalid! It must be at least 500 usd/,
  );
  await assert.rejects(turbo.createCheckoutSession({ amount: USD(10), owner: 'nobody' }), /not a valid/);
  assert.equal(await bench.balance(), 0n);
});
